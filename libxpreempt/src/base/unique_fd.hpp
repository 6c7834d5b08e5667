// SPDX-License-Identifier: MIT
// Owner of one file descriptor.
#pragma once

#include "base/caller_state.hpp"

#include <unistd.h>
#include <utility>

namespace xpreempt {

// close_fd closes the descriptor when it goes out of scope.
template <void (*close_fd)(int fd)> class OwnedFd {
public:
    OwnedFd() = default;
    explicit OwnedFd(int fd) : fd_(fd) {}
    OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    OwnedFd& operator=(OwnedFd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    OwnedFd(const OwnedFd&) = delete;
    OwnedFd& operator=(const OwnedFd&) = delete;
    ~OwnedFd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool valid() const { return fd_ >= 0; }
    void reset() {
        if (fd_ >= 0)
            close_fd(std::exchange(fd_, -1));
    }

private:
    int fd_ = -1;
};

// Linux frees the number whatever close() answers, so it is never repeated.
inline void close_keeping_errno(int fd) {
    const KeptErrno kept;
    ::close(fd);
}
using UniqueFd = OwnedFd<close_keeping_errno>;

} // namespace xpreempt
