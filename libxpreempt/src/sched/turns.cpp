// SPDX-License-Identifier: MIT
// First who owns its nodes, then the rest by key.
#include "sched/turns.hpp"

#include <tuple>

namespace xpreempt::sched {

namespace {

// Keeps virtual time from overflowing.
constexpr Duration longest_interval = std::chrono::hours{24};

} // namespace

Duration Stopwatch::lap(Time now) {
    const Duration passed =
        started_ ? std::clamp(Duration(now - last_), Duration{0}, longest_interval) : Duration{0};
    last_ = now;
    started_ = true;
    return passed;
}

Duration charge(Turn& turn, const JobView& job, Duration passed) {
    if (!turn.running || job.held || job.held_by_others)
        return Duration{0};
    turn.used += passed;
    return passed;
}

Time take_turns(Seats<Turn>& seats, const Snapshot& snapshot, Duration slice,
                std::span<Verdict> verdicts) {
    const auto jobs = snapshot.jobs;
    const auto order = seats.sequence();
    std::size_t others = 0;
    std::uint64_t taken = 0, wanted = 0;
    for (std::size_t rank = 0; rank < seats.size(); ++rank) {
        Turn& turn = seats[rank];
        const JobView& job = jobs[seats.index(rank)];
        verdicts[seats.index(rank)] = Verdict::run;
        turn.waiting = job.schedulable();
        turn.nodes = job.nodes;
        turn.owns_nodes = turn.owns_nodes && turn.waiting && (job.nodes & taken) == 0;
        turn.running = turn.owns_nodes;
        if (turn.owns_nodes)
            taken |= job.nodes;
        else if (turn.waiting)
            order[others++] = static_cast<std::uint32_t>(rank);
        else
            turn.used = Duration{0};
    }
    const auto rest = order.first(others);
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
    for (std::size_t rank = 0; rank < seats.size(); ++rank)
        if (seats[rank].owns_nodes && (jobs[seats.index(rank)].nodes & wanted) != 0)
            next = std::min(next, snapshot.now + (slice - seats[rank].used));
    return next;
}

} // namespace xpreempt::sched
