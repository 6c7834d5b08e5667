// SPDX-License-Identifier: MIT
// Errors in replies of the daemon. Named here because strerrorname_np() is newer than the C library
// of EL8.
#pragma once

#include <algorithm>
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
    const auto* const found = std::ranges::find(daemon_errors, value, &DaemonError::value);
    return found != daemon_errors.end() ? found->name : "EIO";
}

// EPROTO for others.
constexpr int daemon_error_named(std::string_view name) {
    const auto* const found = std::ranges::find(daemon_errors, name, &DaemonError::name);
    return found != daemon_errors.end() ? found->value : EPROTO;
}

} // namespace xpreempt::control
