// SPDX-License-Identifier: MIT
// Levels of queues, as one queue whose keys begin with the level.
#include "sched/policies/multilevel_feedback.hpp"

#include <array>

namespace xpreempt::sched {

namespace {

constexpr std::int64_t numbers_of_level = std::int64_t{1} << 56;

} // namespace

MultilevelFeedback::MultilevelFeedback(const Parameters& parameters) : parameters_(parameters) {
    parameters_.slice = std::clamp<Duration>(parameters_.slice, Duration{1}, longest_slice);
    parameters_.levels = std::clamp(parameters_.levels, 1U, max_levels);
    parameters_.growth = std::clamp(parameters_.growth, 1U, max_growth);
}

Duration MultilevelFeedback::slice_of(std::uint32_t level) const {
    Duration slice = slice_;
    for (; level > 0; --level)
        slice *= parameters_.growth;
    return slice;
}

// By more than one if there was no decision for long, as for a job that is alone.
std::uint32_t MultilevelFeedback::level_after(std::uint32_t level, Duration spent) const {
    for (; level + 1 < parameters_.levels && spent >= slice_of(level); ++level)
        spent -= slice_of(level);
    return level;
}

// To the end of the queue there.
void MultilevelFeedback::move(Seat& seat, std::uint32_t level) {
    seat.level = level;
    seat.number = ++last_number_;
    seat.spent = seat.waited = Duration{0};
    seat.owns_nodes = false;
}

void MultilevelFeedback::join(Seat& seat, Time now) {
    const bool was_away = now - seat.idle_since >= promote_after();
    move(seat, was_away ? 0 : seat.level);
}

void MultilevelFeedback::account(Seat& seat, const JobView& job, Time now, Duration passed) {
    if (seat.waiting && !seat.running)
        seat.waited += passed;
    seat.spent += charge(seat, job, passed);
    if (!job.schedulable()) {
        if (seat.waiting)
            seat.idle_since = now;
        seat.spent = Duration{0};
    } else if (seat.spent >= slice_of(seat.level)) {
        move(seat, level_after(seat.level, seat.spent));
    } else if (seat.level > 0 && seat.waited >= promote_after()) {
        move(seat, seat.level - 1);
    }
    seat.used = seat.spent;
    seat.slice = slice_of(seat.level);
    seat.key = numbers_of_level * seat.level + seat.number;
}

// For jobs of higher levels.
void MultilevelFeedback::give_up_nodes(std::span<const JobView> jobs) {
    std::array<std::uint64_t, max_levels> wanted{};
    for (const auto [rank, index, job, seat] : seats_.visit(jobs))
        if (job.schedulable())
            for (std::uint32_t below = seat.level + 1; below < max_levels; ++below)
                wanted[below] |= job.nodes;
    for (const auto [rank, index, job, seat] : seats_.visit(jobs))
        if ((job.nodes & wanted[seat.level]) != 0)
            seat.owns_nodes = false;
}

Time MultilevelFeedback::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    const Duration passed = stopwatch_.lap(snapshot.now);
    slice_ = turn_of(parameters_.slice, snapshot);
    for_each_joining(seats_, snapshot.jobs,
                     [&](std::uint32_t rank) { join(seats_[rank], snapshot.now); });
    for (const auto [rank, index, job, seat] : seats_.visit(snapshot.jobs))
        account(seat, job, snapshot.now, passed);
    give_up_nodes(snapshot.jobs);
    Time next = take_turns(seats_, snapshot, verdicts);
    for (const auto [rank, index, job, seat] : seats_.visit(snapshot.jobs))
        if (seat.level > 0 && verdicts[index] == Verdict::hold)
            next = std::min(next, snapshot.now + (promote_after() - seat.waited));
    return next;
}

} // namespace xpreempt::sched
