// SPDX-License-Identifier: MIT
// Input and output of a scheduling decision: jobs, the time, one verdict a job.
#pragma once

#include "base/attributes.hpp"

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
using attribute::default_weight, attribute::max_weight, attribute::max_utilization;
using attribute::min_priority, attribute::max_priority;

} // namespace xpreempt::sched

namespace xpreempt::attribute {
struct Bands : Plain<sched::Band> {};
} // namespace xpreempt::attribute

namespace xpreempt::sched {

// A job is stopped and resumed as a whole. In the daemon, a job is a cgroup with all its queues on
// all its GPUs, which is a gang; in process it is an xqueue or a stream.
struct JobView {
    std::uint64_t id = 0;    // unique in a snapshot, kept for the job's life
    std::uint64_t nodes = 0; // bit n: has queues on node n

    // A higher priority or cpu_priority, the job's place among the host's processes, runs first.
    // Times count from the ready edge of a request, and are max() if there is none. focused: one of
    // its windows has its user's focus.
#define JOB_ATTRIBUTE(kind, name, least, most, initial, view, ...)                                 \
    attribute::kind::Seen view = attribute::kind::seen(initial);
#define ATTRIBUTE JOB_ATTRIBUTE
#define VIEW_ATTRIBUTE(type, view, initial) type view = initial;
#include "base/attributes.def"

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
    Duration switch_cost{0};       // of one stop and resume of late; 0: not known
};

enum class Verdict : std::uint8_t { run, hold };

// Calls visit(node) for each bit, from the lowest on.
constexpr void for_each_node(std::uint64_t nodes, auto&& visit) {
    for (; nodes != 0; nodes &= nodes - 1)
        visit(static_cast<std::size_t>(std::countr_zero(nodes)));
}

// Admits the jobs to the policy if they aren't those of the last call, then decides.
template <class Policy>
[[nodiscard]] Time decide_by(Policy& policy, const Snapshot& snapshot,
                             std::span<Verdict> verdicts) {
    if (!policy.matches(snapshot.jobs)) {
        policy.admit(snapshot.jobs);
        (void)policy.matches(snapshot.jobs);
    }
    return policy.decide(snapshot, verdicts);
}

constexpr std::int64_t utilization_of(const JobView& job) {
    return std::min(job.utilization, max_utilization);
}

} // namespace xpreempt::sched
