// SPDX-License-Identifier: MIT
// Remembers the jobs that ran after the last decision, and until when each of them lingers.
#include "sched/policies/linger.hpp"

#include <algorithm>

namespace xpreempt::sched {

void Linger::admit(std::span<const JobView> jobs) {
    extended_.reserve(jobs.size()); // first: as Seats::admit()
    seats_.admit(jobs);
    extended_.resize(jobs.size());
}

Snapshot Linger::extend(const Snapshot& snapshot) {
    if (time_ == Duration{0})
        return snapshot;
    const Time until = snapshot.now + std::max(time_, snapshot.switch_cost);
    std::ranges::copy(snapshot.jobs, extended_.begin());
    for (std::size_t rank = 0; rank < seats_.size(); ++rank) {
        Last& last = seats_[rank];
        JobView& job = extended_[seats_.index(rank)];
        if (job.ready || job.held_by_others || job.finished)
            last.until = {};
        else if (last.ran)
            last.until = until;
        if (last.until > snapshot.now)
            job = last.job;
    }
    return {snapshot.now, extended_, snapshot.switch_cost};
}

Time Linger::settle(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    if (time_ == Duration{0})
        return at_next_event;
    Time first = at_next_event;
    bool any_waits = false;
    for (const auto [rank, i, job, last] : seats_.visit(snapshot.jobs)) {
        if (last.until > snapshot.now) {
            verdicts[i] = Verdict::run;
            first = std::min(first, last.until);
        }
        any_waits |= verdicts[i] == Verdict::hold;
        last.ran = job.schedulable() && verdicts[i] == Verdict::run;
        if (last.ran)
            last.job = job;
    }
    return any_waits ? first : at_next_event;
}

} // namespace xpreempt::sched
