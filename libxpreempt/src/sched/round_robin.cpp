// SPDX-License-Identifier: MIT
// Numbers as at a counter: the lowest is next.
#include "sched/round_robin.hpp"

#include <tuple>

namespace xpreempt::sched {

RoundRobin::RoundRobin(const Parameters& parameters) : parameters_(parameters) {
    parameters_.quantum =
        std::max({parameters_.quantum, 20 * parameters_.switch_cost, Duration{1}});
}

// Gives numbers to jobs that became ready.
void RoundRobin::join(std::span<const JobView> jobs) {
    const auto order = seats_.sequence();
    std::size_t count = 0;
    for (std::uint32_t rank = 0; rank < seats_.size(); ++rank)
        if (jobs[seats_.index(rank)].schedulable() && !seats_[rank].waiting)
            order[count++] = rank;
    const auto joining = order.first(count);
    std::ranges::sort(joining, {}, [&](std::uint32_t rank) {
        return std::tuple(jobs[seats_.index(rank)].ready_since, rank);
    });
    for (const std::uint32_t rank : joining)
        seats_[rank].key = ++last_number_;
}

Time RoundRobin::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    const Duration passed = stopwatch_.lap(snapshot.now);
    join(snapshot.jobs); // ahead of jobs that have used their quantum
    for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
        Turn& turn = seats_[rank];
        charge(turn, snapshot.jobs[seats_.index(rank)], passed);
        if (turn.used < parameters_.quantum)
            continue;
        turn.key = ++last_number_;
        turn.used = Duration{0};
        turn.owns_nodes = false;
    }
    return take_turns(seats_, snapshot, parameters_.quantum, verdicts);
}

} // namespace xpreempt::sched
