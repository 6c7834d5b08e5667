// SPDX-License-Identifier: MIT
// Time that is charged to the jobs that ran.
#include "sched/turns.hpp"

#include <chrono>

namespace xpreempt::sched {

namespace {

// Keeps virtual time from overflowing.
constexpr Duration longest_interval = std::chrono::hours{24};

} // namespace

Duration Stopwatch::lap(Time now) {
    const Duration passed =
        started_ ? std::clamp(Duration(now - last_), Duration{0}, longest_interval) : Duration{0};
    last_ = now;
    started_ = true;
    return passed;
}

Duration charge(Turn& turn, const JobView& job, Duration passed) {
    if (!turn.running || job.held || job.held_by_others)
        return Duration{0};
    turn.used += passed;
    return passed;
}

} // namespace xpreempt::sched
