// SPDX-License-Identifier: MIT
// freeze --yield-memory of a cgroup with two processes, against scripted ioctls.
#include "fixture_tree.hpp"
#include "scripted_driver.hpp"
#include "verbs/verbs.hpp"

#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <string>

namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;
constexpr std::uint64_t caps = test::Script::all_caps | KFD_PREEMPT_CAP_YIELD_MEMORY;
constexpr std::uint32_t held = KFD_PREEMPT_STATE_HELD;
constexpr std::uint32_t running = KFD_PREEMPT_STATE_RUNNING;
constexpr std::uint32_t sticky = KFD_PREEMPT_HOLD_STICKY;

class FreezeYieldTest : public testing::Test {
protected:
    FreezeYieldTest() : context(tree.context()), script(std::make_shared<test::Script>()) {
        tree.make_directory("run");
        tree.write("sys/fs/cgroup/cgroup.controllers", "");
        tree.write("sys/fs/cgroup/job/cgroup.controllers", "");
        tree.write("sys/fs/cgroup/job/cgroup.procs", "7\n8\n");
        for (const pid_t pid : {7, 8}) {
            tree.add_process(pid, "demo", 1234);
            tree.add_kfd_process(pid);
            tree.add_queue(pid, 0);
        }
        test::attach(context, script);
    }
    void expect_scan(std::uint32_t state, std::uint32_t holds) {
        script->expect_status_uid(7, 0, 70, state, holds);
        script->expect_status_uid(8, 0, 80, state, holds);
    }
    void expect_freeze() {
        script->expect_query(0, 0, caps);
        expect_scan(running, 0);
        script->expect_group_switch(KFD_PREEMPT_OP_PREEMPT, {{7, 0, 70}, {8, 0, 80}},
                                    {{0, held, sticky}, {0, held, sticky}});
        expect_scan(held, sticky);
    }
    void expect_yield(pid_t pid, int result, std::uint64_t yielded_bytes) {
        script->expect_switch(pid, KFD_PREEMPT_SWITCH_STICKY | KFD_PREEMPT_SWITCH_YIELD_MEMORY,
                              KFD_PREEMPT_OP_PREEMPT, {0}, {{result, held, sticky}});
        script->expect_memory(pid, 0, gib, yielded_bytes);
    }

    test::FixtureTree tree;
    cli::Context context;
    std::shared_ptr<test::Script> script;
};

TEST_F(FreezeYieldTest, each_process_yields_after_all_are_held) {
    expect_freeze();
    expect_yield(7, 0, 16 * gib);
    expect_yield(8, -EALREADY, 4 * gib);
    const cli::Report report = cli::freeze(context, {"job"}, false, true);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_NE(report.text.find("pid 7 (demo), GPU 5230: 16 GiB of VRAM yielded in 2 s; "),
              std::string::npos)
        << report.text;
    EXPECT_NE(report.text.find("pid 8 (demo), GPU 5230: 4 GiB of VRAM yielded before; "),
              std::string::npos)
        << report.text;
    ASSERT_EQ(report.json["memory"].size(), 2U);
    EXPECT_EQ(report.json["memory"][1]["pid"], 8);
}

TEST_F(FreezeYieldTest, a_driver_that_cannot_yield_changes_nothing) {
    script->expect_query(0);
    const cli::Report report = cli::freeze(context, {"job"}, false, true);
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    ASSERT_EQ(report.messages.size(), 1U);
    EXPECT_NE(report.messages[0].find("cannot yield memory, nothing changed"), std::string::npos)
        << report.messages[0];
}

} // namespace
