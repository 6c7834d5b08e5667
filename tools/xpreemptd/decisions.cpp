// SPDX-License-Identifier: MIT
// One decision: snapshot, verdicts, accounts, and the watch over the policy.
#include "decisions.hpp"

#include <algorithm>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <memory>

namespace xpreemptd {

void Decisions::set_policy(sched::Policy policy) {
    std::string name(sched::name_of(policy));
    set_policy(std::move(name),
               [policy = std::move(policy)](const sched::Snapshot& snapshot,
                                            std::span<sched::Verdict> verdicts) mutable {
                   return sched::decide(policy, snapshot, verdicts);
               });
}

void Decisions::set_policy(std::string name, Decide decide) {
    name_ = std::move(name);
    decide_ = std::move(decide);
    ejected_.clear();
    for (const auto& job : table_.jobs())
        job->may_wait_until = {};
}

void Decisions::eject(std::string reason) {
    ejected_ = std::move(reason);
    name_ = "none";
    decide_ = nullptr;
    next_ = sched::at_next_event;
}

// A job that waits needs a reason: another job with work, or with announced work, runs on one of
// its GPUs. A job without work does not wait: PARK holds those.
bool Decisions::note_waiting() {
    const Time now = snapshot_.now;
    for (std::size_t i = 0; i < views_.size(); ++i) {
        Job& job = *table_.jobs()[i];
        if (verdicts_[i] != sched::Verdict::hold || !views_[i].ready || is_unfit(i)) {
            job.may_wait_until = {};
            continue;
        }
        bool reason = false;
        for (std::size_t j = 0; !reason && j < views_.size(); ++j)
            reason = verdicts_[j] == sched::Verdict::run &&
                     (views_[j].schedulable() || views_[j].announced(now)) &&
                     (views_[i].nodes & views_[j].nodes) != 0;
        if (reason || job.may_wait_until == Time{})
            job.may_wait_until = now + max_hold_;
        if (job.may_wait_until <= now) {
            eject(fmt::format("{} held job {} ({}) for {} s while nothing else had work on its "
                              "GPUs",
                              name_, job.id, job.name,
                              std::chrono::duration<double>(max_hold_).count()));
            return true;
        }
        next_ = std::min(next_, job.may_wait_until);
    }
    return false;
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

std::span<const sched::Verdict> Decisions::decide(Time now) {
    ++count_;
    table_.view_into(views_);
    snapshot_ = {now, views_};
    verdicts_.assign(views_.size(), sched::Verdict::run);
    unfit_ = find_unfit_ ? find_unfit_(snapshot_) : Unfit{};
    sched::Snapshot fit = snapshot_;
    if (!unfit_.jobs.empty()) {
        // To the policy they are somebody else's, so nobody waits for them.
        fit_views_ = views_;
        for (std::size_t i = 0; i < views_.size(); ++i)
            fit_views_[i].held_by_others = views_[i].held_by_others || is_unfit(i);
        fit.jobs = fit_views_;
    }
    next_ = decide_ ? decide_(fit, verdicts_) : sched::at_next_event;
    next_ = std::min(next_, unfit_.next);
    for (std::size_t i = 0; i < views_.size(); ++i)
        if (is_unfit(i))
            verdicts_[i] = sched::Verdict::hold;
    return verdicts_;
}

bool Decisions::settle() {
    keep_accounts();
    return note_waiting();
}

sched::Account Decisions::account_of(const Job& job) const {
    const auto found = std::ranges::find(ids_, job.id);
    return found == ids_.end() ? sched::Account{}
                               : of_[static_cast<std::size_t>(found - ids_.begin())];
}

} // namespace xpreemptd
