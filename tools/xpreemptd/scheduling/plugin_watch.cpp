// SPDX-License-Identifier: MIT
// CPU time, not time: a daemon without a CPU isn't slow because of its policy.
#include "scheduling/plugin_watch.hpp"

#include <ctime>
#include <fmt/format.h>

namespace xpreemptd {

std::chrono::nanoseconds thread_cpu_time() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

sched::Time PluginWatch::decide(const sched::Snapshot& snapshot,
                                std::span<sched::Verdict> verdicts) {
    const auto began = cpu_clock_();
    const sched::Time next = sched::decide(policy_, snapshot, verdicts);
    const auto took = cpu_clock_() - began;
    if (const sched::PluginFault* const fault = sched::fault_of(policy_))
        fault_ = fault->text();
    else
        note_time(took);
    return next;
}

void PluginWatch::note_time(std::chrono::nanoseconds took) {
    slow_ = took > longest_ ? slow_ + 1 : 0;
    if (slow_ < most_slow && took <= far_too_slow * longest_)
        return;
    const auto us = [](std::chrono::nanoseconds time) { return time.count() / 1000; };
    fault_ = fmt::format(
        "took {} us of CPU time for a decision{}, at most {} us are allowed "
        "([limits] max_decide)",
        us(took), slow_ >= most_slow ? fmt::format(", too long {} times in a row", slow_) : "",
        us(longest_));
}

} // namespace xpreemptd
