// SPDX-License-Identifier: MIT
// Asks the policy, keeps the accounts, and ejects a policy that holds a job for nothing.
#pragma once

#include "jobs/job_table.hpp"
#include "sched/account.hpp"
#include "sched/policy.hpp"
#include "scheduling/turn_groups.hpp"

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace xpreemptd {

class Decisions {
public:
    using Decide =
        std::function<Time(const sched::Snapshot& snapshot, std::span<sched::Verdict> verdicts)>;

    // Names the rule that the policy broke in its last decision; empty: none.
    using FindFault = std::function<std::string()>;

    Decisions(JobTable& table, std::chrono::nanoseconds max_hold)
        : table_(table), max_hold_(max_hold) {}

    void set_max_hold(std::chrono::nanoseconds max_hold) { max_hold_ = max_hold; }
    // CPU time of a plug-in that set_policy() gets from now on, see PluginWatch.
    void set_max_decide(std::chrono::nanoseconds max_decide) { max_decide_ = max_decide; }
    // Replaces the policy. Forgets an ejection.
    void set_policy(sched::Policy policy);
    // With an empty function everything runs.
    void set_policy(std::string name, Decide decide,
                    sched::HoldReason reason = sched::HoldReason::job_on_its_nodes,
                    FindFault find_fault = nullptr, bool divides_time = false);
    [[nodiscard]] const std::string& policy_name() const { return name_; }
    [[nodiscard]] const std::string& ejected() const { return ejected_; } // why, or empty

    // Says which jobs can't run, whatever the policy wants, and when to be asked again.
    struct Unfit {
        std::vector<bool> jobs; // in the order of the snapshot; empty: none
        Time next = sched::at_next_event;
    };
    using FindUnfit = std::function<Unfit(const sched::Snapshot& snapshot)>;
    void set_find_unfit(FindUnfit find_unfit) { find_unfit_ = std::move(find_unfit); }

    // Verdicts in the order of the table's jobs, until the next call. After a fault all run.
    [[nodiscard]] std::span<const sched::Verdict>
    decide(Time now, sched::Duration switch_cost = sched::Duration{0});
    // Accounts, and the watch over the policy: after the verdicts were carried out, for they
    // hurry. Returns true if the policy was ejected: then decide() again.
    [[nodiscard]] bool settle();
    // For the log: jobs that wait for long because the policy reserves their time. Each once.
    [[nodiscard]] std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }
    // When decide() is to be called again if nothing happens.
    [[nodiscard]] Time next() const { return next_; }

    [[nodiscard]] sched::Account account_of(const Job& job) const;
    [[nodiscard]] std::uint64_t count() const { return count_; }

private:
    [[nodiscard]] bool is_unfit(std::size_t job) const {
        return !unfit_.jobs.empty() && unfit_.jobs[job];
    }
    // Nodes of the jobs that have work, or have announced it, and run.
    [[nodiscard]] std::uint64_t nodes_of_running_work() const;
    [[nodiscard]] bool is_held_for_a_job(std::size_t index, std::uint64_t nodes_of_work) const;
    [[nodiscard]] Time decide_for_groups(const sched::Snapshot& fit);
    void ask(const sched::Snapshot& fit);
    [[nodiscard]] bool note_waiting();
    [[nodiscard]] bool end_wait(Job& job, const sched::JobView& view);
    void eject(std::string reason);
    void keep_accounts();

    JobTable& table_;
    std::chrono::nanoseconds max_hold_;
    sched::Duration resume_grace_{0}; // of the last decision
    std::chrono::nanoseconds max_decide_ = std::chrono::milliseconds{1};
    std::string name_ = "none";
    Decide decide_;
    sched::HoldReason reason_ = sched::HoldReason::job_on_its_nodes;
    FindFault find_fault_;
    bool divides_time_ = false; // see TurnGroups
    FindUnfit find_unfit_;
    Unfit unfit_; // of the last decision
    std::string ejected_;
    bool ejected_now_ = false; // by the last decision
    std::vector<std::string> warnings_;
    Time policy_next_ = sched::at_next_event; // when the policy wants to decide again
    Time next_ = sched::at_next_event;
    sched::Snapshot snapshot_; // of the last decision
    std::vector<sched::JobView> views_, fit_views_;
    std::vector<sched::Verdict> verdicts_, group_verdicts_;
    TurnGroups groups_; // of the last decision, if the policy divides the time
    sched::Accounts accounts_;
    // Ids and accounts of the jobs of the last decision.
    std::vector<std::uint64_t> ids_;
    std::vector<sched::Account> of_;
    std::uint64_t count_ = 0;
};
} // namespace xpreemptd
