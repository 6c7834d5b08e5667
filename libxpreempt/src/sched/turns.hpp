// SPDX-License-Identifier: MIT
// Jobs in turn, one at a time on each node; the policy says whose turn is next.
#pragma once

#include "sched/seats.hpp"

#include <concepts>
#include <cstdint>
#include <span>
#include <tuple>

namespace xpreempt::sched {

constexpr Duration until_idle = Duration::max(); // a slice without an end
constexpr Duration longest_slice = std::chrono::seconds{10};

// A turn is no shorter than 20 switch costs, so that switches take at most a twentieth of the time.
constexpr Duration turn_of(Duration configured, const Snapshot& snapshot) {
    return std::max(configured, 20 * snapshot.switch_cost);
}

// State of one job. The lowest key is next.
struct Turn {
    std::int64_t key = 0;
    Duration used{0};           // of its slice
    Duration slice{until_idle}; // that it may use, set before each decision
    std::uint64_t nodes = 0;    // as the key was given for
    bool waiting = false;       // was schedulable at the last decision
    bool running = false;       // and its verdict was to run
    bool owns_nodes = false;    // until its slice is used
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

// Calls join(rank) for each job that became schedulable, in the order of ready_since, then of ids.
template <std::derived_from<Turn> State>
void for_each_joining(Seats<State>& seats, std::span<const JobView> jobs,
                      std::invocable<std::uint32_t> auto&& join) {
    const auto order = seats.sequence();
    std::size_t count = 0;
    for (const auto [rank, index, job, turn] : seats.visit(jobs))
        if (job.schedulable() && !turn.waiting)
            order[count++] = static_cast<std::uint32_t>(rank);
    const auto joining = order.first(count);
    std::ranges::sort(joining, {}, [&](std::uint32_t rank) {
        return std::tuple(jobs[seats.index(rank)].ready_since, rank);
    });
    for (const std::uint32_t rank : joining)
        join(rank);
}

// Jobs keep the nodes that they own. Leaves the others that wait in the sequence; returns how many.
template <std::derived_from<Turn> State>
std::size_t keep_owners(Seats<State>& seats, std::span<const JobView> jobs, std::uint64_t& taken,
                        std::span<Verdict> verdicts) {
    std::size_t others = 0;
    for (const auto [rank, index, job, turn] : seats.visit(jobs)) {
        verdicts[index] = Verdict::run;
        turn.waiting = job.schedulable();
        turn.nodes = job.nodes;
        turn.owns_nodes = turn.owns_nodes && turn.waiting && (job.nodes & taken) == 0;
        turn.running = turn.owns_nodes;
        if (turn.owns_nodes)
            taken |= job.nodes;
        else if (turn.waiting)
            seats.sequence()[others++] = static_cast<std::uint32_t>(rank);
        else
            turn.used = Duration{0};
    }
    return others;
}

// Divides the nodes among the schedulable jobs. A job keeps its nodes for its slice; the others
// follow by key, then by id, and run if all their nodes are free. So a job on several nodes is next
// when its key is the lowest. Until then other jobs use the nodes that it waits for, and leave them
// at once. Returns when the next slice ends for which a job waits.
template <std::derived_from<Turn> State>
[[nodiscard]] Time take_turns(Seats<State>& seats, const Snapshot& snapshot,
                              std::span<Verdict> verdicts) {
    const auto jobs = snapshot.jobs;
    std::uint64_t taken = 0, wanted = 0;
    const std::size_t others = keep_owners(seats, jobs, taken, verdicts);
    const auto rest = seats.sequence().first(others);
    std::ranges::sort(rest, {},
                      [&](std::uint32_t rank) { return std::tuple(seats[rank].key, rank); });
    for (const std::uint32_t rank : rest) {
        Turn& turn = seats[rank];
        const std::uint64_t nodes = jobs[seats.index(rank)].nodes;
        if ((nodes & taken) != 0) {
            wanted |= nodes;
            turn.used = Duration{0};
            verdicts[seats.index(rank)] = Verdict::hold;
            continue;
        }
        turn.running = true;
        turn.owns_nodes = (nodes & wanted) == 0;
        taken |= nodes;
    }
    Time next = at_next_event;
    for (const auto [rank, index, job, turn] : seats.visit(jobs))
        if (turn.owns_nodes && turn.slice != until_idle && (job.nodes & wanted) != 0)
            next = std::min(next, snapshot.now + (turn.slice - turn.used));
    return next;
}

} // namespace xpreempt::sched
