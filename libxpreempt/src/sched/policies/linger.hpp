// SPDX-License-Identifier: MIT
// Gaps between the requests of a job: lower jobs that resumed in each would be stopped at the next.
#pragma once

#include "sched/seats.hpp"

#include <chrono>
#include <span>
#include <vector>

namespace xpreempt::sched {

// A job that ran and became idle counts as ready for a while longer. One for every policy that
// resumes jobs in the gaps of others:
//
//   const Snapshot seen = linger.extend(snapshot);  // the policy decides by this one
//   next = std::min(next, linger.settle(snapshot, verdicts));
//
// A shorter time than a stop and a resume take would cost more than it returns, so the measured
// cost of a switch is the least; but 0 means not at all. A job that is finished, or that others
// hold, does not linger.
class Linger {
public:
    static constexpr Duration usual = std::chrono::microseconds{200};

    explicit Linger(Duration time = usual) : time_(time) {}

    void admit(std::span<const JobView> jobs);
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return seats_.matches(jobs); }

    // Returns the snapshot with lingering jobs as they were while they ran. Valid until the next
    // call.
    [[nodiscard]] Snapshot extend(const Snapshot& snapshot);
    // Call it with the verdicts of the policy. Returns when the first job ceases to linger, if any
    // job is held.
    [[nodiscard]] Time settle(const Snapshot& snapshot, std::span<Verdict> verdicts);

    [[nodiscard]] Duration time() const { return time_; }
    [[nodiscard]] auto& seats() { return seats_; } // for a policy that needs the order of ids only
    bool operator==(const Linger& other) const {
        return time_ == other.time_ && seats_ == other.seats_;
    }

private:
    struct Last {
        bool ran = false; // ready, and not held, after the last decision
        JobView job{};    // as it was then
        Time until{};     // lingers
        bool operator==(const Last&) const = default;
    };

    Duration time_;
    Seats<Last> seats_;
    std::vector<JobView> extended_; // in the order of the last snapshot
};

} // namespace xpreempt::sched
