// SPDX-License-Identifier: MIT
// Path and permissions of the daemon's socket.
#pragma once

#include <filesystem>
#include <sys/types.h>

namespace xpreemptd {

struct SocketFile {
    static constexpr mode_t any_user = 0666;
    static constexpr gid_t own_group = static_cast<gid_t>(-1); // as chown(2) has it

    std::filesystem::path path;
    mode_t mode = any_user;
    gid_t group = own_group;

    bool operator==(const SocketFile&) const = default;
};

} // namespace xpreemptd
