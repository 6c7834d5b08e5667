// SPDX-License-Identifier: MIT
// Jobs in turn, one at a time on each node; the policy says whose turn is next.
#pragma once

#include "sched/seats.hpp"

#include <cstdint>
#include <span>

namespace xpreempt::sched {

// State of one job. The lowest key is next.
struct Turn {
    std::int64_t key = 0;
    Duration used{0};        // of its slice
    std::uint64_t nodes = 0; // as the key was given for
    bool waiting = false;    // was schedulable at the last decision
    bool running = false;    // and its verdict was to run
    bool owns_nodes = false; // until its slice is used
    bool operator==(const Turn&) const = default;
};

// Time since the last decision, for which running jobs are charged.
class Stopwatch {
public:
    [[nodiscard]] Duration lap(Time now);
    bool operator==(const Stopwatch&) const = default;

private:
    Time last_{};
    bool started_ = false;
};

// Adds `passed` to the slice of a job that ran. Returns the time that it ran.
Duration charge(Turn& turn, const JobView& job, Duration passed);

// Divides the nodes among the schedulable jobs. A job keeps its nodes for `slice`; the others
// follow by key, then by id, and run if all their nodes are free. So a job on several nodes is next
// when its key is the lowest. Until then other jobs use the nodes that it waits for, and leave them
// at once. Returns when the next slice ends for which a job waits.
[[nodiscard]] Time take_turns(Seats<Turn>& seats, const Snapshot& snapshot, Duration slice,
                              std::span<Verdict> verdicts);

} // namespace xpreempt::sched
