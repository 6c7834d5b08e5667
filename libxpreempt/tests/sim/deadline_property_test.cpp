// SPDX-License-Identifier: MIT
// Properties of K-EDF: order, deadlines that are met, and how many run at once.
#include "sim/properties.hpp"

#include <array>
#include <tuple>

namespace {

using namespace test;
using xpreempt::sched::EarliestDeadlineFirst;

constexpr Duration least_period = 1ms;
constexpr EarliestDeadlineFirst::Parameters no_linger{.k = 1, .linger = 0ns};

// By the definition: a period after the other.
Time deadline_of(const JobView& job, Time now) {
    if (job.relative_deadline == endless)
        return job.deadline;
    Time renewed = job.ready_since + job.relative_deadline;
    while (renewed <= now)
        renewed += std::max(job.relative_deadline, least_period);
    return std::min(job.deadline, renewed);
}

// The jobs that should run: from the earliest deadline on, at most k on a node.
std::vector<bool> earliest(const RandomRun& run, std::size_t count, std::uint32_t k) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < count; ++i)
        if (run.job(i).view.schedulable())
            order.push_back(i);
    std::ranges::sort(order, {}, [&](std::size_t i) {
        const JobView& job = run.job(i).view;
        return std::tuple(deadline_of(job, run.jobs.now), job.ready_since, job.id);
    });
    std::array<std::uint32_t, 8> running{};
    std::vector<bool> run_now(count, false);
    for (const std::size_t i : order) {
        const std::uint64_t nodes = run.job(i).view.nodes;
        bool free = true;
        for (std::size_t node = 0; node < running.size(); ++node)
            free &= (nodes >> node & 1U) == 0 || running.at(node) < k;
        run_now[i] = free;
        for (std::size_t node = 0; node < running.size() && free; ++node)
            running.at(node) += nodes >> node & 1U;
    }
    return run_now;
}

void expect_earliest(std::uint32_t k) {
    EarliestDeadlineFirst::Parameters parameters = no_linger;
    parameters.k = k;
    for_events(
        EarliestDeadlineFirst(parameters), {},
        [&](RandomRun& run, const auto& verdicts) {
            const std::vector<bool> expected = earliest(run, verdicts.size(), k);
            for (std::size_t i = 0; i < verdicts.size(); ++i)
                EXPECT_EQ(expected[i], runs_after(run.job(i).view, verdicts[i]))
                    << "job " << run.job(i).view.id;
        },
        [](const RandomRun& run) {
            EXPECT_LE(run.preemptions_by_timer,
                      9U * (1U + static_cast<unsigned>(run.elapsed() / least_period)));
        });
}

TEST(PropertiesOfKEdf, exactly_the_earliest_deadline_of_each_node_runs) {
    expect_earliest(1);
}

TEST(PropertiesOfKEdf, exactly_the_two_earliest_deadlines_of_each_node_run) {
    expect_earliest(2);
}

// Periodic tasks, each with its whole period as deadline.
struct Task {
    std::uint64_t id;
    Duration period, work;
    Time release{};
};

// Random tasks with a utilization of `load` together.
std::vector<Task> random_tasks(VirtualJobs& jobs, double load) {
    std::vector<Task> tasks(2 + jobs.below(5));
    double sum = 0;
    std::vector<double> parts;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        parts.push_back(0.02 + jobs.below(1000) / 1000.0);
        sum += parts.back();
    }
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        Task& task = tasks[i];
        task.id = 100 - i;
        task.period = Duration{2'000'000 + jobs.below(48'000'000)};
        const double part = load * parts[i] / sum;
        task.work =
            Duration{static_cast<std::int64_t>(static_cast<double>(task.period.count()) * part)};
        task.work = std::max(task.work, Duration{1});
        task.release = jobs.now + Duration{jobs.below(20'000'000)};
        jobs.add(task.id).view.relative_deadline = task.period;
    }
    return tasks;
}

// Releases requests for `time`; returns how many weren't over at their deadlines.
int missed_deadlines(VirtualJobs& jobs, std::vector<Task>& tasks, Duration time) {
    int missed = 0;
    const Time end = jobs.now + time;
    while (jobs.now < end && !::testing::Test::HasFailure()) {
        const Time next = std::ranges::min_element(tasks, {}, &Task::release)->release;
        jobs.advance(next - jobs.now);
        for (Task& task : tasks)
            if (task.release == jobs.now) {
                missed += jobs.of(task.id).view.ready ? 1 : 0;
                jobs.work(jobs.of(task.id), task.work);
                task.release += task.period;
            }
        jobs.decide();
    }
    return missed;
}

// EDF is optimal on one preemptive processor: tasks of up to 100 % are feasible.
TEST(PropertiesOfKEdf, all_deadlines_are_met_that_can_be) {
    std::uint64_t decisions = 0;
    for (std::uint32_t seed = property_options.seed;
         decisions < property_options.events && !HasFailure(); ++seed) {
        SCOPED_TRACE("--seed " + std::to_string(seed));
        VirtualJobs jobs(EarliestDeadlineFirst(no_linger), seed);
        std::vector<Task> tasks = random_tasks(jobs, seed % 4 == 0 ? 0.7 : 1.0);
        EXPECT_EQ(0, missed_deadlines(jobs, tasks, 500ms));
        decisions += jobs.record.size() / 2;
    }
}

// The test above notices: it can't be met by the order of arrival.
TEST(PropertiesOfKEdf, deadlines_are_missed_by_other_policies) {
    for (const char* name : {"FIFO", "RR", "CFS"}) {
        int missed = 0;
        for (std::uint32_t seed = 1; seed <= 10; ++seed) {
            VirtualJobs jobs(policy_named(name).value(), seed);
            std::vector<Task> tasks = random_tasks(jobs, 1.0);
            missed += missed_deadlines(jobs, tasks, 500ms);
        }
        EXPECT_GT(missed, 0) << name;
    }
}

// Under overload the deadline of a job that is never idle must move, or it would never wait again.
TEST(PropertiesOfKEdf, jobs_that_are_never_idle_share_by_new_periods) {
    VirtualJobs jobs{EarliestDeadlineFirst(no_linger)};
    for (const std::uint64_t id : {1U, 2U})
        jobs.work(jobs.add(id), endless);
    jobs.of(1).view.relative_deadline = 10ms;
    jobs.of(2).view.relative_deadline = 25ms;
    jobs.decide();
    jobs.advance(1s);
    EXPECT_GE(jobs.of(1).ran, 100ms);
    EXPECT_GE(jobs.of(2).ran, 100ms);
    EXPECT_EQ(1s, jobs.of(1).ran + jobs.of(2).ran);
}

TEST(PropertiesOfKEdf, jobs_without_a_deadline_come_last_in_the_order_of_arrival) {
    VirtualJobs jobs{EarliestDeadlineFirst(no_linger)};
    for (const std::uint64_t id : {3U, 2U, 1U}) {
        jobs.work(jobs.add(id), 10ms);
        jobs.decide();
        jobs.advance(1ms);
    }
    EXPECT_TRUE(jobs.of(3).runs());
    jobs.work(jobs.add(4), 1ms);
    jobs.of(4).view.deadline = jobs.now + 1h;
    jobs.decide();
    EXPECT_TRUE(jobs.of(4).runs());
    jobs.advance(1ms + 7ms);
    EXPECT_TRUE(jobs.of(2).runs());
    EXPECT_TRUE(jobs.of(1).view.held);
}

} // namespace
