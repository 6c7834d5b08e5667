// SPDX-License-Identifier: MIT
// Asks the user database, which a static program can't.
#include "value_format.hpp"

#include <cerrno>
#include <pwd.h>

namespace xpreemptd {

// A name service that does not answer, as before it has started, is another thing than no such
// user; getpwnam(3) has several errors for that one.
FoundUser user_named(const std::string& name) {
    constexpr std::size_t most = std::size_t{1} << 20U;
    passwd entry{};
    passwd* found = nullptr;
    std::vector<char> buffer(1024);
    int error = 0;
    while ((error = ::getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found)) ==
               ERANGE &&
           buffer.size() < most)
        buffer.resize(2 * buffer.size());
    if (found != nullptr)
        return entry.pw_uid;
    if (error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM)
        return std::nullopt;
    return tl::make_unexpected(error);
}

} // namespace xpreemptd
