// SPDX-License-Identifier: MIT
// The GPU model against closed forms and against costs that are known to the nanosecond.
#include "sim_jobs.hpp"

#include "kfd-preempt-sim/model/gpu.hpp"

#include <gtest/gtest.h>

namespace {

using namespace sim_test;

TEST(SimModel, MeanWaitOfAQueueIsThatOfPollaczekAndKhinchine) {
    const auto result =
        simulate(plain_scenario({poisson_job("a", 700, 1 * ms)}, 1000 * second), {});
    const double load = 0.7;
    const double expected = load / (2 * (1 - load)) * ms;
    const double wait = mean(result.jobs[0].record.latencies) - 1 * ms;
    EXPECT_NEAR(wait, expected, 0.03 * expected);
}

TEST(SimModel, ProcessorSharingHasTheMeanOfTheClosedForm) {
    JobSpec job = poisson_job("a", 600, 1 * ms);
    job.exponential = true;
    job.streams = 2000;
    const auto result = simulate(plain_scenario({job}, 1000 * second), {});
    const double expected = 1.0 * ms / (1 - 0.6);
    EXPECT_NEAR(mean(result.jobs[0].record.latencies), expected, 0.03 * expected);
}

TEST(SimModel, JobsThatRunTogetherShareTheCapacity) {
    Scenario scenario =
        plain_scenario({closed_job("a", 1 * ms), closed_job("b", 3 * ms)}, 3 * second);
    scenario.gpu.capacity = 1.2;
    const auto result = simulate(scenario, {});
    EXPECT_NEAR(share(result, 0), 0.6, 0.001);
    EXPECT_NEAR(share(result, 1), 0.6, 0.001);
}

TEST(SimModel, JobsThatFitTogetherRunAtFullSpeed) {
    Scenario scenario =
        plain_scenario({closed_job("a", 1 * ms), closed_job("b", 3 * ms)}, 3 * second);
    scenario.jobs[0].demand = 0.25;
    scenario.jobs[1].demand = 0.75;
    const auto result = simulate(scenario, {});
    EXPECT_NEAR(share(result, 0), 1, 0.001);
    EXPECT_NEAR(share(result, 1), 1, 0.001);
}

TEST(SimModel, RoundRobinGivesEqualShares) {
    const Scenario scenario = plain_scenario(
        {closed_job("a", 1 * ms), closed_job("b", 7 * ms), closed_job("c", 30 * ms)}, 30 * second);
    const auto result = simulate(scenario, {.policy = "RR"});
    for (std::size_t job = 0; job < 3; ++job)
        EXPECT_NEAR(share(result, job), 1.0 / 3, 0.01) << job;
}

TEST(SimModel, FairSharesFollowTheWeights) {
    Scenario scenario =
        plain_scenario({closed_job("a", 1 * ms), closed_job("b", 7 * ms)}, 30 * second);
    scenario.jobs[0].weight = 300;
    const auto result = simulate(scenario, {.policy = "CFS"});
    EXPECT_NEAR(share(result, 0), 0.75, 0.02);
    EXPECT_NEAR(share(result, 1), 0.25, 0.02);
}

// When the next kernel of the job ends.
Time end_of(Gpu& gpu, std::size_t job) {
    for (Time now = 0; gpu.next() != never;) {
        now = gpu.next();
        gpu.on_time(now);
        if (gpu.done() != nullptr && gpu.done()->job == job)
            return now;
    }
    return never;
}

class SimStop : public testing::Test {
protected:
    SimStop() {
        model_.capacity = 2;
        model_.ioctl = 5 * us;
        model_.remap = 12 * us;
        model_.dequeue = 10 * us;
        jobs_ = {closed_job("stays", 1 * ms), closed_job("stops", 1 * ms)};
        jobs_[0].occupancy = 0.5;
        jobs_[1].occupancy = 0.25;
    }
    GpuModel model_;
    std::vector<JobSpec> jobs_;
};

TEST_F(SimStop, UnderHwsCostsOthersTheSaveOfAllAndTheirOwnRestore) {
    Gpu gpu(model_, jobs_);
    gpu.submit(0, 0, 1 * ms, 0);
    gpu.submit(1, 0, 1 * ms, 0);
    const std::vector<Gpu::Change> stop{{1, true}};
    gpu.begin_call(stop, 100 * us);
    EXPECT_EQ(end_of(gpu, 0), 1 * ms + model_.remap + gpu.save_time(0.75) + gpu.save_time(0.5));
    EXPECT_TRUE(gpu.is_held(1));
    EXPECT_FALSE(gpu.in_call());
}

TEST_F(SimStop, WithItsResumeCostsTheJobItsOwnRestore) {
    Gpu gpu(model_, jobs_);
    gpu.submit(0, 0, 1 * ms, 0);
    gpu.submit(1, 0, 1 * ms, 0);
    const std::vector<Gpu::Change> stop{{1, true}}, resume{{1, false}};
    gpu.begin_call(stop, 100 * us);
    ASSERT_NE(end_of(gpu, 0), never);
    gpu.begin_call(resume, 5 * ms);
    // It ran until the packets were sent; the other one has no waves any more.
    const Time left = 1 * ms - (100 * us + model_.ioctl);
    EXPECT_EQ(end_of(gpu, 1), 5 * ms + model_.ioctl + model_.remap + gpu.save_time(0.25) + left);
}

TEST_F(SimStop, OfAJobWithoutWavesNeedsNoRestore) {
    Gpu gpu(model_, jobs_);
    gpu.submit(0, 0, 1 * ms, 0);
    gpu.submit(1, 0, 1 * ms, 0);
    const std::vector<Gpu::Change> stop_other{{1, true}}, stop{{0, true}}, resume{{0, false}};
    gpu.begin_call(stop_other, 100 * us); // saves and restores the waves of job 0
    ASSERT_NE(end_of(gpu, 0), never);
    gpu.begin_call(stop, 5 * ms);
    EXPECT_EQ(end_of(gpu, 0), never);
    gpu.submit(0, 0, 1 * ms, 10 * ms);
    gpu.begin_call(resume, 10 * ms);
    EXPECT_EQ(end_of(gpu, 0), 10 * ms + model_.ioctl + model_.remap + 1 * ms);
}

TEST_F(SimStop, WithoutHwsCostsOthersNothing) {
    model_.hws = false;
    Gpu gpu(model_, jobs_);
    gpu.submit(0, 0, 1 * ms, 0);
    gpu.submit(1, 0, 1 * ms, 0);
    const std::vector<Gpu::Change> stop{{1, true}}, resume{{1, false}};
    gpu.begin_call(stop, 100 * us);
    EXPECT_EQ(end_of(gpu, 0), 1 * ms);
    gpu.begin_call(resume, 5 * ms);
    const Time left = 1 * ms - (100 * us + model_.ioctl);
    EXPECT_EQ(end_of(gpu, 1), 5 * ms + model_.ioctl + model_.dequeue + gpu.save_time(0.25) + left);
}

TEST_F(SimStop, OfOneNodeLeavesTheOthersAlone) {
    model_.nodes = 2;
    jobs_[0].nodes = 2;
    Gpu gpu(model_, jobs_);
    gpu.submit(0, 0, 1 * ms, 0);
    gpu.submit(1, 0, 1 * ms, 0);
    const std::vector<Gpu::Change> stop{{1, true}};
    gpu.begin_call(stop, 100 * us);
    EXPECT_EQ(end_of(gpu, 0), 1 * ms);
}

TEST_F(SimStop, OfANeighbourOnOneNodeStallsTheWholeGang) {
    model_.nodes = 2;
    jobs_[0].nodes = 3;
    Gpu gpu(model_, jobs_);
    gpu.submit(0, 0, 1 * ms, 0);
    gpu.submit(1, 0, 1 * ms, 0);
    const std::vector<Gpu::Change> stop{{1, true}};
    gpu.begin_call(stop, 100 * us);
    EXPECT_EQ(end_of(gpu, 0), 1 * ms + model_.remap + gpu.save_time(0.75) + gpu.save_time(0.5));
}

TEST(SimRunlist, JobsThatDoNotFitIntoTheSlotsTakeTurns) {
    Scenario scenario = plain_scenario(
        {closed_job("a", 3 * ms), closed_job("b", 3 * ms), closed_job("c", 3 * ms)}, 30 * second);
    for (JobSpec& job : scenario.jobs)
        job.queues = 16;
    const auto result = simulate(scenario, {});
    for (std::size_t job = 0; job < 3; ++job) {
        EXPECT_NEAR(share(result, job), 1.0 / 3, 0.01) << job;
        EXPECT_EQ(result.jobs[job].longest_wait, 2 * scenario.gpu.quantum) << job;
    }
}

TEST(SimRunlist, JobsThatFitRunTogether) {
    Scenario scenario = plain_scenario(
        {closed_job("a", 3 * ms), closed_job("b", 3 * ms), closed_job("c", 3 * ms)}, 3 * second);
    for (JobSpec& job : scenario.jobs)
        job.queues = 8;
    const auto result = simulate(scenario, {});
    for (std::size_t job = 0; job < 3; ++job)
        EXPECT_EQ(result.jobs[job].longest_wait, 0) << job;
}

TEST(SimRunlist, MoreProcessesThanVmidsTakeTurns) {
    Scenario scenario = plain_scenario({}, 3 * second);
    for (int i = 0; i < 9; ++i) {
        scenario.jobs.push_back(closed_job("job" + std::to_string(i), 3 * ms));
        scenario.jobs.back().queues = 1;
    }
    const auto result = simulate(scenario, {});
    EXPECT_GT(result.jobs[8].longest_wait, 0);
    scenario.jobs.pop_back();
    EXPECT_EQ(simulate(scenario, {}).jobs[7].longest_wait, 0);
}

TEST(SimRunlist, ATurnCostsTheSaveOfOneAndTheRestoreOfTheOther) {
    Scenario scenario =
        plain_scenario({closed_job("a", 1 * ms), closed_job("b", 1 * ms)}, 30 * second);
    scenario.gpu = GpuModel{};
    scenario.gpu.processes = 1;
    const auto result = simulate(scenario, {});
    const Gpu gpu(scenario.gpu, scenario.jobs);
    const auto turn = static_cast<double>(scenario.gpu.quantum);
    const double cost = static_cast<double>(scenario.gpu.remap + 2 * gpu.save_time(1));
    EXPECT_NEAR(share(result, 0) + share(result, 1), turn / (turn + cost), 0.001);
}

} // namespace
