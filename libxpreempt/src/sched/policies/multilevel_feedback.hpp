// SPDX-License-Identifier: MIT
// Policy MLFQ: short requests first, without knowing which ones are short.
#pragma once

#include "sched/turns.hpp"

#include <chrono>
#include <cstdint>

namespace xpreempt::sched {

// Goal: a short request doesn't wait for long ones, and long ones are stopped seldom.
// Definition: a job begins at level 0. On each node the ready jobs of the lowest level run in turn,
// one at a time, as under RR. A job that has run for the slice of its level goes down by one, to
// the end of the queue there; at the last level it stays. A job that becomes idle before keeps its
// level and gets a new slice. The slice of a level is `growth` times that of the level above. A job
// that was held for promote_after goes up by one, and one that was idle for so long begins at 0.
// A job that is stopped for one of a higher level keeps the rest of its slice.
// Parameters: slice, of level 0; levels; growth; promote_after.
// Use it for requests of unknown and very different length. Don't use it for shares: a job that is
// idle for a moment before its slice ends stays above those that aren't.
// Work-conserving: no ready job waits while all its nodes are free. No job starves: after at most
// (levels - 1) * promote_after it is at level 0, and waits there for one slice of each job before
// it. Preemptions: at most one decision that stops jobs for each ready edge, each slice and each
// promote_after of a job.
class MultilevelFeedback {
public:
    static constexpr std::uint32_t max_levels = 8, max_growth = 4;

    struct Parameters {
        Duration slice = std::chrono::milliseconds{10};
        std::uint32_t levels = 4; // 1 to max_levels
        std::uint32_t growth = 2; // 1 to max_growth
        Duration promote_after = std::chrono::milliseconds{200};
        bool operator==(const Parameters&) const = default;
    };

    MultilevelFeedback() : MultilevelFeedback(Parameters{}) {}
    explicit MultilevelFeedback(const Parameters& parameters);

    void admit(std::span<const JobView> jobs) { seats_.admit(jobs); }
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return seats_.matches(jobs); }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    bool operator==(const MultilevelFeedback&) const = default;

private:
    struct Seat : Turn {
        std::uint32_t level = 0;
        std::int64_t number = 0; // in the queue of its level
        Duration spent{0};       // of its slice, also before it was stopped
        Duration waited{0};      // since it came to its level
        Time idle_since{};
        bool operator==(const Seat&) const = default;
    };

    [[nodiscard]] Duration slice_of(std::uint32_t level) const;
    [[nodiscard]] Duration promote_after() const {
        return std::max(parameters_.promote_after, slice_);
    }
    [[nodiscard]] std::uint32_t level_after(std::uint32_t level, Duration spent) const;
    void move(Seat& seat, std::uint32_t level);
    void join(Seat& seat, Time now);
    void account(Seat& seat, const JobView& job, Time now, Duration passed);
    void give_up_nodes(std::span<const JobView> jobs);

    Parameters parameters_;
    Duration slice_{0}; // of level 0, of the last decision
    Seats<Seat> seats_;
    std::int64_t last_number_ = 0;
    Stopwatch stopwatch_;
};

} // namespace xpreempt::sched
