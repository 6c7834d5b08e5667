// SPDX-License-Identifier: MIT
// When the simulated daemon learns of work, and what stops cost whom.
#include "sim_jobs.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace {

using namespace sim_test;

JobSpec service(double rate, Time kernel) {
    JobSpec job = closed_job("service", kernel);
    job.band = sched::Band::high;
    job.arrival = Arrival::periodic;
    job.rate = rate;
    return job;
}

JobSpec batch() {
    JobSpec job = closed_job("batch", 50 * ms);
    job.band = sched::Band::idle;
    return job;
}

RunResult under_band(const Scenario& scenario) {
    return simulate(scenario, {.policy = "BAND"});
}

TEST(SimScheduler, WithoutCostsARequestRunsAsAlone) {
    const Scenario scenario = plain_scenario({service(20, 3 * ms), batch()}, 10 * second);
    const auto result = under_band(scenario);
    EXPECT_EQ(std::ranges::max(result.jobs[0].record.latencies), 3 * ms);
    EXPECT_EQ(result.jobs[0].preemptions, result.jobs[0].record.arrived);
}

TEST(SimScheduler, ARequestSharesTheGpuUntilTheStop) {
    Scenario scenario = plain_scenario({service(20, 3 * ms), batch()}, 10 * second);
    scenario.gpu.trap_p50 = scenario.gpu.trap_p99 = 40 * us;
    scenario.gpu.ioctl = 10 * us;
    scenario.gpu.remap = 100 * us;
    const auto result = under_band(scenario);
    // Half as fast for 50 us, then 100 us of nothing.
    EXPECT_EQ(std::ranges::max(result.jobs[0].record.latencies), 3 * ms + 25 * us + 100 * us);
}

TEST(SimScheduler, WorkThatComesBeforeThePollIsNoNewRequest) {
    // Idle for 200 us after kernels of 800 us; polls come 100 us after each kernel has begun, and
    // once there was a scan, which comes each 100 ms, 500 us after.
    Scenario scenario = plain_scenario({service(1000, 800 * us), batch()}, 1 * second);
    scenario.jobs[0].start = 500 * us;
    scenario.policies.bands.floor_percent = 0;
    scenario.gpu.trap_p50 = scenario.gpu.trap_p99 = 100 * us;
    scenario.gpu.hurried_poll = 1 * ms;
    EXPECT_EQ(under_band(scenario).jobs[0].edges, 1U);
    // With polls in each gap, each request is one.
    scenario.gpu.hurried_poll = scenario.gpu.calm_poll = 50 * us;
    EXPECT_EQ(under_band(scenario).jobs[0].edges, 1000U);
}

TEST(SimScheduler, TheGraceKeepsABatchJobOutOfGaps) {
    Scenario scenario = plain_scenario({service(100, 5 * ms), batch()}, 2 * second);
    scenario.policies.bands.floor_percent = 0;
    scenario.policies.bands.resume_grace = std::chrono::milliseconds{20};
    EXPECT_EQ(under_band(scenario).jobs[1].stops, 1U);
    scenario.policies.bands.resume_grace = std::chrono::milliseconds{0};
    EXPECT_EQ(under_band(scenario).jobs[1].stops, 200U);
}

TEST(SimScheduler, TheGraceIsNoShorterThanFiveSwitches) {
    Scenario scenario = plain_scenario({service(100, 5 * ms), batch()}, 2 * second);
    scenario.policies.bands.floor_percent = 0;
    scenario.policies.bands.resume_grace = std::chrono::milliseconds{0};
    scenario.gpu.ioctl = 600 * us; // twice, five times: 6 ms, and the gaps are shorter
    EXPECT_LE(under_band(scenario).jobs[1].stops, 3U);
    scenario.gpu.measure_switches = false;
    EXPECT_EQ(under_band(scenario).jobs[1].stops, 200U);
}

TEST(SimScheduler, AnAnnouncementStopsTheBatchBeforeTheWorkComes) {
    Scenario scenario = plain_scenario({service(20, 3 * ms), batch()}, 10 * second);
    scenario.gpu = GpuModel{};
    scenario.gpu.capacity = 1;
    scenario.jobs[0].announce = 500 * us;
    const auto result = under_band(scenario);
    EXPECT_EQ(std::ranges::max(result.jobs[0].record.latencies), 3 * ms);
}

TEST(SimScheduler, AJobOnTwoNodesIsStoppedByOneChange) {
    Scenario scenario = plain_scenario({service(20, 3 * ms), batch()}, 1 * second);
    scenario.gpu.nodes = 2;
    scenario.jobs[1].nodes = 3;
    const auto result = simulate(scenario, {.policy = "BAND", .keep_calls = true});
    ASSERT_FALSE(result.calls.empty());
    for (const ModelProvider::Call& call : result.calls)
        EXPECT_EQ(call.changes.size(), 1U);
    EXPECT_EQ(result.jobs[0].preemptions, result.jobs[0].record.arrived);
}

TEST(SimScheduler, ArrivalsAreTheSameUnderEveryPolicy) {
    const Scenario scenario = plain_scenario({poisson_job("a", 50, 3 * ms), batch()}, 20 * second);
    const auto arrived = simulate(scenario, {}).jobs[0].record.arrived;
    for (const std::string_view name : sched::policy_names)
        EXPECT_EQ(simulate(scenario, {.policy = std::string(name)}).jobs[0].record.arrived, arrived)
            << name;
}

TEST(SimServer, TokensTakeTheirStepsAndGaps) {
    JobSpec job = closed_job("server", 1 * ms);
    job.arrival = Arrival::trace;
    job.trace = {{0, 0, 100, 11}};
    job.serving.enabled = true;
    job.serving.prefill = 5 * ms;
    job.serving.prefill_token = 50 * us;
    job.serving.decode = 15 * ms;
    job.serving.decode_request = 100 * us;
    job.serving.bubble = 500 * us;
    const auto result = simulate(plain_scenario({job}, 10 * second), {});
    const Record& record = result.jobs[0].record;
    ASSERT_EQ(record.ended, 1U);
    EXPECT_EQ(record.first_tokens[0], 10 * ms);
    EXPECT_EQ(record.token_times[0], 15 * ms + 100 * us + 500 * us);
    EXPECT_EQ(record.latencies[0], 10 * ms + 10 * record.token_times[0]);
}

TEST(SimServer, RequestsShareAStep) {
    JobSpec job = closed_job("server", 1 * ms);
    job.arrival = Arrival::trace;
    job.trace = {{0, 0, 100, 11}, {0, 0, 100, 11}};
    job.serving.enabled = true;
    job.serving.bubble = 0;
    job.serving.prefill_token = 0;
    const auto result = simulate(plain_scenario({job}, 10 * second), {});
    const Record& record = result.jobs[0].record;
    ASSERT_EQ(record.ended, 2U);
    EXPECT_EQ(record.first_tokens[1], 2 * job.serving.prefill);
    EXPECT_EQ(record.token_times[1], job.serving.decode + 2 * job.serving.decode_request);
}

} // namespace
