// SPDX-License-Identifier: MIT
// Owner of one file descriptor.
#pragma once

#include <cerrno>
#include <unistd.h>
#include <utility>

namespace xpreempt {

class UniqueFd {
public:
    UniqueFd() = default;
    explicit UniqueFd(int fd) : fd_(fd) {}
    UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    UniqueFd& operator=(UniqueFd&& other) noexcept {
        if (this != &other) {
            reset();
            fd_ = std::exchange(other.fd_, -1);
        }
        return *this;
    }
    UniqueFd(const UniqueFd&) = delete;
    UniqueFd& operator=(const UniqueFd&) = delete;
    ~UniqueFd() { reset(); }

    [[nodiscard]] int get() const { return fd_; }
    [[nodiscard]] bool valid() const { return fd_ >= 0; }

private:
    void reset() {
        if (fd_ < 0)
            return;
        // Linux frees the number whatever close() answers, so it is never repeated.
        const int saved_errno = errno;
        ::close(std::exchange(fd_, -1));
        errno = saved_errno;
    }

    int fd_ = -1;
};

} // namespace xpreempt
