// SPDX-License-Identifier: MIT
// Policy HPF: on each node the jobs of the highest priority run.
#pragma once

#include "sched/seats.hpp"

namespace xpreempt::sched {

// Goal: a high priority is served as if it were alone.
// Definition: from the highest priority down, a ready job runs unless a job of higher priority runs
// on one of its nodes. Jobs of equal priority run together. A job on several nodes that is held
// blocks none of them for the jobs below.
// Parameters: none.
// Use it for a few jobs with a strict order, in a process or on a machine of one owner.
// Do not use it where low priorities must progress: they starve as long as there is work above. Nor
// for a high job with short gaps: the low job resumes in each of them; BAND waits.
// Work-conserving.
class HighestPriorityFirst {
public:
    void admit(std::span<const JobView> jobs) { seats_.admit(jobs); }
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return seats_.matches(jobs); }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    bool operator==(const HighestPriorityFirst&) const = default;

private:
    struct Nothing {
        bool operator==(const Nothing&) const = default;
    };
    Seats<Nothing> seats_;
};

} // namespace xpreempt::sched
