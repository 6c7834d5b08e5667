// SPDX-License-Identifier: MIT
// Numbers as at a counter: the lowest is next.
#include "sched/policies/round_robin.hpp"

namespace xpreempt::sched {

RoundRobin::RoundRobin(const Parameters& parameters) : parameters_(parameters) {
    parameters_.quantum = std::max(parameters_.quantum, Duration{1});
}

Time RoundRobin::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    const Duration passed = stopwatch_.lap(snapshot.now);
    const Duration quantum = turn_of(parameters_.quantum, snapshot);
    // Ahead of jobs that have used their quantum.
    for_each_joining(seats_, snapshot.jobs,
                     [&](std::uint32_t rank) { seats_[rank].key = ++last_number_; });
    for (const auto [rank, index, job, turn] : seats_.visit(snapshot.jobs)) {
        turn.slice = quantum;
        charge(turn, job, passed);
        if (turn.used < quantum)
            continue;
        turn.key = ++last_number_;
        turn.used = Duration{0};
        turn.owns_nodes = false;
    }
    return take_turns(seats_, snapshot, verdicts);
}

} // namespace xpreempt::sched
