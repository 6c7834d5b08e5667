// SPDX-License-Identifier: MIT
// A function of the snapshot alone.
#include "sched/policies/two_level.hpp"

#include <algorithm>

namespace xpreempt::sched {

namespace {

bool is_critical(const JobView& job, Time now) {
    return job.schedulable() && job.lax != Duration::max() && now - job.ready_since >= job.lax;
}

} // namespace

Time TwoLevel::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    std::uint64_t claimed = 0;
    for (const JobView& job : snapshot.jobs)
        if (is_critical(job, snapshot.now))
            claimed |= job.nodes;
    Time next = at_next_event;
    for (std::size_t i = 0; i < snapshot.jobs.size(); ++i) {
        const JobView& job = snapshot.jobs[i];
        const bool low = job.schedulable() && !is_critical(job, snapshot.now);
        verdicts[i] = low && (job.nodes & claimed) != 0 ? Verdict::hold : Verdict::run;
        if (low && job.lax < at_next_event - job.ready_since)
            next = std::min(next, job.ready_since + job.lax);
    }
    return next;
}

} // namespace xpreempt::sched
