// SPDX-License-Identifier: MIT
// How a thread waits that must return within microseconds.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace xpreempt::xqueue {

// How much longer something is expected to take. Both 0: not known.
struct Expected {
    std::uint64_t soonest_ns = 0;
    std::uint64_t latest_ns = 0;
};

// First sleep, then poll until so long after the begin, then block.
struct PromptWait {
    std::uint64_t sleep_ns;
    std::uint64_t give_up_ns;
};

// A sleep with a time-out may end this much later: what a blocking wait took at the 99th percentile
// in a guest on a machine with an H200. A CPU that was idle for longer takes longer to run again.
constexpr std::uint64_t timer_lateness_ns(std::uint64_t sleep_ns) {
    return std::max<std::uint64_t>(300'000, sleep_ns / 8);
}

// How much earlier a thread must end its sleeps to be awake in time, learnt from how late they
// ended: about three of a hundred end later still. Not thread-safe.
class SleepMargin {
public:
    [[nodiscard]] std::uint64_t ns() const { return ns_; }
    void note(std::uint64_t late_ns) {
        if (late_ns > ns_)
            ns_ = std::min(ns_ + ns_ / 2, most_ns);
        else
            ns_ = std::max(ns_ - ns_ / 64, least_ns);
    }
    // With a smaller margin a sleep would have been worth it: it is tried again after a while.
    void skip() { ns_ = std::max(ns_ - ns_ / 1024, least_ns); }

private:
    static constexpr std::uint64_t least_ns = 20'000, most_ns = 10'000'000;
    std::uint64_t ns_ = 60'000;
};

// A shorter sleep costs as much CPU time as to poll.
constexpr std::uint64_t least_sleep_ns = 30'000;

// Polling continues after the latest expected end: half of that time, within these bounds.
constexpr std::uint64_t shortest_grace_ns = 100'000, longest_grace_ns = 2'000'000;

// Waking a thread takes a small part of anything longer than this.
constexpr std::uint64_t longest_prompt_wait_ns = 50'000'000;

constexpr bool is_worth_polling(const Expected& expected) {
    return expected.latest_ns <= longest_prompt_wait_ns;
}

constexpr PromptWait prompt_wait(const Expected& expected) {
    return {expected.soonest_ns -
                std::min(expected.soonest_ns, timer_lateness_ns(expected.soonest_ns)),
            expected.latest_ns +
                std::clamp(expected.latest_ns / 2, shortest_grace_ns, longest_grace_ns)};
}

// False: it is later than expected, or so far away that a thread should block.
template <typename Passed> bool poll(const Expected& expected, Passed passed) {
    using Clock = std::chrono::steady_clock;
    if (passed())
        return true;
    if (!is_worth_polling(expected))
        return false;
    const auto begin = Clock::now();
    const PromptWait plan = prompt_wait(expected);
    if (plan.sleep_ns != 0)
        std::this_thread::sleep_until(begin + std::chrono::nanoseconds(plan.sleep_ns));
    const auto give_up = begin + std::chrono::nanoseconds(plan.give_up_ns);
    while (!passed())
        if (Clock::now() >= give_up)
            return passed(); // this thread may have been off its CPU meanwhile
    return true;
}

// Polls for that time, after a sleep if it is long, and not any more once `stop` isn't 0. Returns
// the last answer.
template <typename Passed>
bool poll_for(std::uint64_t ns, const std::atomic<std::uint32_t>& stop, Passed passed) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::nanoseconds(ns);
    if (ns > timer_lateness_ns(ns))
        std::this_thread::sleep_until(end - std::chrono::nanoseconds(timer_lateness_ns(ns)));
    while (!passed()) {
        if (stop.load(std::memory_order_relaxed) != 0 || Clock::now() >= end)
            return false;
    }
    return true;
}

} // namespace xpreempt::xqueue
