// SPDX-License-Identifier: MIT
// Errors in replies of the daemon. Named here because strerrorname_np() is newer than the C library
// of EL8.
#pragma once

#include <array>
#include <cerrno>
#include <string_view>

namespace xpreempt::control {

struct DaemonError {
    std::string_view name;
    int value;
};

inline constexpr std::array<DaemonError, 12> daemon_errors{{{"EAGAIN", EAGAIN},
                                                            {"EBADMSG", EBADMSG},
                                                            {"EBUSY", EBUSY},
                                                            {"EINVAL", EINVAL},
                                                            {"EIO", EIO},
                                                            {"EMFILE", EMFILE},
                                                            {"EMSGSIZE", EMSGSIZE},
                                                            {"ENOENT", ENOENT},
                                                            {"EOPNOTSUPP", EOPNOTSUPP},
                                                            {"EPERM", EPERM},
                                                            {"ESRCH", ESRCH},
                                                            {"EUSERS", EUSERS}}};

// "EIO" for others.
constexpr std::string_view name_of_daemon_error(int value) {
    for (const DaemonError& error : daemon_errors)
        if (error.value == value)
            return error.name;
    return "EIO";
}

// EPROTO for others.
constexpr int daemon_error_named(std::string_view name) {
    for (const DaemonError& error : daemon_errors)
        if (error.name == name)
            return error.value;
    return EPROTO;
}

} // namespace xpreempt::control
