// SPDX-License-Identifier: MIT
// How long a suspend waits for what was launched, and what keeping that short costs, in virtual
// time.
#include "preemption_run.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace {

using bench::DeviceCosts;
using bench::PreemptionRun;
using bench::run_preemptions;
using xpreempt::xqueue::LaunchConfig;

constexpr std::uint64_t us = 1000;
constexpr std::size_t samples = 100;
constexpr LaunchConfig adaptive{16, 8, 65536, 40 * us};
constexpr LaunchConfig fixed{8, 4, 65536, 0};

std::uint64_t at_percent(std::vector<std::uint64_t> values, std::size_t percent) {
    std::ranges::sort(values);
    return values[values.size() * percent / 100];
}
std::uint64_t p99(const std::vector<std::uint64_t>& values) {
    return at_percent(values, 99);
}

class PreemptionTest : public ::testing::TestWithParam<std::uint64_t> {
protected:
    PreemptionRun run(const LaunchConfig& config) const {
        return run_preemptions({.command_ns = GetParam() * us}, config, 4711, samples);
    }
};

TEST_P(PreemptionTest, the_adaptive_threshold_keeps_latency_and_overhead_low) {
    const PreemptionRun measured = run(adaptive);
    const std::uint64_t command_ns = GetParam() * us + DeviceCosts{}.marker_ns;
    // The second command is launched so long before the end of the first.
    const std::uint64_t lead_ns = std::max(20 * us, command_ns / 8);
    // A twentieth of a command for the launch and the thread that polls.
    EXPECT_LE(at_percent(measured.latencies_ns, 90), command_ns + lead_ns + command_ns / 20);
    // Two commands, where the thread was woken too late for that now and then.
    EXPECT_LE(p99(measured.latencies_ns), 22 * command_ns / 10);
    if (GetParam() >= 100) {
        EXPECT_LE(at_percent(measured.latencies_ns, 50), 8 * command_ns / 10);
    }
    EXPECT_LE(measured.overhead, 0.02);
    EXPECT_GE(measured.overhead, 0.0);
    EXPECT_EQ(2U, measured.threshold);
    EXPECT_NEAR(static_cast<double>(GetParam() * us), static_cast<double>(measured.command_ns),
                0.05 * static_cast<double>(GetParam() * us));
}

INSTANTIATE_TEST_SUITE_P(command_us, PreemptionTest,
                         ::testing::Values(20, 50, 100, 200, 500, 1000, 2000),
                         [](const auto& parameter) { return std::to_string(parameter.param); });

TEST(Preemption, a_fixed_threshold_waits_for_all_that_is_in_flight) {
    const PreemptionRun measured = run_preemptions({.command_ns = 100 * us}, fixed, 4711, samples);
    EXPECT_GT(p99(measured.latencies_ns), 700 * us);
    EXPECT_LE(p99(measured.latencies_ns), 850 * us);
}

TEST(Preemption, short_commands_keep_the_budget_with_more_in_flight) {
    const PreemptionRun measured = run_preemptions({.command_ns = 5 * us}, adaptive, 4711, samples);
    EXPECT_GT(measured.threshold, 5U);
    EXPECT_LE(p99(measured.latencies_ns), 45 * us); // waking up comes on top
    EXPECT_LE(measured.overhead, 0.03);
}

TEST(Preemption, hardware_that_would_run_dry_gets_more_whatever_the_budget) {
    // It takes longer than a command to notice the end of one: with two in flight half of the time
    // would be lost.
    const PreemptionRun measured =
        run_preemptions({.command_ns = 20 * us, .poll_ns = 50 * us}, {16, 8, 65536, 1}, 4711, 20);
    EXPECT_GT(measured.threshold, 3U);
    EXPECT_LE(measured.overhead, 0.05);
}

