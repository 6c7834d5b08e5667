// SPDX-License-Identifier: MIT
// From the highest band down: what the bands above claim, then what this band may do.
#include "sched/policies/band.hpp"

#include <bit>

namespace xpreempt::sched {

namespace {

using std::chrono::seconds;

// Keeps the turn after a long stall of the caller short.
constexpr std::int64_t max_turns_owed = 4;

constexpr std::size_t number(Band band) {
    return static_cast<std::size_t>(band);
}

// Rounded up: a timer must not fire before the state that it is for.
constexpr Duration divide_up(std::int64_t value, std::int64_t divisor) {
    return Duration{(value + divisor - 1) / divisor};
}

} // namespace

Bands::Bands(const Parameters& parameters) : parameters_(parameters) {
    parameters_.floor_percent = std::min(parameters_.floor_percent, 99U);
    parameters_.floor_turn = std::max(parameters_.floor_turn, Duration{1});
}

void Bands::admit(std::span<const JobView> jobs) {
    seats_.admit(jobs);
    while (!has_windows_for(jobs))
        for (Window& window : windows_.emplace_back())
            window.preemptions.assign(parameters_.max_rate, Time::min());
}

bool Bands::has_windows_for(std::span<const JobView> jobs) const {
    std::uint64_t nodes = 0;
    for (const JobView& job : jobs)
        nodes |= job.nodes;
    return parameters_.max_rate == 0 ||
           static_cast<std::size_t>(std::bit_width(nodes)) <= windows_.size();
}

// Accounts the time since the last decision to the floor.
void Bands::pay(const Snapshot& snapshot) {
    const Duration passed = stopwatch_.lap(snapshot.now);
    const std::int64_t share = parameters_.floor_percent, rest = 100 - share;
    const std::int64_t most = max_turns_owed * parameters_.floor_turn.count() * rest;
    for (const auto [rank, index, job, state] : seats_.visit(snapshot.jobs)) {
        if (job.held && job.schedulable())
            state.owed = std::min(most, state.owed + share * passed.count());
        else if (!job.held_by_others)
            state.owed = std::max(std::int64_t{0}, state.owed - rest * passed.count());
        if (state.owed == 0)
            state.turn = false;
    }
}

// All held jobs of the band on these nodes take the turn together; one after the other they would
// disturb the bands above all the time.
void Bands::join_turn(std::span<const JobView> jobs, std::size_t leader) {
    const Band band = jobs[seats_.index(leader)].band;
    const std::int64_t owed = seats_[leader].owed;
    std::uint64_t nodes = jobs[seats_.index(leader)].nodes;
    seats_[leader].turn = true;
    for (bool grown = true; grown;) {
        grown = false;
        for (const auto [rank, index, job, state] : seats_.visit(jobs)) {
            if (state.turn || job.band != band || !job.held || !job.schedulable() ||
                (job.nodes & nodes) == 0)
                continue;
            state.turn = true;
            state.owed = std::max(state.owed, owed);
            nodes |= job.nodes;
            grown = true;
        }
    }
}

void Bands::begin_turns(std::span<const JobView> jobs) {
    if (parameters_.floor_percent == 0)
        return;
    const std::int64_t due = parameters_.floor_turn.count() * (100 - parameters_.floor_percent);
    for (const auto [rank, index, job, state] : seats_.visit(jobs))
        // Also a job that isn't held yet: it isn't stopped only to be resumed.
        if (!state.turn && state.owed >= due && job.schedulable())
            join_turn(jobs, rank);
}

// Nodes on which a job of the band ran less than resume_grace ago. busy: those on which one runs
// now. By job, because no request follows the last one of a job that has finished or ended.
std::uint64_t Bands::quiet_after(Band band, std::uint64_t busy, const Snapshot& snapshot) {
    auto& until = quiet_until_[number(band)];
    std::uint64_t quieting = 0;
    for (const auto [rank, index, job, state] : seats_.visit(snapshot.jobs)) {
        if (job.band != band)
            continue;
        const bool over = job.finished && !job.ready;
        if (over && !state.over)
            state.quiet_until = {};
        state.over = over;
        if (state.quiet_until <= snapshot.now)
            continue;
        for (std::uint64_t left = job.nodes & ~busy; left != 0; left &= left - 1) {
            Time& last = until[static_cast<std::size_t>(std::countr_zero(left))];
            last = (quieting & left & -left) != 0 ? std::max(last, state.quiet_until)
                                                  : state.quiet_until;
        }
        quieting |= job.nodes & ~busy;
    }
    return quieting_[number(band)] = quieting;
}

// The claims of a band that was decided, as the bands below it see them.
Bands::Nodes Bands::claims_of(Band band, const Snapshot& snapshot,
                              std::span<const Verdict> verdicts, Time& next) {
    Nodes nodes;
    std::uint64_t busy = 0;
    for (const auto [rank, i, job, state] : seats_.visit(snapshot.jobs)) {
        if (job.band != band)
            continue;
        // A job in its floor turn runs beside others and claims nothing.
        const bool runs = job.schedulable() && verdicts[i] != Verdict::hold && !state.turn;
        if (state.busy && !runs)
            state.quiet_until = snapshot.now + resume_grace_;
        state.busy = runs;
        if (!runs && !job.announced(snapshot.now))
            continue;
        if (runs)
            busy |= job.nodes;
        else
            next = std::min(next, job.soon_until);
        const Time claims_at =
            (runs ? job.ready_since : job.soon_since) + parameters_.grace[number(band)];
        if (claims_at <= snapshot.now) {
            nodes.claimed |= job.nodes;
        } else {
            nodes.pending |= job.nodes;
            next = std::min(next, claims_at);
        }
    }
    nodes.quiet = quiet_after(band, busy, snapshot);
    return nodes;
}

void Bands::decide_band(Band band, const Nodes& above, const Snapshot& snapshot,
                        std::span<Verdict> verdicts) {
    for (const auto [rank, i, job, state] : seats_.visit(snapshot.jobs)) {
        if (job.band != band)
            continue;
        const bool blocked = (job.nodes & above.claimed) != 0;
        const bool not_yet = job.held && (job.nodes & (above.pending | above.quiet)) != 0;
        const bool waits = job.schedulable() && (blocked || not_yet) && !state.turn;
        verdicts[i] = waits ? Verdict::hold : Verdict::run;
        if (!blocked)
            state.turn = false; // runs alone, and claims its nodes
    }
}

std::uint64_t Bands::with_room(std::size_t band, std::uint64_t nodes, Time now, Time& later) const {
    std::uint64_t room = 0;
    for (; nodes != 0; nodes &= nodes - 1) {
        const Window& window = windows_[static_cast<std::size_t>(std::countr_zero(nodes))][band];
        const Time oldest = window.preemptions[window.oldest];
        if (oldest == Time::min() || now - oldest >= seconds{1})
            room |= nodes & -nodes;
        else
            later = std::min(later, oldest + seconds{1});
    }
    return room;
}

// Lets a lower job run while the windows of all bands that claim its nodes are full.
void Bands::bound_rate(const Claims& claims, const Snapshot& snapshot, std::span<Verdict> verdicts,
                       Time& next) {
    if (parameters_.max_rate == 0)
        return;
    Claims used{};
    for (const auto [rank, i, job, state] : seats_.visit(snapshot.jobs)) {
        if (!preempts(state, job, verdicts[i]))
            continue;
        Time later = at_next_event;
        std::uint64_t room = 0;
        for (std::size_t band = 0; band < number(job.band) && room == 0; ++band) {
            room = with_room(band, job.nodes & claims[band], snapshot.now, later);
            used[band] |= room;
        }
        if (room != 0)
            continue;
        verdicts[i] = Verdict::run;
        next = std::min(next, later);
    }
    for (std::size_t band = 0; band < num_bands - 1; ++band)
        for (std::uint64_t left = used[band]; left != 0; left &= left - 1) {
            Window& window = windows_[static_cast<std::size_t>(std::countr_zero(left))][band];
            window.preemptions[window.oldest] = snapshot.now;
            window.oldest = (window.oldest + 1) % window.preemptions.size();
        }
}

Time Bands::floor_timer(const Snapshot& snapshot, std::span<const Verdict> verdicts) const {
    const std::int64_t share = parameters_.floor_percent, rest = 100 - share;
    const std::int64_t due = parameters_.floor_turn.count() * rest;
    Time next = at_next_event;
    if (share == 0)
        return next;
    for (const auto [rank, i, job, state] : seats_.visit(snapshot.jobs)) {
        if (verdicts[i] == Verdict::hold && state.owed < due)
            next = std::min(next, snapshot.now + divide_up(due - state.owed, share));
        else if (state.turn && state.owed > 0 && job.schedulable())
            next = std::min(next, snapshot.now + divide_up(state.owed, rest));
    }
    return next;
}

Time Bands::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    Time next = at_next_event;
    resume_grace_ = std::max(parameters_.resume_grace, 5 * snapshot.switch_cost);
    pay(snapshot);
    begin_turns(snapshot.jobs);
    Nodes above;
    Claims claims{};
    for (std::size_t band = 0; band < num_bands; ++band) {
        decide_band(Band{static_cast<std::uint8_t>(band)}, above, snapshot, verdicts);
        const Nodes own =
            claims_of(Band{static_cast<std::uint8_t>(band)}, snapshot, verdicts, next);
        above.claimed |= claims[band] = own.claimed;
        above.pending |= own.pending;
        above.quiet |= own.quiet;
    }
    bound_rate(claims, snapshot, verdicts, next);
    next = std::min(next, floor_timer(snapshot, verdicts));
    for (const auto [rank, i, job, state] : seats_.visit(snapshot.jobs)) {
        state.asked = verdicts[i] == Verdict::hold;
        if (verdicts[i] != Verdict::hold)
            continue;
        for (std::size_t band = 0; band < static_cast<std::size_t>(job.band); ++band)
            for (std::uint64_t left = quieting_[band] & job.nodes; left != 0; left &= left - 1)
                next = std::min(
                    next, quiet_until_[band][static_cast<std::size_t>(std::countr_zero(left))]);
    }
    return next;
}

} // namespace xpreempt::sched
