// SPDX-License-Identifier: MIT
// Asks the user database, which a static program can't.
#include "value_format.hpp"

#include <cerrno>
#include <pwd.h>

namespace xpreemptd {

std::optional<uid_t> user_named(const std::string& name) {
    constexpr std::size_t most = std::size_t{1} << 20U;
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> buffer(1024);
    while (::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == ERANGE &&
           buffer.size() < most)
        buffer.resize(2 * buffer.size());
    return found != nullptr ? std::optional(entry.pw_uid) : std::nullopt;
}

} // namespace xpreemptd
