// SPDX-License-Identifier: MIT
// One decision: snapshot, verdicts, accounts, and the watch over the policy.
#include "scheduling/decisions.hpp"

#include "scheduling/plugin_watch.hpp"

#include <algorithm>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <memory>
#include <utility>

namespace xpreemptd {

using sched::HoldReason;

void Decisions::set_policy(sched::Policy policy) {
    std::string name(sched::name_of(policy));
    const HoldReason reason = sched::hold_reason_of(policy);
    const bool divides_time = sched::divides_time_of_jobs(policy);
    if (auto* const plugin = std::get_if<sched::Plugin>(&policy)) {
        const auto watch =
            std::make_shared<PluginWatch>(std::move(*plugin), max_decide_, thread_cpu_time);
        return set_policy(
            std::move(name),
            [watch](const sched::Snapshot& snapshot, std::span<sched::Verdict> verdicts) {
                return watch->decide(snapshot, verdicts);
            },
            reason, [watch] { return watch->fault(); });
    }
    set_policy(
        std::move(name),
        [this, policy = std::move(policy)](const sched::Snapshot& snapshot,
                                           std::span<sched::Verdict> verdicts) mutable {
            const Time next = sched::decide(policy, snapshot, verdicts);
            resume_grace_ = sched::resume_grace_of(policy, snapshot.switch_cost);
            return next;
        },
        reason, nullptr, divides_time);
}

void Decisions::set_policy(std::string name, Decide decide, HoldReason reason, FindFault find_fault,
                           bool divides_time) {
    name_ = std::move(name);
    decide_ = std::move(decide);
    reason_ = reason;
    find_fault_ = std::move(find_fault);
    divides_time_ = divides_time;
    resume_grace_ = {};
    ejected_.clear();
    for (const auto& job : table_.jobs()) {
        job->may_wait_until = {};
        job->warned_of_wait = false;
    }
}

void Decisions::eject(std::string reason) {
    ejected_ = std::move(reason);
    name_ = "none";
    decide_ = nullptr;
    find_fault_ = nullptr;
    divides_time_ = false;
    next_ = sched::at_next_event;
}

std::uint64_t Decisions::nodes_of_running_work() const {
    std::uint64_t nodes = 0;
    for (std::size_t i = 0; i < views_.size(); ++i)
        if (verdicts_[i] == sched::Verdict::run &&
            (views_[i].schedulable() || views_[i].announced(snapshot_.now)))
            nodes |= views_[i].nodes;
    return nodes;
}

bool Decisions::is_held_for_a_job(std::size_t index, std::uint64_t nodes_of_work) const {
    if (reason_ == HoldReason::reserved_time)
        return false;
    const std::uint64_t nodes = reason_ == HoldReason::job_on_any_node ? ~std::uint64_t{0}
                                : divides_time_                        ? groups_.nodes_of(index)
                                                                       : views_[index].nodes;
    return (nodes_of_work & nodes) != 0;
}

// A job that waits needs the reason that its policy claims. A job without work doesn't wait: PARK
// holds those.
bool Decisions::note_waiting() {
    const Time now = snapshot_.now;
    const std::uint64_t nodes_of_work = nodes_of_running_work();
    for (std::size_t i = 0; i < views_.size(); ++i) {
        Job& job = *table_.jobs()[i];
        if (verdicts_[i] != sched::Verdict::hold || !views_[i].ready || is_unfit(i)) {
            job.may_wait_until = {};
            continue;
        }
        // Up to now it was held for the job that the last decision found.
        const bool was_for_a_job =
            std::exchange(job.held_for_a_job, is_held_for_a_job(i, nodes_of_work));
        if (job.may_wait_until == Time{} || was_for_a_job || job.held_for_a_job)
            job.may_wait_until = now + resume_grace_ + max_hold_;
        if (job.may_wait_until <= now && end_wait(job, views_[i]))
            return true;
        next_ = std::min(next_, job.may_wait_until);
    }
    return false;
}

// Returns true if it ejected the policy.
bool Decisions::end_wait(Job& job, const sched::JobView& view) {
    const std::string held = fmt::format("{} held job {} ({}) for {} s", name_, job.id, job.name,
                                         std::chrono::duration<double>(max_hold_).count());
    if (reason_ == HoldReason::reserved_time && policy_next_ != sched::at_next_event) {
        job.may_wait_until = Time::max();
        if (!std::exchange(job.warned_of_wait, true))
            warnings_.push_back(
                fmt::format("{}: its utilization is {} %, and the rest of the time is reserved for "
                            "others; `kfd-preempt renice` changes it",
                            held, view.utilization));
        return false;
    }
    eject(fmt::format("{} while nothing else had work on {}", held,
                      reason_ == HoldReason::job_on_any_node ? "any GPU" : "its GPUs"));
    return true;
}

void Decisions::keep_accounts() {
    if (!accounts_.matches(views_)) {
        accounts_.admit(views_);
        (void)accounts_.matches(views_);
    }
    accounts_.note(snapshot_, verdicts_);
    of_.resize(views_.size());
    accounts_.read_all(of_);
    ids_.clear();
    for (const sched::JobView& job : views_)
        ids_.push_back(job.id);
}

Time Decisions::decide_for_groups(const sched::Snapshot& fit) {
    sched::Snapshot of_groups = fit;
    of_groups.jobs = groups_.merge(table_, fit.jobs);
    group_verdicts_.assign(of_groups.jobs.size(), sched::Verdict::run);
    const Time next = decide_(of_groups, group_verdicts_);
    groups_.spread(group_verdicts_, fit.jobs, verdicts_);
    return next;
}

void Decisions::ask(const sched::Snapshot& fit) {
    policy_next_ = !decide_        ? sched::at_next_event
                   : divides_time_ ? decide_for_groups(fit)
                                   : decide_(fit, verdicts_);
    const std::string fault = find_fault_ ? find_fault_() : "";
    if (fault.empty())
        return;
    eject(fmt::format("plug-in {} {}", name_, fault));
    ejected_now_ = true;
    policy_next_ = sched::at_next_event;
    std::ranges::fill(verdicts_, sched::Verdict::run);
}

std::span<const sched::Verdict> Decisions::decide(Time now, sched::Duration switch_cost) {
    ++count_;
    table_.view_into(views_);
    snapshot_ = {now, views_, switch_cost};
    verdicts_.assign(views_.size(), sched::Verdict::run);
    unfit_ = find_unfit_ ? find_unfit_(snapshot_) : Unfit{};
    sched::Snapshot fit = snapshot_;
    if (!unfit_.jobs.empty()) {
        // To the policy they are held by others, so no job waits for them.
        fit_views_ = views_;
        for (std::size_t i = 0; i < views_.size(); ++i)
            fit_views_[i].held_by_others = views_[i].held_by_others || is_unfit(i);
        fit.jobs = fit_views_;
    }
    ask(fit);
    next_ = std::min(policy_next_, unfit_.next);
    for (std::size_t i = 0; i < views_.size(); ++i)
        if (is_unfit(i))
            verdicts_[i] = sched::Verdict::hold;
    return verdicts_;
}

bool Decisions::settle() {
    keep_accounts();
    return std::exchange(ejected_now_, false) || note_waiting();
}

sched::Account Decisions::account_of(const Job& job) const {
    const auto found = std::ranges::lower_bound(ids_, job.id); // jobs are in the order of ids
    return found == ids_.end() || *found != job.id
               ? sched::Account{}
               : of_[static_cast<std::size_t>(found - ids_.begin())];
}

} // namespace xpreemptd
