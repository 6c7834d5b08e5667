// SPDX-License-Identifier: MIT
// One clock for each idle job.
#include "sched/policies/idle_parking.hpp"

namespace xpreempt::sched {

IdleParking::IdleParking(const Parameters& parameters) : parameters_(parameters) {
    parameters_.park_after = std::clamp<Duration>(
        parameters_.park_after, std::chrono::milliseconds{1}, std::chrono::hours{24 * 365});
}

Time IdleParking::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    Time next = at_next_event;
    for (const auto [rank, i, job, seat] : seats_.visit(snapshot.jobs)) {
        const bool idle = !job.ready && !job.held_by_others && !job.announced(snapshot.now);
        if (idle && !seat.idle)
            seat.idle_since = snapshot.now;
        seat.idle = idle;
        const bool parked = idle && snapshot.now - seat.idle_since >= parameters_.park_after;
        verdicts[i] = parked ? Verdict::hold : Verdict::run;
        if (idle && !parked)
            next = std::min(next, seat.idle_since + parameters_.park_after);
        else if (job.announced(snapshot.now))
            next = std::min(next, job.soon_until);
    }
    return next;
}

} // namespace xpreempt::sched
