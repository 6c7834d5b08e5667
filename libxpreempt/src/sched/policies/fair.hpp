// SPDX-License-Identifier: MIT
// Policy CFS: the job with the least GPU time for its weight runs.
#pragma once

#include "sched/turns.hpp"

#include <array>
#include <chrono>
#include <cstdint>

namespace xpreempt::sched {

// Goal: GPU time in proportion to weights.
// Definition: a job's virtual runtime is the time that it ran, divided by its weight. On each node
// the ready job with the least of it runs, for a slice or until it is idle. A job that becomes
// ready is placed at most `credit` of its own GPU time behind the clock of its nodes, so that a
// long sleep doesn't buy a long run. The clock of a node is the least virtual runtime of its ready
// jobs, and never goes back. Parameters: slice, at least 20 switch costs; credit. Use it to share a
// GPU by weight. Don't use it for latency: a ready job waits for the slice that runs, and for all
// jobs that are behind it. Jobs run one at a time, also where they would fit. Work-conserving: no
// ready job waits while all its nodes are free. No job starves: the clock passes each that waits.
// Preemptions: as RR, for each slice.
class Fair {
public:
    struct Parameters {
        Duration slice = std::chrono::milliseconds{5};
        Duration credit = std::chrono::microseconds{2500};
        bool operator==(const Parameters&) const = default;
    };

    Fair() : Fair(Parameters{}) {}
    explicit Fair(const Parameters& parameters);

    void admit(std::span<const JobView> jobs) { seats_.admit(jobs); }
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return seats_.matches(jobs); }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    bool operator==(const Fair&) const = default;

private:
    void advance_clocks(std::span<const JobView> jobs);
    void place(std::span<const JobView> jobs, std::size_t rank);
    [[nodiscard]] std::uint64_t connected(std::span<const JobView> jobs, std::uint64_t nodes) const;
    [[nodiscard]] std::int64_t clock_of(std::uint64_t nodes) const;
    void shift(std::span<const JobView> jobs, std::uint64_t nodes, std::int64_t by);

    Parameters parameters_;
    Duration slice_{0}; // of the last decision
    Seats<Turn> seats_; // key: virtual runtime, ns at weight max_weight
    std::array<std::int64_t, max_nodes> clocks_{};
    Stopwatch stopwatch_;
};

} // namespace xpreempt::sched
