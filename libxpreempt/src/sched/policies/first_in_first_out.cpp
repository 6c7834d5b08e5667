// SPDX-License-Identifier: MIT
// Turns without an end, by time of arrival.
#include "sched/policies/first_in_first_out.hpp"

namespace xpreempt::sched {

Time FirstInFirstOut::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    for (const auto [rank, index, job, turn] : seats_.visit(snapshot.jobs)) {
        const std::int64_t arrival = Duration(job.ready_since.time_since_epoch()).count();
        // Idle between two decisions: it has left, and comes again.
        if (turn.key != arrival)
            turn.owns_nodes = false;
        turn.key = arrival;
    }
    return take_turns(seats_, snapshot, verdicts);
}

} // namespace xpreempt::sched
