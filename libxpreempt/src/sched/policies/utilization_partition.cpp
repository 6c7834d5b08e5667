// SPDX-License-Identifier: MIT
// Budgets of turns, by node, and what is left of them.
#include "sched/policies/utilization_partition.hpp"

namespace xpreempt::sched {

namespace {

// Behind all numbers of jobs with a utilization.
constexpr std::int64_t at_the_end = std::int64_t{1} << 62;
constexpr std::int64_t least_part = 50; // of a slice

} // namespace

UtilizationPartition::UtilizationPartition(const Parameters& parameters, bool carries)
    : parameters_(parameters), carries_(carries) {
    parameters_.slice =
        std::clamp<Duration>(parameters_.slice, Duration{least_part}, longest_slice);
}

UtilizationPartition::Demand UtilizationPartition::demand_of(std::span<const JobView> jobs) {
    Demand demand;
    for (const JobView& job : jobs) {
        if (!job.schedulable() || job.utilization == 0)
            continue;
        demand.nodes |= job.nodes;
        for_each_node(job.nodes, [&](std::size_t node) {
            demand.sums[node] += utilization_of(job);
            ++demand.counts[node];
        });
    }
    return demand;
}

Duration UtilizationPartition::budget_of(const JobView& job, const Demand& demand) const {
    if (!job.schedulable() || job.utilization == 0 || job.nodes == 0)
        return slice_;
    Duration budget = Duration::max();
    for_each_node(job.nodes, [&](std::size_t node) {
        budget = std::min(budget,
                          slice_ * demand.counts[node] * utilization_of(job) / demand.sums[node]);
    });
    return std::max(budget, slice_ / least_part);
}

// If its budget is used, or it has become idle before.
void UtilizationPartition::end_turn(Seat& seat, const JobView& job) {
    if (job.schedulable()) {
        if (seat.used < seat.budget + seat.credit)
            return;
        seat.number = ++last_number_;
        seat.used = seat.credit = Duration{0};
        seat.owns_nodes = false;
    } else if (carries_ && seat.owns_nodes) {
        const Duration rest = std::max(seat.budget + seat.credit - seat.used, Duration{0});
        const Duration above = std::max(rest - seat.budget, Duration{0});
        seat.credit = rest - above + above * 9 / 10;
    }
}

Time UtilizationPartition::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    const Duration passed = stopwatch_.lap(snapshot.now);
    slice_ = turn_of(parameters_.slice, snapshot);
    const Demand demand = demand_of(snapshot.jobs);
    // Ahead of jobs that have used their budget.
    for_each_joining(seats_, snapshot.jobs,
                     [&](std::uint32_t rank) { seats_[rank].number = ++last_number_; });
    for (const auto [rank, index, job, seat] : seats_.visit(snapshot.jobs)) {
        charge(seat, job, passed);
        if (job.schedulable())
            seat.budget = budget_of(job, demand);
        end_turn(seat, job);
        seat.slice = seat.budget + seat.credit;
        const bool unshared = job.utilization == 0;
        seat.key = seat.number + (unshared ? at_the_end : 0);
        if (unshared && (job.nodes & demand.nodes) != 0)
            seat.owns_nodes = false;
    }
    return take_turns(seats_, snapshot, verdicts);
}

} // namespace xpreempt::sched
