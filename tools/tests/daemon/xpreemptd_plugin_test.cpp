// SPDX-License-Identifier: MIT
// A plug-in as the policy: what it does wrong ends it, and everything runs.
#include "daemon_fixture.hpp"
#include "sched/plugin_library.hpp"
#include "scheduling/plugin_watch.hpp"
#include "unit/beside.hpp"
#include "unit/kfd_tree.hpp"

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <ranges>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace xpreemptd;
using namespace std::chrono_literals;
using test::batch;
using test::server;

constexpr std::uint32_t fatal_weight = 7777; // of the job that sets off the fault
constexpr pid_t idle = 30, stopped = 40;

sched::Plugin plugin_with(std::int64_t fault, std::int64_t spin = 0) {
    sched::Plugin plugin =
        sched::load_plugin(test::beside_program(PLUGINS) / "misbehaving.so").value();
    plugin.set_value(0, fault);
    plugin.set_value(1, fatal_weight);
    plugin.set_value(2, spin);
    return plugin;
}

Rules rules_with(const std::filesystem::path& directory, std::int64_t fault,
                 std::int64_t spin = 0) {
    Rules rules = test::rules_of_test();
    rules.plugin = "/lib/mine.so";
    rules.parameters.plugin = plugin_with(fault, spin);
    rules.policy_name = "MINE";
    rules.socket = directory / "x.sock";
    return rules;
}

// The directory comes before the daemon, and goes after it.
struct Directory {
    test::KfdTree tree;
    [[nodiscard]] std::filesystem::path marker() const { return tree.root() / "plug-in-in-force"; }
    [[nodiscard]] bool is_marked() const { return std::filesystem::exists(marker()); }
};

class PluginTest : public Directory, public test::DaemonFixture {
protected:
    explicit PluginTest(std::int64_t fault = 0) : DaemonFixture(rules_with(tree.root(), fault)) {}

    // The server and the batch job have work, another job has none, one is held by an operator.
    void start_all() {
        add(idle, "/idle");
        add(stopped, "/stopped");
        gpu.running.at(stopped).queues.at(1).held_by_other = true;
        gpu.running.at(stopped).queues.at(1).packets = 1;
        start_two();
        gpu.submit(server, 1);
        pass(5ms);
        ASSERT_TRUE(gpu.held(batch));
        ASSERT_EQ(daemon.status().policy, "MINE");
        ASSERT_EQ(daemon.status().plugin, "/lib/mine.so");
        ASSERT_EQ(daemon.status().ejected, "");
    }
    void set_off() { ASSERT_TRUE(daemon.change({1, 0}, server, {.weight = fatal_weight})); }
    void expect_ejected(const std::string& part) {
        const StatusReport status = daemon.status();
        EXPECT_EQ(status.policy, "none");
        EXPECT_EQ(status.plugin, "");
        EXPECT_TRUE(status.ejected.starts_with("plug-in MINE " + part)) << status.ejected;
        for (const auto& [pid, process] : gpu.running)
            EXPECT_FALSE(process.queues.at(1).held) << pid;
        EXPECT_FALSE(is_marked());
        EXPECT_TRUE(std::ranges::any_of(lines, [&](const std::string& line) {
            return line.find(status.ejected) != std::string::npos;
        }));
    }
};

struct Fault {
    std::int64_t value;
    const char* text;
};

class FaultyPluginTest : public PluginTest, public testing::WithParamInterface<Fault> {
protected:
    FaultyPluginTest() : PluginTest(GetParam().value) {}
};

TEST_P(FaultyPluginTest, is_ejected_and_everything_resumes) {
    start_all();
    set_off();
    expect_ejected(GetParam().text);
    // The daemon continues.
    gpu.finish(batch, 1);
    pass(200ms);
    gpu.submit(batch, 1);
    pass(200ms);
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_EQ(job(batch).state, JobState::running);
    ASSERT_TRUE(daemon.set_policy({1, 0}, "BAND"));
    pass(5ms);
    EXPECT_TRUE(gpu.held(batch));
}

INSTANTIATE_TEST_SUITE_P(Faults, FaultyPluginTest,
                         testing::Values(Fault{1, "gave job "}, Fault{2, "held job "},
                                         Fault{3, "held job "}, Fault{4, "returned 0 ns"},
                                         Fault{5, "wrote past the end of its state"},
                                         Fault{6, "wrote past the end of the states of the jobs"},
                                         Fault{7, "wrote past the end of the verdicts"}));

