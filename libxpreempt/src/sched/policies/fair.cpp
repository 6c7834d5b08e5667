// SPDX-License-Identifier: MIT
// Virtual runtimes, and the clock of each node that a waking job is placed by.
#include "sched/policies/fair.hpp"

#include <limits>

namespace xpreempt::sched {

namespace {

// Far from overflow, also after a longest interval at weight 1.
constexpr std::int64_t latest_clock = std::int64_t{1} << 61;

std::int64_t virtual_time(Duration time, std::uint32_t weight) {
    return time.count() * max_weight / std::clamp(weight, 1U, max_weight);
}

} // namespace

Fair::Fair(const Parameters& parameters) : parameters_(parameters) {
    parameters_.slice = std::max(parameters_.slice, Duration{1});
}

void Fair::advance_clocks(std::span<const JobView> jobs) {
    std::array<std::int64_t, max_nodes> least{};
    least.fill(std::numeric_limits<std::int64_t>::max());
    std::uint64_t used = 0;
    for (const auto [rank, index, job, turn] : seats_.visit(jobs)) {
        if (!turn.waiting || turn.nodes != job.nodes)
            continue;
        used |= job.nodes;
        for_each_node(job.nodes, [&, key = turn.key](std::size_t node) {
            least[node] = std::min(least[node], key);
        });
    }
    for_each_node(used, [&](std::size_t node) {
        clocks_[node] = std::max(clocks_[node], least[node]);
        if (clocks_[node] > latest_clock)
            shift(jobs, connected(jobs, std::uint64_t{1} << node), -latest_clock);
    });
}

// Nodes that ready jobs on several nodes connect with these.
std::uint64_t Fair::connected(std::span<const JobView> jobs, std::uint64_t nodes) const {
    for (std::uint64_t before = 0; before != nodes;) {
        before = nodes;
        for (const auto [rank, index, job, turn] : seats_.visit(jobs))
            if (turn.waiting && (job.nodes & nodes) != 0)
                nodes |= job.nodes;
    }
    return nodes;
}

std::int64_t Fair::clock_of(std::uint64_t nodes) const {
    std::int64_t latest = 0;
    for_each_node(nodes, [&](std::size_t node) { latest = std::max(latest, clocks_[node]); });
    return latest;
}

void Fair::shift(std::span<const JobView> jobs, std::uint64_t nodes, std::int64_t by) {
    for (const auto [rank, index, job, turn] : seats_.visit(jobs))
        if (turn.waiting && (job.nodes & nodes) != 0)
            turn.key += by;
    for_each_node(nodes, [&](std::size_t node) { clocks_[node] += by; });
}

// The clocks of nodes that shared no job differ. A job that joins two of them would starve on one,
// or starve the other: the late clock is put forward first, with the jobs that it is for.
void Fair::place(std::span<const JobView> jobs, std::size_t rank) {
    const JobView& job = jobs[seats_.index(rank)];
    const std::int64_t clock = clock_of(connected(jobs, job.nodes));
    for (std::uint64_t left = job.nodes; left != 0;) {
        const std::uint64_t part = connected(jobs, left & -left);
        if (const std::int64_t late = clock - clock_of(part); late > 0)
            shift(jobs, part, late);
        left &= ~part;
    }
    Turn& turn = seats_[rank];
    turn.key = std::clamp(turn.key, clock - virtual_time(parameters_.credit, job.weight),
                          clock + virtual_time(slice_, job.weight));
    turn.waiting = true;
    turn.nodes = job.nodes;
}

Time Fair::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    const Duration passed = stopwatch_.lap(snapshot.now);
    slice_ = turn_of(parameters_.slice, snapshot);
    for (const auto [rank, index, job, turn] : seats_.visit(snapshot.jobs)) {
        turn.slice = slice_;
        turn.key += virtual_time(charge(turn, job, passed), job.weight);
        if (turn.used >= slice_) {
            turn.used = Duration{0};
            turn.owns_nodes = false;
        }
        turn.waiting = turn.waiting && job.schedulable() && turn.nodes == job.nodes;
    }
    advance_clocks(snapshot.jobs);
    for (const auto [rank, index, job, turn] : seats_.visit(snapshot.jobs))
        if (job.schedulable() && !turn.waiting)
            place(snapshot.jobs, rank);
    return take_turns(seats_, snapshot, verdicts);
}

} // namespace xpreempt::sched
