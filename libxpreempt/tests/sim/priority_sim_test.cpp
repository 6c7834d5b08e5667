// SPDX-License-Identifier: MIT
// The policy on simulated devices: seeded arrivals, virtual time, and what must hold at each event.
//
// SIM_SEED=n repeats one run.
#include "sched/policy.hpp"

#include <algorithm>
#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <string>
#include <vector>

namespace {

using xpreempt::sched::HighestPriorityFirst;
using xpreempt::sched::JobView;
using xpreempt::sched::Policy;
using xpreempt::sched::Time;
using xpreempt::sched::Verdict;

struct Queue {
    std::uint32_t device;
    std::int32_t priority;
    std::uint32_t left = 0; // time units of work
    // Since it became ready:
    std::uint64_t ready_since = 0;
    std::uint32_t submitted = 0;
    bool outranked = false;
};

JobView view(std::uint64_t id, std::uint32_t device, std::int32_t priority, bool ready) {
    JobView job;
    job.id = id;
    job.nodes = std::uint64_t{1} << device;
    job.priority = priority;
    job.ready = ready;
    return job;
}

std::vector<Verdict> decide(const std::vector<JobView>& views) {
    std::vector<Verdict> verdicts(views.size(), Verdict::run);
    Policy policy = HighestPriorityFirst{};
    (void)xpreempt::sched::decide(policy, {Time{}, views}, verdicts);
    return verdicts;
}

// Devices run all xqueues that may run side by side, each at full speed: so a queue that is never
// suspended ends after exactly its own work.
class Simulation {
public:
    explicit Simulation(std::uint32_t seed) : random_(seed) {
        const std::uint32_t devices = below(4) + 1;
        for (std::uint32_t device = 0; device < devices; ++device)
            for (std::uint32_t count = below(6); count > 0; --count)
                queues_.push_back({device, priority()});
    }

    void run() {
        for (int event = 0; event < 400 && !::testing::Test::HasFailure(); ++event) {
            happen();
            check();
            advance(below(5));
        }
        drain();
    }

private:
    std::uint32_t below(std::uint32_t limit) {
        return std::uniform_int_distribution<std::uint32_t>(0, limit - 1)(random_);
    }
    std::int32_t priority() {
        constexpr std::int32_t some[] = {-255, -1, 0, 0, 1, 255};
        return some[below(6)];
    }
    void happen() {
        if (queues_.empty())
            return;
        Queue& queue = queues_[below(static_cast<std::uint32_t>(queues_.size()))];
        if (below(8) == 0) {
            queue.priority = priority();
            return;
        }
        if (queue.left == 0) {
            queue.ready_since = now_;
            queue.submitted = 0;
            queue.outranked = false;
        }
        const std::uint32_t work = below(20) + 1;
        queue.left += work;
        queue.submitted += work;
    }
    [[nodiscard]] std::vector<JobView> views() const {
        std::vector<JobView> all;
        for (const Queue& queue : queues_)
            all.push_back(view(all.size() + 1, queue.device, queue.priority, queue.left > 0));
        return all;
    }
    void check() {
        const auto all = views();
        verdicts_ = decide(all);
        EXPECT_EQ(verdicts_, decide(all)); // nothing remembered
        std::map<std::uint64_t, std::int32_t> highest;
        for (const JobView& view : all)
            if (view.ready)
                highest[view.nodes] = highest.count(view.nodes) != 0
                                          ? std::max(highest[view.nodes], view.priority)
                                          : view.priority;
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (all[i].ready) {
                const bool top = all[i].priority == highest[all[i].nodes];
                EXPECT_EQ(top, verdicts_[i] == Verdict::run);
                queues_[i].outranked |= !top;
            } else {
                EXPECT_EQ(Verdict::run, verdicts_[i]) << "an idle one is stopped";
            }
            // Jobs on other devices don't change the verdict.
            std::vector<JobView> alone;
            for (const JobView& view : all)
                if (view.nodes == all[i].nodes)
                    alone.push_back(view);
            const auto first = std::ranges::find(all, all[i].nodes, &JobView::nodes);
            EXPECT_EQ(verdicts_[i],
                      decide(alone)[i - static_cast<std::size_t>(first - all.begin())]);
        }
    }
    // Decisions are made at each completion, as the scheduler's events are.
    void advance(std::uint32_t time) {
        for (; time > 0; --time) {
            ++now_;
            bool completed = false;
            for (std::size_t i = 0; i < queues_.size(); ++i) {
                Queue& queue = queues_[i];
                if (queue.left == 0 || verdicts_[i] == Verdict::hold || --queue.left > 0)
                    continue;
                completed = true;
                if (!queue.outranked) {
                    EXPECT_EQ(queue.submitted, now_ - queue.ready_since) << "not as if alone";
                }
            }
            if (completed)
                check();
        }
    }
    // No work is lost, and no device idles while it has work.
    void drain() {
        std::uint64_t bound = 0;
        for (const Queue& queue : queues_)
            bound += queue.left;
        check();
        for (std::uint64_t time = 0; time < bound; ++time)
            advance(1);
        for (const Queue& queue : queues_)
            EXPECT_EQ(0U, queue.left);
    }

    std::mt19937 random_;
    std::vector<Queue> queues_;
    std::vector<Verdict> verdicts_;
    std::uint64_t now_ = 0;
};

TEST(PrioritySimulation, the_highest_of_each_device_runs_and_everything_ends) {
    const char* given = std::getenv("SIM_SEED");
    const std::uint32_t first = given != nullptr ? static_cast<std::uint32_t>(std::atol(given)) : 1;
    const std::uint32_t last = given != nullptr ? first : 300;
    for (std::uint32_t seed = first; seed <= last && !HasFailure(); ++seed) {
        SCOPED_TRACE("SIM_SEED=" + std::to_string(seed));
        Simulation(seed).run();
    }
}

TEST(PrioritySimulation, a_high_priority_takes_exactly_its_own_time) {
    // The low one works all along; the high one comes and goes.
    std::vector<JobView> views{view(1, 0, 0, true), view(2, 0, 5, false), view(3, 1, -7, true)};
    EXPECT_EQ((std::vector{Verdict::run, Verdict::run, Verdict::run}), decide(views));
    views[1].ready = true;
    EXPECT_EQ((std::vector{Verdict::hold, Verdict::run, Verdict::run}), decide(views));
    views[1].ready = false;
    EXPECT_EQ((std::vector{Verdict::run, Verdict::run, Verdict::run}), decide(views));
}

} // namespace
