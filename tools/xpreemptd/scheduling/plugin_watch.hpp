// SPDX-License-Identifier: MIT
// A plug-in under watch: what it did wrong, and the CPU time that it takes to decide.
#pragma once

#include "sched/policy.hpp"

#include <chrono>
#include <functional>
#include <span>
#include <string>

namespace xpreemptd {

namespace sched = xpreempt::sched;

// The CPU time of the calling thread.
[[nodiscard]] std::chrono::nanoseconds thread_cpu_time();

class PluginWatch {
public:
    using CpuClock = std::function<std::chrono::nanoseconds()>;

    static constexpr unsigned most_slow = 3; // decisions in a row
    static constexpr int far_too_slow = 100; // times the limit: one is enough

    PluginWatch(sched::Plugin plugin, std::chrono::nanoseconds longest, CpuClock cpu_clock)
        : policy_(std::move(plugin)), longest_(longest), cpu_clock_(std::move(cpu_clock)) {}

    [[nodiscard]] sched::Time decide(const sched::Snapshot& snapshot,
                                     std::span<sched::Verdict> verdicts);
    // The rule that it broke, as the end of a sentence that begins with its name; empty: none.
    [[nodiscard]] const std::string& fault() const { return fault_; }

private:
    void note_time(std::chrono::nanoseconds took);

    sched::Policy policy_;
    std::chrono::nanoseconds longest_;
    CpuClock cpu_clock_;
    unsigned slow_ = 0; // decisions in a row
    std::string fault_;
};

} // namespace xpreemptd
