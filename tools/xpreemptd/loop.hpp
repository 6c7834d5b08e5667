// SPDX-License-Identifier: MIT
// Waits for descriptors and for one time, in one thread.
#pragma once

#include "base/error.hpp"
#include "base/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>

namespace xpreemptd {

class Loop {
public:
    using Time = std::chrono::steady_clock::time_point;
    using Ready = std::function<void()>;

    static xpreempt::Result<Loop> make();

    // Calls ready whenever fd can be read or its peer is gone. ready may forget any descriptor, its
    // own too. The descriptor stays the caller's, who forgets it before closing it.
    xpreempt::Result<void> watch(int fd, Ready ready);
    void forget(int fd);

    // Waits once: until something is ready, which is then called, or until `when`.
    // Time::max() is never. Errors of epoll_wait() but EINTR.
    xpreempt::Result<void> wait_until(Time when);

private:
    explicit Loop(xpreempt::UniqueFd epoll) : epoll_(std::move(epoll)) {}

    xpreempt::UniqueFd epoll_;
    std::map<int, std::shared_ptr<const Ready>> ready_;
};

} // namespace xpreemptd
