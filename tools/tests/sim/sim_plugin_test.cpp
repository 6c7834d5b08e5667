// SPDX-License-Identifier: MIT
// Plug-ins in the simulator: they decide as built-in policies do, faults end a run, `check` finds
// broken rules.
#include "sim_jobs.hpp"

#include "kfd-preempt-sim/commands.hpp"
#include "kfd-preempt-sim/policy_check.hpp"
#include "kfd-preempt-sim/report.hpp"
#include "kfd-preempt-sim/switches.hpp"
#include "sched/plugin_library.hpp"
#include "unit/beside.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace {

using namespace sim_test;

std::string path_of(const std::string& name) {
    return ::test::beside_program(PLUGINS) / (name + ".so");
}

sched::Plugin plugin_with(const std::string& name, std::int64_t value) {
    sched::Plugin plugin = sched::load_plugin(path_of(name)).value();
    plugin.set_value(0, value);
    return plugin;
}

Scenario scenario_with(const sched::Plugin& plugin) {
    Scenario scenario = plain_scenario(
        {poisson_job("service", 50, 3 * ms), closed_job("batch", 20 * ms)}, 10 * second);
    scenario.gpu = GpuModel{};
    scenario.jobs[0].band = sched::Band::high;
    scenario.jobs[1].band = sched::Band::idle;
    scenario.policies.plugin = plugin;
    return scenario;
}

std::string csv(const Scenario& scenario, const std::string& policy, unsigned threads) {
    const std::vector<Scenario> scenarios{scenario, scenario};
    return csv_of(compare(scenarios, {.policies = {policy}, .threads = threads}));
}

TEST(SimPlugin, the_figures_are_those_of_the_builtin_policy_that_it_copies) {
    const Scenario scenario = scenario_with(plugin_with("turns", 5 * ms));
    std::string expected = csv(scenario, "RR", 1);
    for (std::size_t at = expected.find(",RR,"); at != std::string::npos;
         at = expected.find(",RR,", at))
        expected.replace(at, 4, ",TURNS,");
    EXPECT_EQ(csv(scenario, "TURNS", 1), expected);
    EXPECT_NE(expected.find(",TURNS,"), std::string::npos);
    EXPECT_EQ(csv(scenario, "TURNS", 3), expected);
    // The parameter counts.
    EXPECT_NE(csv(scenario_with(plugin_with("turns", 50 * ms)), "TURNS", 1), expected);
}

TEST(SimPlugin, fault_ends_the_run_and_says_when) {
    for (const std::int64_t fault : {1, 4, 5, 6, 7}) {
        const Scenario scenario = scenario_with(plugin_with("misbehaving", fault));
        const RunResult result = simulate(scenario, {.policy = "MINE"});
        EXPECT_NE(result.fault, "") << fault;
        EXPECT_LT(result.ended, second);
        const std::vector<Scenario> scenarios{scenario};
        const auto compared = compare(scenarios, {.policies = {"MINE"}});
        EXPECT_TRUE(compared[0].fault.starts_with("after 0.0")) << compared[0].fault;
        EXPECT_TRUE(compared[0].fault.ends_with("s " + result.fault));
    }
    const Scenario good = scenario_with(plugin_with("misbehaving", 0));
    const std::vector<Scenario> scenarios{good};
    EXPECT_EQ(compare(scenarios, {.policies = {"MINE"}})[0].fault, "");
}

TEST(SimPlugin, fault_ends_the_comparison_with_a_recording) {
    const Recording recording;
    const Scenario bad = scenario_with(plugin_with("misbehaving", 1));
    const auto compared = compare_switches(recording, bad, {"MINE"});
    ASSERT_FALSE(compared);
    EXPECT_NE(compared.error().find("s plug-in MINE gave job "), std::string::npos)
        << compared.error();
    const Scenario good = scenario_with(plugin_with("misbehaving", 0));
    EXPECT_TRUE(compare_switches(recording, good, {"MINE"}));
}

TEST(SimPlugin, parameters_come_from_the_scenario) {
    const auto plugin = sched::load_plugin(path_of("turns")).value();
    const std::string job = "[[job]]\nname = \"a\"\n";
    const auto scenario =
        parse_scenario("[policy.TURNS]\nquantum = \"9ms\"\n" + job, "s.toml", {}, plugin);
    ASSERT_TRUE(scenario) << scenario.error();
    EXPECT_EQ(scenario->policies.plugin.value().parameters()[0].value, 9 * ms);
    const std::vector<Setting> settings{{"policy.TURNS.quantum", "8ms"}};
    EXPECT_EQ(parse_scenario(job, "s.toml", settings, plugin)
                  ->policies.plugin.value()
                  .parameters()[0]
                  .value,
              8 * ms);
    EXPECT_FALSE(parse_scenario(job, "s.toml", settings));
}

bool fails_only(const sched::Policy& policy, const std::string& rule) {
    const Checks checks = check_policy(policy, {});
    std::vector<std::string> failed;
    std::stringstream lines(checks.text);
    for (std::string line; std::getline(lines, line);)
        if (line.starts_with("not ok"))
            failed.push_back(line);
    const bool expected =
        rule.empty() ? failed.empty() : failed.size() == 1 && failed[0].ends_with(rule);
    EXPECT_TRUE(expected) << rule << '\n' << checks.text;
    return checks.passed == rule.empty();
}

TEST(SimCheck, policies_that_keep_the_rules) {
    for (const char* name : {"BAND", "RR", "HPF", "CFS", "MLFQ", "K-EDF"})
        EXPECT_TRUE(fails_only(sched::policy_named(name).value(), "")) << name;
    EXPECT_TRUE(fails_only(plugin_with("turns", 5 * ms), ""));
    EXPECT_TRUE(fails_only(plugin_with("misbehaving", 0), ""));
}

TEST(SimCheck, each_rule_that_is_broken) {
    EXPECT_TRUE(
        fails_only(sched::policy_named("PARK").value(), "the host finds no fault in a decision"));
    for (const std::int64_t fault : {1, 2, 3, 4, 5, 6, 7})
        EXPECT_TRUE(
            fails_only(plugin_with("misbehaving", fault), "the host finds no fault in a decision"))
            << fault;
    EXPECT_TRUE(fails_only(plugin_with("unruly", 2), "other ids in the same order change nothing"));
    EXPECT_TRUE(fails_only(plugin_with("unruly", 3),
                           "the same verdicts come again when they are carried out"));
    EXPECT_TRUE(
        fails_only(plugin_with("unruly", 4), "it asks for at most 10000 calls in a second"));
    EXPECT_TRUE(fails_only(plugin_with("unruly", 5),
                           "a job with work that is alone on its GPUs runs within 10 s"));
}

// It breaks other rules by that too.
TEST(SimCheck, static_variable) {
    const Checks checks = check_policy(plugin_with("unruly", 1), {});
    EXPECT_FALSE(checks.passed);
    EXPECT_NE(checks.text.find("not ok 2 - a copy of the state decides alike"), std::string::npos)
        << checks.text;
    EXPECT_NE(checks.text.find("\n# seed 1, at 0."), std::string::npos) << checks.text;
}

TEST(SimCheck, the_seed_and_the_number_of_events_are_as_asked) {
    const auto text = [](const CheckOptions& options) {
        return check_policy(sched::policy_named("RR").value(), options).text;
    };
    EXPECT_EQ(text({}), text({}));
    EXPECT_NE(text({.events = 1, .seed = 7}).find("seeds 7 to 7\n"), std::string::npos);
    EXPECT_NE(text({.events = 1000, .seed = 7}), text({.events = 1000, .seed = 8}));
}

} // namespace
