// SPDX-License-Identifier: MIT
// Plug-ins: which are loaded, what they must not do, and that they are values.
#include "sched/plugin_library.hpp"
#include "sched/policy.hpp"
#include "sim/virtual_jobs.hpp"
#include "unit/beside.hpp"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>

namespace {

using namespace xpreempt::sched;
using namespace std::chrono_literals;
using Kind = PluginFault::Kind;

std::filesystem::path path_of(const std::string& name) {
    return test::beside_program(PLUGINS) / (name + ".so");
}

Plugin plugin_named(const std::string& name) {
    auto plugin = load_plugin(path_of(name));
    EXPECT_TRUE(plugin) << plugin.error();
    return plugin.value_or(Plugin());
}

void expect_refused(const std::string& name, const std::string& part) {
    const auto plugin = load_plugin(path_of(name));
    ASSERT_FALSE(plugin) << name;
    EXPECT_TRUE(plugin.error().starts_with(path_of(name).string() + ": ")) << plugin.error();
    EXPECT_NE(plugin.error().find(part), std::string::npos) << plugin.error();
}

TEST(PluginLibraryTest, refuses_a_file_that_is_no_plugin_of_this_version) {
    expect_refused("absent", "cannot be read: No such file");
    expect_refused("no_symbol", "it exports no xp_plugin: define `const struct");
    expect_refused("wrong_abi", "its abi is 2, expected 1: compile it with");
    expect_refused("short", "its size is 8, expected sizeof(struct xp_policy_plugin)");
    expect_refused("later", "fields that this version does not know");
    expect_refused("no_decide", "decide is NULL");
}

TEST(PluginLibraryTest, refuses_wrong_names_and_sizes) {
    expect_refused("small_letters", "its name is not 1 to 31 characters A-Z");
    expect_refused("no_name", "its name is not 1 to 31 characters A-Z");
    expect_refused("built_in", "its name is HPF, that of a built-in policy");
    expect_refused("large_state", "a state of 65537 bytes, expected at most 65536");
}

TEST(PluginLibraryTest, refuses_wrong_parameters) {
    expect_refused("no_parameters_name", "a parameter has no name");
    expect_refused("same_parameters", "two parameters are named slice");
    expect_refused("out_of_bounds", "parameter slice has the value 3, expected 0 to 2");
    expect_refused("wrong_unit", "parameter slice has the unit 9");
    expect_refused("part_of_us", "parameter slice is a duration whose bounds are no whole");
    expect_refused("many_parameters", "33 parameters, expected at most 32");
}

TEST(PluginLibraryTest, loads_a_later_one_that_uses_no_later_field) {
    EXPECT_EQ(plugin_named("longer").name(), "BROKEN");
}

TEST(PluginLibraryTest, refuses_what_is_no_library) {
    const auto path =
        std::filesystem::temp_directory_path() / ("plugin_test." + std::to_string(::getpid()));
    std::ofstream(path) << "text";
    const auto plugin = load_plugin(path);
    std::filesystem::remove(path);
    ASSERT_FALSE(plugin);
    EXPECT_NE(plugin.error().find("no shared library"), std::string::npos) << plugin.error();
    EXPECT_NE(plugin.error().find(path.filename().string() + ":"), std::string::npos)
        << "names the copy: " << plugin.error();
    EXPECT_FALSE(load_plugin(std::filesystem::temp_directory_path()));
}

TEST(PluginLibraryTest, loads_what_the_file_holds_by_now) {
    const auto path = std::filesystem::temp_directory_path() /
                      ("plugin_test." + std::to_string(::getpid()) + ".so");
    std::filesystem::copy_file(path_of("turns"), path);
    const auto first = load_plugin(path);
    ASSERT_TRUE(first) << first.error();
    // In place, as a compiler does it.
    std::filesystem::copy_file(path_of("misbehaving"), path,
                               std::filesystem::copy_options::overwrite_existing);
    const auto second = load_plugin(path);
    std::filesystem::remove(path);
    ASSERT_TRUE(second) << second.error();
    EXPECT_EQ(first->name(), "TURNS");
    EXPECT_EQ(second->name(), "MINE");
    EXPECT_FALSE(*first == *second);
}

TEST(PluginTest, has_the_name_and_the_parameters_of_its_table) {
    Plugin plugin = plugin_named("misbehaving");
    plugin.set_value(3, 7000);
    const auto parameters = plugin.parameters();
    ASSERT_EQ(parameters.size(), 4U);
    EXPECT_EQ(parameters[0].name, "fault");
    EXPECT_FALSE(parameters[0].is_duration);
    EXPECT_EQ(parameters[0].most, 9);
    EXPECT_EQ(parameters[3].name, "pause");
    EXPECT_TRUE(parameters[3].is_duration);
    EXPECT_EQ(parameters[3].value, 7000);
    EXPECT_EQ(name_of(Policy(plugin)), "MINE");
}

// Three jobs: one has work, one is idle, one is held by others.
class FaultTest : public testing::Test {
protected:
    FaultTest() {
        jobs[0] = {.id = 30, .nodes = 1, .ready = true};
        jobs[1] = {.id = 20, .nodes = 1};
        jobs[2] = {.id = 10, .nodes = 1, .ready = true, .held_by_others = true};
        std::ranges::fill(verdicts, Verdict::hold);
    }
    Time decide(std::int64_t fault) {
        Plugin plugin = plugin_named("misbehaving");
        plugin.set_value(0, fault);
        policy = Policy(plugin);
        return xpreempt::sched::decide(policy, {now, jobs}, verdicts);
    }
    void expect_fault(std::int64_t fault, const PluginFault& expected, const std::string& text) {
        EXPECT_EQ(decide(fault), at_next_event);
        ASSERT_NE(fault_of(policy), nullptr) << text;
        EXPECT_EQ(*fault_of(policy), expected) << fault_of(policy)->text();
        EXPECT_EQ(fault_of(policy)->text(), text);
        for (const Verdict verdict : verdicts)
            EXPECT_EQ(verdict, Verdict::run);
        EXPECT_NE(policy, Policy(plugin_named("misbehaving")));
    }

