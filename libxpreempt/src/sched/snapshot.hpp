// SPDX-License-Identifier: MIT
// Input and output of a scheduling decision: jobs, the time, one verdict a job.
#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <span>

namespace xpreempt::sched {

using Time = std::chrono::steady_clock::time_point;
using Duration = std::chrono::nanoseconds;

constexpr Time at_next_event = Time::max(); // a policy that needs no timer

enum class Band : std::uint8_t { realtime, high, normal, idle };
constexpr std::size_t num_bands = 4;

constexpr unsigned max_nodes = 64;
constexpr std::uint32_t default_weight = 100, max_weight = 10000; // as cgroup v2's
constexpr std::int32_t min_priority = -255, max_priority = 255;
constexpr std::uint32_t max_utilization = 100;

// A job is stopped and resumed as a whole. In the daemon, a job is a cgroup with all its queues on
// all its GPUs, which is a gang; in process it is an xqueue or a stream.
struct JobView {
    std::uint64_t id = 0;    // unique in a snapshot, kept for the job's life
    std::uint64_t nodes = 0; // bit n: has queues on node n
    Band band = Band::normal;
    std::uint32_t weight = default_weight; // 1 to max_weight
    std::int32_t priority = 0;             // min_priority to max_priority, higher runs first
    // Attributes that other policies read.
    std::int32_t cpu_priority = 0; // its place among the host's processes, higher runs first
    std::uint32_t utilization = max_utilization;  // share of each of its nodes, in percent
    Duration relative_deadline = Duration::max(); // of each request, from its ready edge; max: none
    Duration lax = Duration::max(); // a request may wait so long before it is critical; max: ever
    bool focused = false;           // one of its windows has its user's focus

    bool ready = false;            // has work
    bool held = false;             // by the scheduler that asks
    bool held_by_others = false;   // an operator, the debugger: not ours to schedule
    Time ready_since{};            // of the last ready edge; while ready
    std::uint64_t ready_edges = 0; // how often it became ready
    // Hints of the job's own processes. No policy has to use them.
    Time soon_since{}, soon_until{}; // announced work; nothing is announced once soon_until is past
    bool finished = false;           // no work follows soon; until it is announced, or comes
    Time deadline = at_next_event;   // of the request under way that ends first

    bool operator==(const JobView&) const = default;

    // False: leave it alone. Stopping a job without work costs an unmap of its node's runlist, and
    // a hold of others stays whatever we do.
    [[nodiscard]] bool schedulable() const { return ready && !held_by_others; }
    [[nodiscard]] bool announced(Time now) const {
        return !ready && !held_by_others && soon_until > now;
    }
};

struct Snapshot {
    Time now;
    std::span<const JobView> jobs; // in any order
    Duration switch_cost{0};       // of one stop and resume, measured; 0: not known
};

enum class Verdict : std::uint8_t { run, hold };

// Calls visit(node) for each bit, from the lowest on.
constexpr void for_each_node(std::uint64_t nodes, auto&& visit) {
    for (; nodes != 0; nodes &= nodes - 1)
        visit(static_cast<std::size_t>(std::countr_zero(nodes)));
}

constexpr std::int64_t utilization_of(const JobView& job) {
    return std::min(job.utilization, max_utilization);
}

} // namespace xpreempt::sched
