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

    // How much of a CPU the calls of one descriptor take.
    struct Share {
        int percent = 100;
        // CPU time that the calls may take at once.
        std::chrono::nanoseconds burst{0};
    };

    // Calls ready whenever fd can be read or its peer is gone. ready may forget any descriptor, its
    // own too. The descriptor stays the caller's, who forgets it before closing it.
    xpreempt::Result<void> watch(int fd, Ready ready);
    // After more than its share the descriptor rests until the average is right again. It must not
    // hang up, so it is an epoll.
    xpreempt::Result<void> watch(int fd, Ready ready, Share share);
    void forget(int fd);

    // Waits once: until something is ready, which is then called, or until `when`.
    // Time::max() is never. Errors of epoll_wait() but EINTR. Where the calls leave no pause for
    // `longest_awake`, it first sleeps for `pause`: a real-time thread must.
    xpreempt::Result<void> wait_until(Time when);

    static constexpr std::chrono::milliseconds longest_awake{10};
    static constexpr std::chrono::milliseconds pause{1};

private:
    struct Watched {
        Ready ready;
        Share share;
        Time paid_until{}; // when its share makes up for the CPU time that it has used
        bool resting = false;

        [[nodiscard]] Time rested_at() const {
            return paid_until - share.burst * 100 / share.percent;
        }
    };

    explicit Loop(xpreempt::UniqueFd epoll) : epoll_(std::move(epoll)) {}

    void call(int fd);
    void let_rest(int fd, Watched& watched, bool rest);
    Time wake_rested(Time now);
    void sleep_if_awake_too_long(Time now);

    xpreempt::UniqueFd epoll_;
    std::map<int, std::shared_ptr<Watched>> watched_;
    std::size_t resting_ = 0;
    Time slept_{};
    long sleeps_ = 0;
};

} // namespace xpreemptd
