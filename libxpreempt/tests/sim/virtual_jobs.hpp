// SPDX-License-Identifier: MIT
// Jobs in virtual time under a policy, and what must hold at each decision of any policy.
#pragma once

#include "kfd-preempt-sim/random_jobs.hpp"
#include "sched/account.hpp"
#include "sim/record.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace test {

using namespace std::chrono_literals;
using xpreempt::sched::Accounts;
using xpreempt::sched::at_next_event;
using xpreempt::sched::Band;
using xpreempt::sched::Bands;
using xpreempt::sched::Duration;
using xpreempt::sched::endless;
using xpreempt::sched::happen;
using xpreempt::sched::JobView;
using xpreempt::sched::Policy;
using xpreempt::sched::RandomJobs;
using xpreempt::sched::Snapshot;
using xpreempt::sched::Time;
using xpreempt::sched::Verdict;
using xpreempt::sched::VirtualJob;

// For tests of mechanisms, whose figures don't follow the defaults: short turns of a large floor,
// a grace that is longer than some gaps.
inline Bands::Parameters busy_bands() {
    Bands::Parameters parameters;
    parameters.floor_percent = 10;
    parameters.floor_turn = 10ms;
    parameters.resume_grace = 5ms;
    parameters.max_rate = 200;
    return parameters;
}

// Random jobs under a policy.
class VirtualJobs : public RandomJobs {
public:
    // Sees the jobs before the verdicts take effect.
    using Check = std::function<void(Time now, const std::vector<VirtualJob>& jobs,
                                     const std::vector<Verdict>& verdicts)>;
    // Sees each call of the policy.
    using Ask =
        std::function<void(const std::vector<JobView>& jobs, const std::vector<Verdict>& verdicts)>;

    explicit VirtualJobs(Policy policy, std::uint32_t seed = 1)
        : RandomJobs(seed), initial_(policy), policy_(std::move(policy)) {}

    // Decides until nothing changes, which must be at once.
    void decide() {
        const std::vector<Verdict> verdicts = ask();
        if (check)
            check(now, jobs, verdicts);
        apply(verdicts);
        EXPECT_EQ(verdicts, ask()) << "not settled";
    }

    // Timers and ends of work are events.
    void advance(Duration time) {
        const Time end = now + time;
        for (;;) {
            pass(next_end(std::min(end, next)));
            const bool over = end_work();
            const bool timer = now >= next;
            timers += timer && !over ? 1 : 0;
            if (over || timer)
                decide();
            if (now >= end || ::testing::Test::HasFailure())
                return;
        }
    }

    void expect_replays() const {
        const auto difference = replay(initial_, record);
        EXPECT_FALSE(difference) << "decision " << difference->decision;
    }

    Time next = at_next_event;
    Duration switch_cost{0}; // of the snapshots
    std::vector<Decision> record;
    Accounts accounts;
    Check check;
    Ask asked;
    std::uint64_t timers = 0;

private:
    std::vector<Verdict> ask() {
        std::vector<JobView> views;
        for (const VirtualJob& job : jobs)
            views.push_back(job.view);
        std::vector<std::size_t> order(views.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::ranges::shuffle(order, random);
        std::vector<JobView> shuffled;
        for (const std::size_t i : order)
            shuffled.push_back(views[i]);

        Policy other = policy_;
        std::vector<Verdict> verdicts(views.size(), Verdict::hold), of_other = verdicts;
        next = xpreempt::sched::decide(policy_, {now, views, switch_cost}, verdicts);
        const Time of_others =
            xpreempt::sched::decide(other, {now, shuffled, switch_cost}, of_other);
        EXPECT_EQ(next, of_others) << "depends on the order of jobs";
        EXPECT_TRUE(policy_ == other) << "state depends on the order of jobs";
        EXPECT_GT(next, now);
        for (std::size_t i = 0; i < order.size(); ++i)
            EXPECT_EQ(verdicts[order[i]], of_other[i]) << "depends on the order of jobs";
        for (std::size_t i = 0; i < views.size(); ++i)
            EXPECT_TRUE(verdicts[i] == Verdict::run || may_hold(views[i]))
                << "stops what is idle or not ours";
        if (!accounts.matches(views)) {
            accounts.admit(views);
            (void)accounts.matches(views);
        }
        accounts.note({now, views}, verdicts);
        record.push_back(test::record({now, views, switch_cost}, verdicts, next));
        if (asked)
            asked(views, verdicts);
        return verdicts;
    }
    [[nodiscard]] bool may_hold(const JobView& job) const {
        const bool parks = std::holds_alternative<xpreempt::sched::IdleParking>(policy_);
        return job.schedulable() || (parks && !job.held_by_others);
    }

    Policy initial_, policy_;
};

// No ready job waits while all its nodes are free.
inline void expect_work_conserved(const std::vector<VirtualJob>& jobs,
                                  const std::vector<Verdict>& verdicts) {
    std::uint64_t busy = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        if (jobs[i].view.schedulable() && verdicts[i] == Verdict::run)
            busy |= jobs[i].view.nodes;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        EXPECT_TRUE(verdicts[i] == Verdict::run || (jobs[i].view.nodes & busy) != 0)
            << "job " << jobs[i].view.id;
}

// No node has two jobs that run.
inline void expect_one_at_a_time(const std::vector<VirtualJob>& jobs,
                                 const std::vector<Verdict>& verdicts) {
    std::uint64_t busy = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i)
        if (jobs[i].view.schedulable() && verdicts[i] == Verdict::run) {
            EXPECT_EQ(0U, jobs[i].view.nodes & busy) << "job " << jobs[i].view.id;
            busy |= jobs[i].view.nodes;
        }
}

// Runs `one` for each seed; SIM_SEED=n repeats one of them.
inline void for_each_seed(std::uint32_t count, const std::function<void(std::uint32_t)>& one) {
    const char* given = std::getenv("SIM_SEED");
    const auto first = given != nullptr ? static_cast<std::uint32_t>(std::atol(given)) : 1U;
    const auto last = given != nullptr ? first : count;
    for (std::uint32_t seed = first; seed <= last && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("SIM_SEED=" + std::to_string(seed));
        one(seed);
    }
}

// Random events; the checks of VirtualJobs, `check`, and a replay at the end.
inline void random_run(const Policy& policy, std::uint32_t seed, const VirtualJobs::Check& check) {
    VirtualJobs virtual_jobs(policy, seed);
    virtual_jobs.check = check;
    const std::uint32_t nodes = 1 + virtual_jobs.below(3);
    std::uint64_t last_id = 0;
    for (int event = 0; event < 250 && !::testing::Test::HasFailure(); ++event) {
        happen(virtual_jobs, last_id, nodes);
        virtual_jobs.decide();
        virtual_jobs.advance(Duration{virtual_jobs.below(8'000'000)});
    }
    // Time passed: about a second. No policy needs more than a timer every 100 us.
    EXPECT_LT(virtual_jobs.timers, 10'000U);
    virtual_jobs.expect_replays();
}

} // namespace test
