// SPDX-License-Identifier: MIT
// Policy K-EDF: on each node the jobs with the K earliest deadlines run.
#pragma once

#include "sched/policies/linger.hpp"

#include <chrono>
#include <cstdint>

namespace xpreempt::sched {

// Goal: each request ends before its deadline. With K 1 all do, on each node whose jobs could meet
// their deadlines under any policy.
// Definition: the deadline of a ready job is the earlier one of the deadline that it hints and of
// ready_since + relative_deadline. A job that is never idle gets a new period, and so a new
// deadline, whenever its relative deadline has passed; a hinted deadline stays. From the earliest
// deadline on, a ready job runs unless K jobs run on one of its nodes. A job on several nodes that
// is held blocks none of them for the jobs behind it. Jobs without a deadline are behind all
// others. Equal deadlines: the earlier ready_since first, then the lower id. A job that became idle
// counts as ready for `linger`, so that the jobs behind don't resume between two of its requests.
// Parameters: k, at least 1; least_period, of new periods, which bounds the preemptions; linger, at
// least a switch cost, 0: none.
// Use it for periodic requests: frames, tokens, control loops. Don't use it under overload: late
// requests make others late. Nor for batch jobs beside it: jobs without a deadline starve.
// Work-conserving but for `linger`: else no ready job waits while all its nodes are free.
// Preemptions: at most one decision that stops jobs for each job that becomes ready or idle, gets a
// new period or changes.
class EarliestDeadlineFirst {
public:
    struct Parameters {
        std::uint32_t k = 1;
        Duration least_period = std::chrono::milliseconds{1};
        Duration linger = Linger::usual;
        bool operator==(const Parameters&) const = default;
    };

    EarliestDeadlineFirst() : EarliestDeadlineFirst(Parameters{}) {}
    explicit EarliestDeadlineFirst(const Parameters& parameters);

    void admit(std::span<const JobView> jobs) {
        seats_.admit(jobs);
        linger_.admit(jobs);
    }
    [[nodiscard]] bool matches(std::span<const JobView> jobs) {
        return seats_.matches(jobs) && linger_.matches(jobs);
    }
    [[nodiscard]] Time decide(const Snapshot& given, std::span<Verdict> verdicts);

    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    bool operator==(const EarliestDeadlineFirst&) const = default;

private:
    struct Seat {
        Time deadline = at_next_event; // while ready
        bool renews = false;           // a new one follows it
        bool operator==(const Seat&) const = default;
    };

    [[nodiscard]] Seat deadline_of(const JobView& job, Time now) const;

    Parameters parameters_;
    Seats<Seat> seats_;
    Linger linger_;
};

} // namespace xpreempt::sched