    const Time now = Time{} + 1h;
    std::array<JobView, 3> jobs;
    std::array<Verdict, 3> verdicts{};
    Policy policy;
};

TEST_F(FaultTest, no_fault_while_the_rules_are_kept) {
    EXPECT_EQ(decide(0), at_next_event);
    EXPECT_EQ(fault_of(policy), nullptr);
    EXPECT_EQ(verdicts[0], Verdict::run);
    EXPECT_EQ(fault_of(Policy()), nullptr);
}

TEST_F(FaultTest, verdict_that_is_none) {
    expect_fault(1, {Kind::wrong_verdict, 10, 7},
                 "gave job 10 the verdict 7, expected 0 (run) or 1 (hold)");
}

TEST_F(FaultTest, hold_of_an_idle_job) {
    expect_fault(2, {Kind::held_idle, 20, 1}, "held job 20, which has no work");
}

TEST_F(FaultTest, hold_of_a_job_that_others_hold) {
    expect_fault(3, {Kind::held_of_others, 10, 1}, "held job 10, which others hold already");
}

TEST_F(FaultTest, time_that_is_not_later) {
    expect_fault(4, {Kind::no_next_time, 0, 0},
                 "returned 0 ns as the time until its next call, expected more than 0");
}

TEST_F(FaultTest, writes_behind_what_it_was_given) {
    expect_fault(5, {Kind::wrote_behind_state}, "wrote past the end of its state");
    expect_fault(6, {Kind::wrote_behind_job_states},
                 "wrote past the end of the states of the jobs");
    expect_fault(7, {Kind::wrote_behind_verdicts}, "wrote past the end of the verdicts");
}

TEST_F(FaultTest, fault_stays_and_the_policy_holds_nothing_any_more) {
    (void)decide(8);
    ASSERT_EQ(fault_of(policy), nullptr);
    ASSERT_EQ(verdicts[0], Verdict::hold);
    (void)decide(4);
    ASSERT_NE(fault_of(policy), nullptr);
    EXPECT_EQ(xpreempt::sched::decide(policy, {now + 1s, jobs}, verdicts), at_next_event);
    EXPECT_EQ(verdicts[0], Verdict::run);
}

TEST_F(FaultTest, fault_stays_when_its_cause_is_gone) {
    (void)decide(3);
    ASSERT_NE(fault_of(policy), nullptr);
    jobs[2].held_by_others = false;
    (void)xpreempt::sched::decide(policy, {now + 1s, jobs}, verdicts);
    EXPECT_NE(fault_of(policy), nullptr);
}

TEST_F(FaultTest, is_part_of_the_value) {
    Plugin plugin = plugin_named("misbehaving");
    plugin.set_value(0, 2);
    Policy faulty(plugin), other(plugin);
    (void)xpreempt::sched::decide(faulty, {now, jobs}, verdicts);
    jobs[1].ready = true;
    (void)xpreempt::sched::decide(other, {now, jobs}, verdicts);
    ASSERT_NE(fault_of(faulty), nullptr);
    ASSERT_EQ(fault_of(other), nullptr);
    EXPECT_NE(other, faulty);
}

// The plug-in counts calls, in its state and in that of each job.
TEST(PluginTest, differs_by_its_state_and_by_those_of_jobs) {
    const JobView one{.id = 1, .nodes = 1}, two{.id = 2, .nodes = 1};
    // Each plugin_named() is a library of its own, so that equality needs copies of one policy.
    const Plugin plugin = plugin_named("misbehaving");
    const auto run = [&](std::initializer_list<std::vector<JobView>> decisions) {
        Policy policy(plugin);
        for (const std::vector<JobView>& jobs : decisions) {
            std::vector<Verdict> verdicts(jobs.size());
            (void)decide(policy, {Time{} + 1h, jobs}, verdicts);
        }
        return policy;
    };
    EXPECT_EQ(run({{one}, {one, two}}), run({{one}, {two, one}}));
    EXPECT_NE(run({{}}), run({{}, {}}));
    EXPECT_NE(run({{one}, {one, two}}), run({{two}, {one, two}}));
}

// The plug-in holds a job if each field has the value that it expects.
TEST(PluginTest, shows_every_field_of_a_job) {
    const auto at = [](std::int64_t ns) { return Time{Duration{ns}}; };
    const JobView right{.id = 1,
                        .nodes = 2,
                        .band = Band::idle,
                        .weight = 4,
                        .relative_deadline = 8ns,
                        .priority = -5,
                        .utilization = 7,
                        .lax = 9ns,
                        .cpu_priority = -6,
                        .focused = true,
                        .ready = true,
                        .held = true,
                        .held_by_others = false,
                        .ready_since = at(10),
                        .ready_edges = 11,
                        .soon_since = at(12),
                        .soon_until = at(13),
                        .finished = true,
                        .deadline = at(14)};
    const auto holds = [](const JobView& job) {
        Policy policy(plugin_named("fields"));
        std::array<Verdict, 1> verdicts{};
        (void)decide(policy, {Time{Duration{15}}, {&job, 1}, 16ns}, verdicts);
        return verdicts[0] == Verdict::hold;
    };
    EXPECT_TRUE(holds(right));
    std::vector<JobView> wrong(16, right);
    wrong[0].id = wrong[1].nodes = 99;
    wrong[2].band = Band::high;
    wrong[3].weight = wrong[4].utilization = 99;
    wrong[5].priority = wrong[6].cpu_priority = 99;
    wrong[7].relative_deadline = wrong[8].lax = 99ns;
    wrong[9].focused = wrong[10].held = wrong[11].finished = false;
    wrong[12].ready_since = wrong[13].soon_since = at(99);
    wrong[14].soon_until = wrong[15].deadline = at(99);
    for (std::size_t i = 0; i < wrong.size(); ++i)
        EXPECT_FALSE(holds(wrong[i])) << "field " << i;
    JobView edges = right;
    edges.ready_edges = 99;
    EXPECT_FALSE(holds(edges));
}

TEST(PluginTest, without_a_library_every_job_runs) {
    const std::array<JobView, 1> jobs{JobView{.id = 1, .nodes = 1, .ready = true}};
    std::array<Verdict, 1> verdicts{Verdict::hold};
    Plugin plugin;
    plugin.admit(jobs);
    ASSERT_TRUE(plugin.matches(jobs));
    EXPECT_EQ(plugin.decide({Time{}, jobs}, verdicts), at_next_event);
    EXPECT_EQ(verdicts[0], Verdict::run);
}

// VirtualJobs check each decision: order of jobs, copies decide alike, settled at once, replay.
TEST(PluginTest, keeps_the_contract_of_every_policy) {
    test::for_each_seed(20, [](std::uint32_t seed) {
        test::random_run(Policy(plugin_named("turns")), seed, nullptr);
    });
}

// 100,000 events of random jobs: the same verdicts and times as the built-in policy.
TEST(PluginTest, decides_as_the_builtin_policy_that_it_copies) {
    std::uint64_t events = 0, holds = 0;
    for (std::uint32_t seed = 1; events < 100'000 && !::testing::Test::HasFailure(); ++seed) {
        SCOPED_TRACE("seed " + std::to_string(seed));
        Policy plugin(plugin_named("turns"));
        test::VirtualJobs jobs(policy_named("RR").value(), seed);
        jobs.switch_cost = seed % 2 * 300us;
        jobs.asked = [&](const auto& views, const auto& verdicts) {
            std::vector<Verdict> of_plugin(views.size());
            const Time next = decide(plugin, {jobs.now, views, jobs.switch_cost}, of_plugin);
            ASSERT_EQ(of_plugin, verdicts);
            ASSERT_EQ(next, jobs.next);
            ASSERT_EQ(fault_of(plugin), nullptr);
            holds += static_cast<std::uint64_t>(std::ranges::count(verdicts, Verdict::hold));
            ++events;
        };
        std::uint64_t last_id = 0;
        for (int event = 0; event < 250 && !::testing::Test::HasFailure(); ++event) {
            happen(jobs, last_id, 3);
            jobs.decide();
            jobs.advance(Duration{jobs.below(8'000'000)});
        }
    }
    EXPECT_GT(holds, events / 2);
}

} // namespace
