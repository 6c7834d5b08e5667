// SPDX-License-Identifier: MIT
// Policy HPF: on each node the jobs of the highest priority run.
#pragma once

#include "sched/seats.hpp"

namespace xpreempt::sched {

// Goal: a high priority is served as if it were alone.
// Definition: from the highest priority down, a ready job runs unless a job of higher priority runs
// on one of its nodes. Jobs of equal priority run together. A job on several nodes that is held
// blocks none of them for the jobs below. A job that has become idle keeps those below it held for
// `linger` more, so that they do not fill its GPU between two of its requests.
// Parameters: linger, 0 by default.
// Use it for a few jobs with a strict order, in a process or on a machine of one owner.
// Do not use it where low priorities must progress: they starve as long as there is work above. Nor
// for a high job with gaps longer than `linger`: the low job resumes in each of them; BAND waits.
// Work-conserving but for `linger` after each job.
class HighestPriorityFirst {
public:
    explicit HighestPriorityFirst(Duration linger = Duration::zero()) : linger_(linger) {}

    void admit(std::span<const JobView> jobs) { seats_.admit(jobs); }
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return seats_.matches(jobs); }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    bool operator==(const HighestPriorityFirst&) const = default;

private:
    struct Seat {
        bool ready = false;
        Time lingers_until{}; // once it is not ready any more
        bool operator==(const Seat&) const = default;
    };

    void note_ends(const Snapshot& snapshot);

    Duration linger_;
    Seats<Seat> seats_;
};

} // namespace xpreempt::sched
