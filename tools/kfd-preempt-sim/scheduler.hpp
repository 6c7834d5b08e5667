// SPDX-License-Identifier: MIT
// The daemon as the GPU sees it: when it learns of work, and what its policy decides.
#pragma once

#include "gpu.hpp"
#include "random.hpp"
#include "sched/policy.hpp"
#include "sched/switch_cost.hpp"

#include <span>
#include <string>
#include <vector>

namespace sim {

// Learns of the first work of an idle job by the trap on its doorbell, or by a poll. A job that was
// busy is polled until its queues are empty; work that comes before the poll makes no edge. One
// thread: while a call of the driver is under way, everything else waits.
class Scheduler {
public:
    Scheduler(const Scenario& scenario, std::span<const JobSpec> jobs, sched::Policy policy,
              Gpu& gpu);

    void on_work(std::size_t job, Time now); // it was idle
    void on_announcement(std::size_t job, Time now, Time until);
    [[nodiscard]] Time next() const; // when on_time() is due
    void on_time(Time now);

    struct Counts {
        std::uint64_t edges = 0;       // that it saw the job become ready
        std::uint64_t stops = 0;       // of the job
        std::uint64_t preemptions = 0; // decisions that stopped others so that it could run
    };
    // A call of the driver, with the indexes of the jobs.
    struct Call {
        Time at = 0;
        std::vector<Gpu::Change> changes;
    };
    void keep_calls() { keeps_calls_ = true; }
    [[nodiscard]] const std::vector<Call>& calls() const { return calls_; }
    [[nodiscard]] const Counts& counts_of(std::size_t job) const { return counts_[job]; }
    void reset_counts();
    // The rule that a plug-in broke, with which the run ends; empty: none.
    [[nodiscard]] const std::string& fault() const { return fault_; }

private:
    struct Seen {
        bool armed = true; // its next ring is reported
        Time rings_at = never, rang = 0;
    };

    bool take_rings(Time now);
    bool poll(Time now);
    void become_ready(std::size_t job, Time since);
    void decide(Time now);
    void count();
    void note_cost();
    void plan_poll(Time now);

    const GpuModel& model_;
    std::span<const JobSpec> jobs_;
    sched::Policy policy_;
    Gpu& gpu_;
    Random random_;
    double median_, sigma_;
    std::vector<sched::JobView> views_;
    std::vector<sched::Verdict> verdicts_;
    std::vector<Gpu::Change> changes_; // of the last call of the driver, once it was decided
    sched::SwitchCost cost_;
    bool cost_noted_ = true; // of that call
    std::vector<Seen> seen_;
    std::vector<Counts> counts_;
    Time next_ring_ = never, next_poll_ = never, timer_ = never;
    bool due_ = false; // a decision
    bool keeps_calls_ = false;
    std::vector<Call> calls_;
    std::string fault_;
};

} // namespace sim
