// SPDX-License-Identifier: MIT
// Policy RR: ready jobs in turn, a quantum each.
#pragma once

#include "sched/turns.hpp"

#include <chrono>
#include <cstdint>

namespace xpreempt::sched {

// Goal: equal shares for jobs that are always ready, and a bound on the wait for a turn.
// Definition: on each node one job runs, for a quantum or until it is idle, then goes to the end of
// the queue. A job that becomes ready joins at the end; jobs that become ready at the same decision
// join in the order of ready_since, then of their ids. Idle jobs are skipped. A job on several
// nodes runs when it has waited longest on all of them. Parameters: quantum, at least 20 switch
// costs. Use it for equals with long kernels. Don't use it for latency: a ready job waits for up
// to (jobs - 1) quanta. Nor for small kernels that would share the GPU well: one job runs at a
// time. Work-conserving: no ready job waits while all its nodes are free. No job starves.
// Preemptions: at most one for each quantum of a node, and one for each job that becomes ready or
// idle or changes.
class RoundRobin {
public:
    struct Parameters {
        Duration quantum = std::chrono::milliseconds{5};
        bool operator==(const Parameters&) const = default;
    };

    RoundRobin() : RoundRobin(Parameters{}) {}
    explicit RoundRobin(const Parameters& parameters);

    void admit(std::span<const JobView> jobs) { seats_.admit(jobs); }
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return seats_.matches(jobs); }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    bool operator==(const RoundRobin&) const = default;

private:
    Parameters parameters_;
    Seats<Turn> seats_; // key: a number of the queue
    std::int64_t last_number_ = 0;
    Stopwatch stopwatch_;
};

} // namespace xpreempt::sched
