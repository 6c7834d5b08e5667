// SPDX-License-Identifier: MIT
// Comparisons: the same bytes each time, ratios that hold, and every policy on every scenario.
#include "sim_jobs.hpp"

#include "kfd-preempt-sim/commands.hpp"
#include "kfd-preempt-sim/report.hpp"
#include "unit/beside.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace {

using namespace sim_test;

std::vector<std::string> all_policies() {
    return {sched::policy_names.begin(), sched::policy_names.end()};
}

Scenario two_jobs() {
    Scenario scenario = plain_scenario(
        {poisson_job("service", 50, 3 * ms), closed_job("batch", 20 * ms)}, 10 * second);
    scenario.gpu = GpuModel{};
    scenario.jobs[0].band = sched::Band::high;
    scenario.jobs[0].sigma = 0.5;
    scenario.jobs[1].band = sched::Band::idle;
    return scenario;
}

std::string csv(const Scenario& scenario, unsigned threads) {
    const std::vector<Scenario> scenarios{scenario, scenario};
    return csv_of(compare(scenarios, {.policies = all_policies(), .threads = threads}));
}

TEST(SimCompare, TheSameSeedGivesTheSameBytesWithAnyNumberOfThreads) {
    const std::string once = csv(two_jobs(), 1);
    EXPECT_EQ(once, csv(two_jobs(), 1));
    EXPECT_EQ(once, csv(two_jobs(), 3));
}

TEST(SimCompare, AnotherSeedGivesOtherFigures) {
    Scenario other = two_jobs();
    other.seed = 2;
    EXPECT_NE(csv(two_jobs(), 1), csv(other, 1));
}

const Row& row_of(const Comparison& comparison, std::string_view policy, std::string_view jobs) {
    return *std::ranges::find_if(
        comparison.rows, [&](const Row& row) { return row.policy == policy && row.jobs == jobs; });
}

TEST(SimCompare, RatiosAreOverTheBaselines) {
    const std::vector<Scenario> scenarios{two_jobs()};
    const auto comparison = compare(scenarios, {.policies = {"BAND"}}).front();
    const Measures alone = row_of(comparison, "alone", "service").measures;
    const Measures free = row_of(comparison, "free sharing", "service").measures;
    const Measures band = row_of(comparison, "BAND", "service").measures;
    EXPECT_EQ(alone.mean_over_alone, 1);
    EXPECT_EQ(free.throughput_over_free, 1);
    EXPECT_DOUBLE_EQ(band.mean_over_alone, band.mean / alone.mean);
    EXPECT_DOUBLE_EQ(band.p99_over_alone, band.p99 / alone.p99);
    const Measures of_band = row_of(comparison, "BAND", "high (1 job)").measures;
    EXPECT_DOUBLE_EQ(of_band.mean_over_alone, band.mean_over_alone);
    EXPECT_LT(band.mean, free.mean);
}

TEST(SimCompare, ABandIsComparedWithItsJobsAlone) {
    Scenario scenario = plain_scenario(
        {closed_job("a", 1 * ms), closed_job("b", 1 * ms), closed_job("batch", 1 * ms)},
        1 * second);
    scenario.jobs[0].band = scenario.jobs[1].band = sched::Band::high;
    const std::vector<Scenario> scenarios{scenario};
    const auto comparison = compare(scenarios, {.policies = {}}).front();
    // Three share instead of two.
    EXPECT_NEAR(row_of(comparison, "free sharing", "high (2 jobs)").measures.mean_over_alone, 1.5,
                0.01);
    EXPECT_NEAR(row_of(comparison, "free sharing", "a").measures.mean_over_alone, 3, 0.01);
    EXPECT_NEAR(row_of(comparison, "alone", "high (2 jobs)").measures.throughput_over_free, 1.5,
                0.01);
}

TEST(SimCompare, EveryRowSaysWhereItComesFrom) {
    Scenario scenario = two_jobs();
    scenario.published = {{"X", "GPU 1", "service", "a paper", 1.1, {}, 0.9, {}, {}, {}}};
    const std::vector<Scenario> scenarios{scenario};
    const auto comparison = compare(scenarios, {.policies = {"BAND"}}).front();
    for (const Detail detail : {Detail::jobs, Detail::bands}) {
        const charts::Table table = table_of(comparison, detail);
        for (const auto& row : table.rows) {
            ASSERT_EQ(row.size(), table.columns.size());
            EXPECT_TRUE(row.back() == "simulated" || row.back() == "published, GPU 1: a paper")
                << row.back();
        }
        EXPECT_EQ(table.rows.back().back(), "published, GPU 1: a paper");
    }
}

TEST(SimCompare, EveryLineOfTheCsvHasEveryColumn) {
    Scenario scenario = two_jobs();
    scenario.published = {{"X", "GPU 1", "service", "a, b", 1.1, {}, 0.9, {}, {}, {}}};
    const std::vector<Scenario> scenarios{scenario};
    std::string text = csv_of(compare(scenarios, {.policies = {"BAND"}}));
    std::size_t columns = 0;
    while (!text.empty()) {
        const std::string line = text.substr(0, text.find('\n'));
        text.erase(0, line.size() + 1);
        bool quoted = false;
        std::size_t commas = 0;
        for (const char c : line) {
            quoted = quoted != (c == '"');
            commas += c == ',' && !quoted ? 1U : 0U;
        }
        columns = columns == 0 ? commas : columns;
        EXPECT_EQ(commas, columns) << line;
    }
}

class SimBuiltIn : public testing::TestWithParam<std::string> {};

TEST_P(SimBuiltIn, RunsUnderEveryPolicy) {
    auto scenario = read_scenario(::test::beside_program(SCENARIOS) / (GetParam() + ".toml"));
    ASSERT_TRUE(scenario) << scenario.error();
    EXPECT_FALSE(scenario->about.empty());
    scenario->warmup = 0;
    scenario->duration = std::min(scenario->duration, 5 * second);
    const std::vector<Scenario> scenarios{*scenario};
    const auto comparison = compare(scenarios, {.policies = all_policies()}).front();
    for (const Row& row : comparison.rows)
        if (row.of == Row::Of::all) {
            EXPECT_GT(row.measures.requests, 0U) << row.policy;
        }
    EXPECT_FALSE(table_of(comparison, Detail::jobs).rows.empty());
}

std::vector<std::string> names_of_scenarios() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(::test::beside_program(SCENARIOS)))
        if (entry.path().extension() == ".toml")
            names.push_back(entry.path().stem().string());
    std::ranges::sort(names);
    return names;
}

INSTANTIATE_TEST_SUITE_P(Scenarios, SimBuiltIn, testing::ValuesIn(names_of_scenarios()),
                         [](const auto& of) {
                             std::string name = of.param;
                             std::ranges::replace(name, '-', '_');
                             return name;
                         });

TEST(SimBuiltInSuite, PapersAreAmongTheScenarios) {
    const auto names = names_of_scenarios();
    for (const std::string& name : papers())
        EXPECT_NE(std::ranges::find(names, name), names.end()) << name;
}

} // namespace
