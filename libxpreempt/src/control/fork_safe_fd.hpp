// SPDX-License-Identifier: MIT
// File descriptors that a forked child doesn't keep: the socket of a process is its own.
#pragma once

#include "base/unique_fd.hpp"

namespace xpreempt::control {

void close_fork_safe(int fd);

// As UniqueFd, and closed in every child at once: else a child would keep connections open that
// nobody answers. Made by functions that a fork can't get between of.
class ForkSafeFd : public OwnedFd<close_fork_safe> {
public:
    using OwnedFd::OwnedFd;

    // Invalid on failure, with errno set. All are O_CLOEXEC and O_NONBLOCK.
    static ForkSafeFd socket();
    static ForkSafeFd packets(); // a socket that keeps messages apart
    static ForkSafeFd accept(int listening);
    static ForkSafeFd event();
};

} // namespace xpreempt::control
