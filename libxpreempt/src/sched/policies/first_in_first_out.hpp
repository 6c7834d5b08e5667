// SPDX-License-Identifier: MIT
// Policy FIFO: the job that became ready first runs until it is idle.
#pragma once

#include "sched/turns.hpp"

namespace xpreempt::sched {

// Goal: each request runs alone and to its end, in the order of arrival.
// Definition: on each node the jobs wait in the order of ready_since, then of their ids. The first
// one runs until it is idle, and no job that comes later stops it. A job on several nodes runs when
// it is first on all of them; until then others use the nodes that it waits for, and leave them at
// once. Parameters: none.
// Use it for requests of similar length, where a stop costs more than a wait.
// Don't use it where a job never becomes idle: it never leaves, and those behind it starve. Nor
// for latency: a short request waits for all long ones before it.
// Work-conserving: no ready job waits while all its nodes are free. Preemptions: only of a job that
// uses a node for which a job on several nodes waits, one for each end of another job.
class FirstInFirstOut {
public:
    void admit(std::span<const JobView> jobs) { seats_.admit(jobs); }
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return seats_.matches(jobs); }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    bool operator==(const FirstInFirstOut&) const = default;

private:
    Seats<Turn> seats_; // key: ready_since, ns
};

} // namespace xpreempt::sched
