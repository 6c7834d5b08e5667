// SPDX-License-Identifier: MIT
// Policies UP and PUP: jobs in turn, with a budget in proportion to their utilization.
#pragma once

#include "sched/turns.hpp"

#include <array>
#include <chrono>
#include <cstdint>

namespace xpreempt::sched {

// Goal: GPU time in proportion to the utilization of the jobs.
// Definition: on each node one job runs, for its budget or until it is idle, then goes to the end
// of the queue; joins and gangs as RR. A round of n ready jobs takes n slices, and the budget of a
// job is its part of the round: slice * n * utilization / sum of the utilizations. Only ready jobs
// count, so an idle one gives its turn away. The budget of a job on several nodes is the least of
// its nodes. No budget is below slice / 50, which costs the others at most 2 % together. A job with
// utilization 0 runs, a slice at a time, only where no other job is ready.
// Parameters: slice, at least 20 switch costs and at most 10 s.
// Use it to give jobs parts of a GPU as percentages. Don't use it for latency: a ready job waits
// for up to n slices; nor where a part must stay free for a job that is idle: SPUP.
// Work-conserving: no ready job waits while all its nodes are free. Starvation: only of jobs with
// utilization 0. Preemptions: at most one for each turn, of which a round has n, and one for each
// ready edge.
class UtilizationPartition {
public:
    struct Parameters {
        Duration slice = std::chrono::milliseconds{5};
        bool operator==(const Parameters&) const = default;
    };

    UtilizationPartition() : UtilizationPartition(Parameters{}) {}
    explicit UtilizationPartition(const Parameters& parameters)
        : UtilizationPartition(parameters, false) {}

    void admit(std::span<const JobView> jobs) { seats_.admit(jobs); }
    [[nodiscard]] bool matches(std::span<const JobView> jobs) { return seats_.matches(jobs); }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    [[nodiscard]] const Parameters& parameters() const { return parameters_; }
    bool operator==(const UtilizationPartition&) const = default;

protected:
    UtilizationPartition(const Parameters& parameters, bool carries);

private:
    struct Seat : Turn {
        std::int64_t number = 0; // in the queue
        Duration budget{0};      // of a turn
        Duration credit{0};      // left from earlier turns
        bool operator==(const Seat&) const = default;
    };
    struct Demand {
        std::uint64_t nodes = 0; // of ready jobs with a utilization above 0
        std::array<std::int64_t, max_nodes> sums{}, counts{};
    };

    [[nodiscard]] static Demand demand_of(std::span<const JobView> jobs);
    [[nodiscard]] Duration budget_of(const JobView& job, const Demand& demand) const;
    void end_turn(Seat& seat, const JobView& job);

    Parameters parameters_;
    Duration slice_{0}; // of the last decision
    bool carries_;      // the rest of a budget into the next turn
    Seats<Seat> seats_;
    std::int64_t last_number_ = 0;
    Stopwatch stopwatch_;
};

// Policy PUP, as XSched's ProcessUtilizationPartition.
// Goal: as UP, also for jobs that are idle for a part of their turns.
// Definition: as UP, and a job that becomes idle within its turn keeps the rest of its budget for
// the next one. The part of that credit above one budget is multiplied by 0.9 at each of its turns,
// so a turn is never longer than 11 budgets. Credit is that of a job on all its nodes, never of the
// machine. Parameters: slice, as UP.
// Use it for jobs in bursts that must get their part over seconds. Don't use it for latency: the
// wait for a turn is up to 11 times that of UP. Work conservation, starvation, preemptions: as UP.
class ProcessUtilizationPartition : public UtilizationPartition {
public:
    ProcessUtilizationPartition() : ProcessUtilizationPartition(Parameters{}) {}
    explicit ProcessUtilizationPartition(const Parameters& parameters)
        : UtilizationPartition(parameters, true) {}
    bool operator==(const ProcessUtilizationPartition&) const = default;
};

} // namespace xpreempt::sched
