// SPDX-License-Identifier: MIT
// An operator's file: what it holds ends with it.
#pragma once

#include "queues.hpp"

#include <unistd.h>

namespace verify {

class Operator {
public:
    Operator() : fd_(kfd_open()) {}
    ~Operator() { close(); }
    Operator(const Operator&) = delete;
    Operator& operator=(const Operator&) = delete;
    [[nodiscard]] int fd() const { return fd_; }
    void close() {
        if (fd_ >= 0)
            ::close(fd_);
        fd_ = -1;
    }

private:
    int fd_;
};

} // namespace verify