class HoldingPluginTest : public PluginTest {
protected:
    HoldingPluginTest() : PluginTest(8) {}
};

TEST_F(HoldingPluginTest, is_ejected_after_max_hold_as_any_policy) {
    start_all();
    set_off();
    pass(9s);
    EXPECT_EQ(daemon.status().ejected, "");
    EXPECT_TRUE(gpu.held(server));
    pass(2s);
    EXPECT_NE(daemon.status().ejected.find("MINE held job"), std::string::npos);
    EXPECT_FALSE(gpu.held(server));
    EXPECT_FALSE(gpu.held(batch));
    EXPECT_FALSE(is_marked());
}

TEST_F(HoldingPluginTest, max_hold_changes_in_a_reload) {
    start_all();
    const auto ejected_after_hold = [&](std::chrono::nanoseconds max_hold) {
        Rules rules = rules_with(tree.root(), 8);
        rules.max_hold = max_hold;
        daemon.reload(std::move(rules));
        set_off();
        pass(9s);
        return !daemon.status().ejected.empty();
    };
    EXPECT_FALSE(ejected_after_hold(60s));
    EXPECT_TRUE(ejected_after_hold(2s));
    EXPECT_FALSE(ejected_after_hold(60s)); // and forgets the ejection
}

// CPU time is real, so the plug-in burns far more than the limit and the second one far less.
class SlowPluginTest : public PluginTest {
protected:
    SlowPluginTest() : PluginTest(9) {}
    void reload_with(std::chrono::nanoseconds max_decide) {
        Rules rules = rules_with(tree.root(), 9, 5000);
        rules.max_decide = max_decide;
        daemon.reload(std::move(rules));
    }
};

TEST_F(SlowPluginTest, is_ejected_at_once_if_it_takes_far_too_long) {
    start_all();
    reload_with(10us); // the plug-in takes a hundred times as long
    set_off();
    expect_ejected("took ");
}

TEST_F(SlowPluginTest, may_take_as_long_as_the_rules_say) {
    start_all();
    reload_with(10s);
    set_off();
    pass(1s);
    EXPECT_EQ(daemon.status().ejected, "");
}

TEST(PluginWatchTest, three_slow_decisions_in_a_row_or_one_that_is_far_too_slow) {
    std::chrono::nanoseconds cpu{0}, takes{0};
    const auto clock = [&] { return cpu += std::exchange(takes, 0ns); };
    const auto fault_after = [&](std::initializer_list<std::chrono::nanoseconds> times) {
        PluginWatch watch(plugin_with(0), 1ms, [&, first = true]() mutable {
            return std::exchange(first, !first) ? cpu : clock();
        });
        for (const auto time : times) {
            takes = time;
            (void)watch.decide({sched::Time{} + 1s, {}}, {});
        }
        return watch.fault();
    };
    EXPECT_EQ(fault_after({1ms, 1ms, 1ms, 1ms}), "");
    EXPECT_EQ(fault_after({2ms, 2ms, 1ms, 2ms, 2ms}), "");
    EXPECT_EQ(fault_after({2ms, 2ms, 3ms}),
              "took 3000 us of CPU time for a decision, too long 3 times in a row, at most 1000 us "
              "are allowed ([limits] max_decide)");
    EXPECT_EQ(fault_after({100ms}), "");
    EXPECT_EQ(fault_after({101ms}), "took 101000 us of CPU time for a decision, at most 1000 us "
                                    "are allowed ([limits] max_decide)");
}

TEST_F(PluginTest, is_marked_only_while_it_decides) {
    start_all();
    std::stringstream text;
    text << std::ifstream(marker()).rdbuf();
    EXPECT_EQ(text.str(), "/lib/mine.so");
    ASSERT_TRUE(daemon.set_policy({1, 0}, "RR"));
    EXPECT_FALSE(is_marked());
    EXPECT_EQ(daemon.status().plugin, "");
    ASSERT_TRUE(daemon.set_policy({1, 0}, "MINE"));
    EXPECT_TRUE(is_marked());
    EXPECT_EQ(daemon.status().policy, "MINE");
    Rules without = test::rules_of_test();
    without.socket = tree.root() / "x.sock";
    daemon.reload(without);
    EXPECT_FALSE(is_marked());
    EXPECT_EQ(daemon.status().policy, "BAND");
    const auto unknown = daemon.set_policy({1, 0}, "MINE");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().text.find("MINE, "), std::string::npos) << unknown.error().text;
}

