// SPDX-License-Identifier: MIT
// Asks the databases of users and groups, which a static program can't.
#include "toml/value_format.hpp"

#include <cerrno>

namespace xpreemptd {

namespace {

// A name service that does not answer, as before it has started, is another thing than no such
// name; getpwnam(3) and getgrnam(3) have several errors for that one.
template <typename Entry>
tl::expected<std::optional<Entry>, int>
entry_named(const std::string& name, std::vector<char>& buffer, EntryByName<Entry> lookup) {
    constexpr std::size_t most = std::size_t{1} << 20U;
    Entry entry{};
    Entry* found = nullptr;
    if (name.find('\0') != std::string::npos) // c_str() would be another name
        return std::nullopt;
    buffer.resize(1024);
    int error = 0;
    while ((error = lookup(name.c_str(), &entry, buffer.data(), buffer.size(), &found)) == ERANGE &&
           buffer.size() < most)
        buffer.resize(2 * buffer.size());
    if (found != nullptr)
        return entry;
    if (error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM)
        return std::nullopt;
    return tl::make_unexpected(error);
}

} // namespace

FoundUser user_by(EntryByName<passwd> call, const std::string& name) {
    std::vector<char> buffer;
    return entry_named<passwd>(name, buffer, call).map([](const auto& found) {
        return found ? std::optional(found->pw_uid) : std::nullopt;
    });
}

FoundUser group_by(EntryByName<group> call, const std::string& name) {
    std::vector<char> buffer;
    return entry_named<group>(name, buffer, call).map([](const auto& found) {
        return found ? std::optional(found->gr_gid) : std::nullopt;
    });
}

FoundUser user_named(const std::string& name) {
    return user_by(::getpwnam_r, name);
}

FoundUser group_named(const std::string& name) {
    return group_by(::getgrnam_r, name);
}

} // namespace xpreemptd
