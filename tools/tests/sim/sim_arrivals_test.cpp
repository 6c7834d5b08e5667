// SPDX-License-Identifier: MIT
// Arrivals and requests: rates, spreads, bursts, queues of a job.
#include "sim_jobs.hpp"

#include "kfd-preempt-sim/model/agenda.hpp"
#include "kfd-preempt-sim/model/arrivals.hpp"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>

namespace {

using namespace sim_test;

JobSpec arriving(Arrival arrival, double rate) {
    JobSpec job = closed_job("a", 1 * ms);
    job.arrival = arrival;
    job.rate = rate;
    return job;
}

std::vector<double> intervals_of(const JobSpec& spec, int count) {
    Arrivals arrivals(spec, 1);
    std::vector<double> intervals;
    Time last = arrivals.take().at;
    for (int i = 0; i < count; ++i) {
        const Time at = arrivals.take().at;
        intervals.push_back(static_cast<double>(at - last));
        last = at;
    }
    return intervals;
}

struct Moments {
    double mean = 0, variation = 0; // standard deviation over mean
};

Moments moments_of(const std::vector<double>& values) {
    double sum = 0, squares = 0;
    for (const double value : values) {
        sum += value;
        squares += value * value;
    }
    const auto count = static_cast<double>(values.size());
    const double mean = sum / count;
    return {mean, std::sqrt(squares / count - mean * mean) / mean};
}

TEST(SimArrivals, PeriodicOnesAreExact) {
    const auto intervals = intervals_of(arriving(Arrival::periodic, 100), 1000);
    EXPECT_TRUE(std::ranges::all_of(intervals, [](double of) { return of == 10 * ms; }));
}

TEST(SimArrivals, JitterMovesButDoesNotAddUp) {
    JobSpec spec = arriving(Arrival::periodic, 100);
    spec.jitter = 0.5;
    const Moments moments = moments_of(intervals_of(spec, 20000));
    EXPECT_NEAR(moments.mean, 10 * ms, 0.001 * 10 * ms);
    EXPECT_NEAR(moments.variation, 0.5 / std::sqrt(6), 0.01);
}

TEST(SimArrivals, PoissonOnesHaveTheirRateAndVariation) {
    const Moments moments = moments_of(intervals_of(arriving(Arrival::poisson, 100), 100000));
    EXPECT_NEAR(moments.mean, 10 * ms, 0.02 * 10 * ms);
    EXPECT_NEAR(moments.variation, 1, 0.02);
}

TEST(SimArrivals, GammaOnesHaveTheirRateAndVariation) {
    for (const double shape : {0.25, 0.8, 4.0}) {
        JobSpec spec = arriving(Arrival::gamma, 100);
        spec.shape = shape;
        const Moments moments = moments_of(intervals_of(spec, 200000));
        EXPECT_NEAR(moments.mean, 10 * ms, 0.03 * 10 * ms) << shape;
        EXPECT_NEAR(moments.variation, 1 / std::sqrt(shape), 0.03 / std::sqrt(shape)) << shape;
    }
}

TEST(SimArrivals, BurstsHaveTheirSpacing) {
    JobSpec spec = arriving(Arrival::bursts, 10);
    spec.burst = 3;
    spec.spacing = 2 * ms;
    const std::vector<double> expected{2 * ms, 2 * ms, 96 * ms, 2 * ms, 2 * ms, 96 * ms};
    EXPECT_EQ(intervals_of(spec, 6), expected);
}

TEST(SimArrivals, LognormalWorkKeepsItsMean) {
    JobSpec spec = arriving(Arrival::closed, 1);
    spec.kernels = 10;
    spec.sigma = 0.8;
    Arrivals arrivals(spec, 1);
    std::vector<double> works;
    for (int i = 0; i < 20000; ++i)
        works.push_back(arrivals.draw_request());
    const Moments moments = moments_of(works);
    EXPECT_NEAR(moments.mean, 10.0 * ms, 0.02 * 10 * ms);
    EXPECT_NEAR(moments.variation, std::sqrt((std::exp(0.64) - 1) / 10), 0.02);
}

TEST(SimArrivals, JobsDrawNumbersOfTheirOwn) {
    JobSpec other = arriving(Arrival::poisson, 100);
    other.name = "b";
    EXPECT_NE(intervals_of(arriving(Arrival::poisson, 100), 10), intervals_of(other, 10));
}

TEST(SimRequests, GapsOfTheHostAreBetweenKernels) {
    JobSpec spec = arriving(Arrival::periodic, 10);
    spec.kernels = 5;
    spec.gap = 3 * ms;
    const auto result = simulate(plain_scenario({spec}, 2 * second), {});
    EXPECT_EQ(std::ranges::min(result.jobs[0].record.latencies), 5 * ms + 4 * 3 * ms);
    EXPECT_EQ(std::ranges::max(result.jobs[0].record.latencies), 5 * ms + 4 * 3 * ms);
}

TEST(SimRequests, AClosedLoopThinksBetweenRequests) {
    JobSpec spec = closed_job("a", 2 * ms);
    spec.think = 8 * ms;
    const auto result = simulate(plain_scenario({spec}, 10 * second), {});
    EXPECT_EQ(result.jobs[0].record.ended, 1000U);
    EXPECT_NEAR(share(result, 0), 0.2, 0.001);
}

TEST(SimRequests, QueueUnlessOnlyTheNewestCounts) {
    JobSpec spec = arriving(Arrival::trace, 1);
    spec.trace = {{0, 10 * ms, 0, 0}, {1 * ms, 1 * ms, 0, 0}, {2 * ms, 2 * ms, 0, 0}};
    const auto queued = simulate(plain_scenario({spec}, 1 * second), {}).jobs[0].record;
    EXPECT_EQ(queued.latencies, (std::vector<Time>{10 * ms, 10 * ms, 11 * ms}));
    spec.newest = true;
    const auto newest = simulate(plain_scenario({spec}, 1 * second), {}).jobs[0].record;
    EXPECT_EQ(newest.latencies, (std::vector<Time>{10 * ms, 2 * ms}));
    EXPECT_EQ(newest.replaced, 1U);
}

TEST(SimRequests, OfTheWarmupAreNotCounted) {
    Scenario scenario = plain_scenario({arriving(Arrival::periodic, 10)}, 10 * second);
    scenario.warmup = 5 * second;
    const auto result = simulate(scenario, {});
    EXPECT_EQ(result.measured, 5 * second);
    EXPECT_EQ(result.jobs[0].record.ended, 50U);
    EXPECT_NEAR(share(result, 0), 0.01, 1e-6);
}

TEST(SimRequests, ThatBeganInTheWarmupAreNotCounted) {
    JobSpec spec = arriving(Arrival::trace, 1);
    spec.trace = {{0, 2 * second, 0, 0}, {3 * second, 1 * second, 0, 0}};
    Scenario scenario = plain_scenario({spec}, 5 * second);
    scenario.warmup = 1 * second;
    const auto result = simulate(scenario, {});
    EXPECT_EQ(result.jobs[0].record.latencies, std::vector<Time>{1 * second});
    EXPECT_NEAR(share(result, 0), 0.5, 1e-6);
}

TEST(SimMeasures, PercentilesAreOfTheNearestRank) {
    JobResult job;
    for (int i = 200; i > 0; --i)
        job.record.latencies.push_back(i * ms);
    job.record.ended = 200;
    const Measures measures = measure(job, 10 * second);
    EXPECT_EQ(measures.p50, 100);
    EXPECT_EQ(measures.p99, 198);
    EXPECT_EQ(measures.max, 200);
    EXPECT_EQ(measures.mean, 100.5);
    EXPECT_EQ(measures.rate, 20);
}

TEST(SimAgenda, GivesTheEarliestAndTheLowerSlotOfEqualTimes) {
    Agenda agenda(3);
    agenda.set(2, 5);
    EXPECT_EQ(agenda.first(), 2U);
    agenda.set(1, 5);
    EXPECT_EQ(agenda.first(), 1U);
    agenda.set(1, 9);
    EXPECT_EQ(agenda.first(), 2U);
    agenda.set(0, 4);
    EXPECT_EQ(agenda.first(), 0U);
    agenda.set(0, never);
    agenda.set(2, never);
    EXPECT_EQ(agenda.first(), 1U);
}

} // namespace