TEST_F(PluginTest, names_the_plugin_among_the_policies) {
    const auto unknown = daemon.set_policy({1, 0}, "MIEN");
    ASSERT_FALSE(unknown);
    EXPECT_TRUE(unknown.error().text.ends_with("PARK, MINE")) << unknown.error().text;
}

// A daemon in a directory of its own, which ends in different ways.
class MarkerTest : public Directory, public testing::Test {
protected:
    struct Running {
        explicit Running(Rules rules) : daemon(test::daemon_over(gpu, lines, std::move(rules))) {}
        test::FakeProvider gpu;
        std::vector<std::string> lines;
        Daemon daemon;
    };
    [[nodiscard]] Rules read(bool at_start) const {
        const auto plugin = [this](const std::filesystem::path&) {
            marked_while_loading = is_marked();
            return tl::expected<sched::Plugin, std::string>(plugin_with(0));
        };
        const std::string text = "[policy]\nplugin = \"/lib/mine.so\"\nname = \"MINE\"\n"
                                 "[policy.MINE]\nfault = 1\nweight = 9\n[socket]\npath = \"" +
                                 (tree.root() / "x.sock").string() + "\"\n";
        return parse_rules(text, "f", {.load_plugin = plugin, .leaves_out_after_crash = at_start})
            .value();
    }
    mutable bool marked_while_loading = false;
    void crash() const {
        const pid_t child = ::fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            Running running(read(true));
            running.daemon.start();
            ::raise(SIGKILL);
        }
        int status = 0;
        ASSERT_EQ(::waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status));
    }
};

TEST_F(MarkerTest, nothing_is_left_out_after_an_end) {
    {
        Running running(read(true));
        EXPECT_FALSE(is_marked());
        running.daemon.start();
        EXPECT_TRUE(is_marked());
    }
    EXPECT_FALSE(is_marked());
    EXPECT_EQ(read(true).plugin_left_out, "");
}

// A constructor of the library may crash the daemon before there is one.
TEST_F(MarkerTest, plugin_is_marked_while_it_is_loaded_at_a_start) {
    (void)read(true);
    EXPECT_TRUE(marked_while_loading);
    EXPECT_FALSE(is_marked());
    (void)read(false);
    EXPECT_FALSE(marked_while_loading);
}

TEST_F(MarkerTest, plugin_is_left_out_after_a_crash_until_root_tries_again) {
    crash();
    ASSERT_TRUE(is_marked());
    {
        Running running(read(true));
        running.daemon.set_read_again([this] { return read(false); });
        running.daemon.start();
        const std::string why = "plug-in /lib/mine.so was loading or in force when xpreemptd was "
                                "killed or crashed, so it is left out; `kfd-preempt policy` with "
                                "its name tries again";
        EXPECT_EQ(running.daemon.status().policy, "BAND");
        EXPECT_EQ(running.daemon.status().ejected, why);
        EXPECT_EQ(std::ranges::count(running.lines, why), 1);
        EXPECT_TRUE(is_marked());
        EXPECT_FALSE(running.daemon.set_policy({1, 1000}, "MINE"));
        ASSERT_TRUE(running.daemon.set_policy({1, 0}, "MINE"));
        EXPECT_EQ(running.daemon.status().policy, "MINE");
        EXPECT_EQ(running.daemon.status().ejected, "");
        EXPECT_TRUE(is_marked());
    }
    EXPECT_FALSE(is_marked());
}

TEST_F(MarkerTest, reload_tries_again_and_so_does_a_start_after_an_end) {
    crash();
    {
        Running running(read(true));
        running.daemon.start();
        running.daemon.reload(read(false));
        EXPECT_EQ(running.daemon.status().policy, "MINE");
    }
    crash();
    {
        Running running(read(true));
        running.daemon.start();
        EXPECT_EQ(running.daemon.status().policy, "BAND");
    }
    EXPECT_EQ(read(true).plugin_left_out, "");
}

TEST_F(MarkerTest, marker_of_another_plugin_leaves_out_nothing) {
    std::ofstream(marker()) << "/lib/other.so";
    EXPECT_EQ(read(true).plugin_left_out, "");
    EXPECT_EQ(read(true).policy_name, "MINE");
}

TEST_F(MarkerTest, daemon_that_did_not_start_leaves_the_marker_of_another_one) {
    std::ofstream(marker()) << "/lib/mine.so";
    {
        const Running running(read(true));
    }
    EXPECT_TRUE(is_marked());
}

} // namespace