// A thread that sleeps costs a switch there and back, so it sleeps for a batch, never for a command
// in it; and not at all where it would oversleep the next launch.
TEST(Preemption, a_thread_is_woken_once_a_batch) {
    const auto wakes = [](const LaunchConfig& config, std::uint64_t command_us) {
        return run_preemptions({.command_ns = command_us * us}, config, 4711, 1).wakes;
    };
    for (const std::uint64_t command_us : {5, 10, 20, 50, 100, 500, 2000}) {
        EXPECT_LE(wakes(fixed, command_us), 1.0 / 4) << command_us;
        EXPECT_LE(wakes({16, 8, 65536, 0}, command_us), 1.0 / 8) << command_us;
        EXPECT_LE(wakes({2, 1, 65536, 0}, command_us), 1.0) << command_us;
        // The end of every eighth command is waited for, too. Short sleeps are tried now and then.
        EXPECT_LE(wakes(adaptive, command_us), command_us <= 100 ? 0.03 : 1.3) << command_us;
    }
}

// To poll for the whole time of a command would occupy a core.
TEST(Preemption, a_budget_sleeps_where_that_is_as_good) {
    const auto polled = [](std::uint64_t budget_us, std::uint64_t command_us) {
        return run_preemptions({.command_ns = command_us * us}, {16, 8, 65536, budget_us * us},
                               4711, 1)
            .polled;
    };
    for (const std::uint64_t command_us : {1000, 2000}) {
        EXPECT_LE(polled(40, command_us), 0.15) << command_us;
        EXPECT_LE(polled(2 * command_us, command_us), 0.15) << command_us;
    }
    EXPECT_LE(polled(40, 500), 0.4);
    // Threads that wake within microseconds sleep for shorter commands, too.
    const DeviceCosts prompt{.command_ns = 100 * us, .nap_median_ns = 14'000, .nap_p99_ns = 40'000};
    EXPECT_LE(run_preemptions(prompt, adaptive, 4711, 1).polled, 0.35);
    EXPECT_LE(run_preemptions(prompt, {16, 8, 65536, 200 * us}, 4711, 1).polled, 0.2);
}

// A host that now and then runs a thread a millisecond late must not let the budget go: what was
// measured is not wrong, and no more in flight are needed.
TEST(Preemption, late_sleeps_do_not_raise_the_number_in_flight) {
    for (const std::uint64_t command_us : {100, 500, 1000}) {
        const DeviceCosts costs{
            .command_ns = command_us * us, .nap_median_ns = 22'000, .nap_p99_ns = 1'000'000};
        // The threads are real: on a busy machine one run of ten is late by chance.
        std::uint64_t latency = ~0ULL;
        double overhead = 1;
        for (std::uint64_t seed = 4711; seed < 4714; ++seed) {
            const PreemptionRun measured = run_preemptions(costs, adaptive, seed, samples);
            latency = std::min(latency, p99(measured.latencies_ns));
            overhead = std::min(overhead, measured.overhead);
            if (latency <= 14 * command_us * us / 10 && overhead <= 0.04)
                break;
        }
        EXPECT_LE(latency, 14 * command_us * us / 10) << command_us;
        EXPECT_LE(overhead, 0.04) << command_us;
    }
}

// As one that loads its kernel, or a dozen of another kind. A thread that slept for as long each
// time would launch one command in that time.
TEST(Preemption, long_first_commands_do_not_slow_the_others) {
    for (const std::uint32_t num_first : {1, 12}) {
        for (const std::uint64_t budget_us : {40, 100, 2000}) {
            const DeviceCosts costs{
                .command_ns = 50 * us, .first_ns = 40'000 * us, .num_first = num_first};
            const PreemptionRun measured =
                run_preemptions(costs, {16, 8, 65536, budget_us * us}, 4711, 1);
            EXPECT_LE(measured.warm_up_ns, (num_first + 2) * costs.first_ns) << budget_us;
            EXPECT_NEAR(50.0 * us, static_cast<double>(measured.command_ns), 5.0 * us);
        }
    }
}

TEST(Preemption, repeats_in_virtual_time) {
    const DeviceCosts costs{.command_ns = 30 * us};
    const PreemptionRun first = run_preemptions(costs, adaptive, 7, 20);
    const PreemptionRun second = run_preemptions(costs, adaptive, 7, 20);
    EXPECT_EQ(first.latencies_ns, second.latencies_ns);
    EXPECT_EQ(first.wakes, second.wakes);
}

} // namespace
