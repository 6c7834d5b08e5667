// SPDX-License-Identifier: MIT
// Carries out verdicts: one call of the driver a decision.
#pragma once

#include "driver/provider.hpp"
#include "jobs/job_table.hpp"
#include "sched/snapshot.hpp"
#include "sched/switch_cost.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace xpreemptd {

struct SwitchingCounts {
    std::uint64_t calls = 0;
    std::uint64_t stops = 0; // of queues
    std::uint64_t starts = 0;
    std::uint64_t refusals = 0;
};

// Queues of one job that the last call of the driver stopped or started.
struct Switched {
    std::uint64_t job = 0;
    Change change = Change::stop;
    std::uint64_t for_job = 0; // of a stop: the most important one that runs on its GPUs; 0: none
    std::uint32_t queues = 0;
    std::uint32_t failed = 0; // or not confirmed yet
};

class Switching {
public:
    Switching(Provider& provider, Clock clock) : provider_(provider), clock_(std::move(clock)) {}

    // One verdict a job, in the table's order. Returns true if something was refused that may work
    // later; the call is repeated then, with the verdicts of that time.
    [[nodiscard]] bool carry_out(JobTable& table, std::span<const sched::Verdict> verdicts);

    [[nodiscard]] const SwitchingCounts& counts() const { return counts_; }
    // Times and changes of the last call of the driver.
    [[nodiscard]] Time called_at() const { return called_at_; }
    [[nodiscard]] Time returned_at() const { return returned_at_; }
    [[nodiscard]] std::span<const Switched> last() const { return switched_; }
    [[nodiscard]] bool all_stopped() const { return all_stopped_; } // that it was to stop
    [[nodiscard]] const sched::SwitchCost& cost() const { return cost_; }

    // Updates the queue from the result of its switch. Returns true if a retry may succeed.
    bool note(Queue& queue, const Switch& done);

private:
    void want(Job& job, Change change);
    [[nodiscard]] bool is_away(Process& process) const;
    void note_results();
    void note_cost();
    void note_locks();

    Provider& provider_;
    Clock clock_;
    Time called_at_{}, returned_at_{};
    bool all_stopped_ = true;
    sched::SwitchCost cost_;
    SwitchingCounts counts_;
    std::vector<Switch> switches_;
    std::vector<Queue*> queues_;      // parallel to switches_
    std::vector<Process*> processes_; // the same
    std::vector<Switched> switched_;
};

} // namespace xpreemptd
