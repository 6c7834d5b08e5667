// SPDX-License-Identifier: MIT
// suspend, resume and status against scripted ioctls: what is sent, and what each answer becomes.
#include "fixture_tree.hpp"
#include "scripted_driver.hpp"
#include "verbs/verbs.hpp"

#include <gtest/gtest.h>

namespace {

using test::EntryAnswer;

constexpr std::uint32_t held = KFD_PREEMPT_STATE_HELD;
constexpr std::uint32_t running = KFD_PREEMPT_STATE_RUNNING;
constexpr std::uint32_t sticky = KFD_PREEMPT_HOLD_STICKY;

class SwitchTest : public testing::Test {
protected:
    // Process 7 has compute queues 0 and 2 and SDMA queue 1.
    SwitchTest() : context(tree.context()), script(std::make_shared<test::Script>()) {
        tree.add_process(7, "demo", 1234);
        tree.add_kfd_process(7);
        tree.add_queue(7, 0);
        tree.add_queue(7, 1, 1);
        tree.add_queue(7, 2);
        test::attach(context, script);
    }

    // QUERY, then one SWITCH with STICKY.
    void expect_suspend(const std::vector<std::uint32_t>& ids, std::vector<EntryAnswer> answers,
                        int answer = 0) {
        script->expect_query(0);
        script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT, ids,
                              std::move(answers), answer);
    }
    void expect_resume(const std::vector<std::uint32_t>& ids, std::vector<EntryAnswer> answers,
                       int answer = 0) {
        script->expect_query(0);
        script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_RESUME, ids,
                              std::move(answers), answer);
    }

    static void expect_message(const cli::Report& report, const std::string& part) {
        ASSERT_EQ(report.messages.size(), 1U);
        EXPECT_NE(report.messages[0].find(part), std::string::npos) << report.messages[0];
    }

    test::FixtureTree tree;
    cli::Context context;
    std::shared_ptr<test::Script> script;
};

TEST_F(SwitchTest, suspend_holds_all_compute_queues_in_one_call_and_names_the_skipped) {
    expect_suspend({0, 2}, {{0, held, sticky, 1'500'000}, {0, held, sticky, 2'000'000}});
    const cli::Report report = cli::suspend(context, {7, {}});
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.text, "queue 0 of pid 7 (demo): suspended in 1.5 ms\n"
                           "queue 1 of pid 7 (demo): skipped, sdma queue: only compute queues can "
                           "be held\n"
                           "queue 2 of pid 7 (demo): suspended in 2 ms\n");
    EXPECT_TRUE(report.messages.empty());
    const cli::Json& queues = report.json["queues"];
    ASSERT_EQ(queues.size(), 3U);
    EXPECT_EQ(queues[0]["outcome"], "suspended");
    EXPECT_EQ(queues[0]["state"], "HELD");
    EXPECT_EQ(queues[0]["holds"], cli::Json::array({"STICKY"}));
    EXPECT_EQ(queues[0]["latency_ns"], 1'500'000);
    EXPECT_EQ(queues[1]["outcome"], "skipped");
    EXPECT_TRUE(queues[1]["state"].is_null());
    EXPECT_EQ(report.json["pid"], 7);
    EXPECT_EQ(report.json["comm"], "demo");
}

TEST_F(SwitchTest, suspend_and_resume_include_queues_to_come_if_the_driver_can) {
    constexpr std::uint64_t caps = test::Script::all_caps | KFD_PREEMPT_CAP_PROCESS;
    script->expect_query(0, 0, caps);
    script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT, {0, 2},
                          {{0, held, sticky}, {0, held, sticky}});
    script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT,
                          {KFD_PREEMPT_ALL_QUEUES}, {{0, held, sticky}});
    EXPECT_EQ(cli::Exit::ok, cli::suspend(context, {7, {}}).exit);

    script->expect_query(0, 0, caps);
    script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_RESUME, {0, 2},
                          {{0, running, 0}, {0, running, 0}});
    script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_RESUME,
                          {KFD_PREEMPT_ALL_QUEUES}, {{-EBUSY, KFD_PREEMPT_STATE_PENDING, sticky}});
    const cli::Report report = cli::resume(context, {7, {}}, false);
    EXPECT_EQ(cli::Exit::failed, report.exit);
    expect_message(report, "cannot resume yet, nothing changed");

    script->expect_query(0, 0, caps);
    script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT, {2},
                          {{0, held, sticky}});
    EXPECT_EQ(cli::Exit::ok, cli::suspend(context, {7, {2}}).exit);
}

TEST_F(SwitchTest, suspend_drains_kills_and_bounds_the_stop_as_the_options_say) {
    constexpr std::uint64_t caps = test::Script::all_caps | KFD_PREEMPT_CAP_PROCESS;
    const auto expect = [&](std::uint16_t type, std::uint16_t later_type) {
        script->expect_query(0, 0, caps, 7U);
        script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT, {0, 2},
                              {{0, held, sticky}, {0, held, sticky}});
        script->change_last_switch(type, 250);
        script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT,
                              {KFD_PREEMPT_ALL_QUEUES}, {{0, held, sticky}});
        script->change_last_switch(later_type, 250);
    };
    expect(KFD_PREEMPT_TYPE_DRAIN, KFD_PREEMPT_TYPE_DRAIN);
    EXPECT_EQ(cli::Exit::ok,
              cli::suspend(context, {7, {}}, {.drain = true, .timeout_ms = 250}).exit);
    // The driver takes no RESET of a process; queues to come have no waves.
    expect(KFD_PREEMPT_TYPE_RESET, KFD_PREEMPT_TYPE_SAVE);
    EXPECT_EQ(cli::Exit::ok,
              cli::suspend(context, {7, {}}, {.kill = true, .timeout_ms = 250}).exit);
}

TEST_F(SwitchTest, suspend_asks_for_no_type_that_the_driver_lacks) {
    script->expect_query(0);
    cli::Report report = cli::suspend(context, {7, {0}}, {.drain = true});
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    expect_message(report, "cannot drain running waves, nothing changed");
    script->expect_query(0, 0, test::Script::all_caps,
                         1U << KFD_PREEMPT_TYPE_SAVE | 1U << KFD_PREEMPT_TYPE_DRAIN);
    report = cli::suspend(context, {7, {0}}, {.kill = true});
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    expect_message(report, "amdgpu.allow_reset=1");
}

TEST_F(SwitchTest, all_or_nothing_stops_the_queues_beside_one_that_is_stopped) {
    constexpr std::uint32_t flags = KFD_PREEMPT_SWITCH_STICKY | KFD_PREEMPT_SWITCH_ALL_OR_NOTHING;
    script->expect_query(0, 0, test::Script::all_caps & ~KFD_PREEMPT_CAP_PROCESS);
    script->expect_switch(7, flags, KFD_PREEMPT_OP_PREEMPT, {0, 2},
                          {{-EALREADY, held, sticky}, {-EBUSY, running, 0}});
    script->expect_switch(7, flags, KFD_PREEMPT_OP_PREEMPT, {2}, {{0, held, sticky}});
    const cli::Report report = cli::suspend(context, {7, {}}, {.all_or_nothing = true});
    EXPECT_EQ(report.exit, cli::Exit::ok);
}

TEST_F(SwitchTest, all_or_nothing_leaves_later_queues_alone_if_a_queue_failed) {
    constexpr std::uint32_t flags = KFD_PREEMPT_SWITCH_STICKY | KFD_PREEMPT_SWITCH_ALL_OR_NOTHING;
    script->expect_query(0, 0, test::Script::all_caps | KFD_PREEMPT_CAP_PROCESS);
    script->expect_switch(7, flags, KFD_PREEMPT_OP_PREEMPT, {0, 2},
                          {{-EIO, KFD_PREEMPT_STATE_DEAD, 0x80000000}, {-EBUSY, running, 0}});
    const cli::Report report = cli::suspend(context, {7, {}}, {.all_or_nothing = true});
    EXPECT_EQ(report.exit, cli::Exit::failed);
    ASSERT_EQ(report.messages.size(), 2U);
    EXPECT_NE(report.messages[1].find("another queue could not be suspended"), std::string::npos)
        << report.messages[1];
}

TEST_F(SwitchTest, all_or_nothing_takes_queues_of_one_gpu_and_one_call) {
    script->max_batch = 1;
    script->expect_query(0);
    expect_message(cli::suspend(context, {7, {}}, {.all_or_nothing = true}),
                   "has 2 queues, nothing changed");
    script->max_batch = KFD_PREEMPT_MAX_BATCH;
    tree.add_queue(7, 3);
    tree.write("sys/class/kfd/kfd/proc/7/queues/3/gpuid", "99");
    script->expect_query(0);
    expect_message(cli::suspend(context, {7, {}}, {.all_or_nothing = true}), "on several GPUs");
}

TEST_F(SwitchTest, a_process_that_keeps_itself_locked_is_tried_again) {
    expect_suspend({2}, {{-EBUSY, running, 0}});
    script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT, {2},
                          {{0, held, sticky}});
    EXPECT_EQ(cli::Exit::ok, cli::suspend(context, {7, {2}}).exit);
}

TEST_F(SwitchTest, a_named_sdma_queue_is_a_failure_and_the_driver_is_not_asked_for_it) {
    expect_suspend({2}, {{0, held, sticky}});
    const cli::Report report = cli::suspend(context, {7, {1, 2}});
    EXPECT_EQ(report.exit, cli::Exit::failed);
    EXPECT_EQ(report.text, "queue 2 of pid 7 (demo): suspended\n");
    expect_message(report, "queue 1 of pid 7 (demo): sdma queue");
}

TEST_F(SwitchTest, a_process_without_compute_queues_is_a_failure_without_any_ioctl) {
    tree.add_process(8, "copier");
    tree.add_kfd_process(8);
    tree.add_queue(8, 0, 1);
    const cli::Report report = cli::suspend(context, {8, {}});
    EXPECT_EQ(report.exit, cli::Exit::failed);
    expect_message(report, "pid 8 (copier): has no compute queue to suspend");
}

TEST_F(SwitchTest, already_suspended_is_success_with_a_note) {
    expect_suspend({0, 2}, {{-EALREADY, held, sticky}, {-EALREADY, held, sticky}});
    const cli::Report report = cli::suspend(context, {7, {}});
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_NE(report.text.find("queue 0 of pid 7 (demo): already suspended"), std::string::npos);
    EXPECT_EQ(report.json["queues"][0]["outcome"], "already");
    EXPECT_EQ(report.json["queues"][0]["errno"], "EALREADY");
}

TEST_F(SwitchTest, a_partial_failure_exits_1_and_names_each_queue) {
    expect_suspend({0, 2}, {{0, held, sticky}, {-EIO, KFD_PREEMPT_STATE_DEAD, 0x80000000}});
    const cli::Report report = cli::suspend(context, {7, {}});
    EXPECT_EQ(report.exit, cli::Exit::failed);
    EXPECT_NE(report.text.find("queue 0 of pid 7 (demo): suspended"), std::string::npos);
    expect_message(report, "queue 2 of pid 7 (demo): the queue is dead");
    EXPECT_EQ(report.json["queues"][2]["outcome"], "failed");
    EXPECT_EQ(report.json["queues"][2]["errno"], "EIO");
}

TEST_F(SwitchTest, a_stop_that_is_not_confirmed_is_pending_and_exits_1) {
    expect_suspend({0}, {{-ETIME, KFD_PREEMPT_STATE_PENDING, sticky}});
    const cli::Report report = cli::suspend(context, {7, {0}});
    EXPECT_EQ(report.exit, cli::Exit::failed);
    expect_message(report, "PENDING");
    EXPECT_EQ(report.json["queues"][0]["outcome"], "pending");
    EXPECT_EQ(report.json["queues"][0]["state"], "PENDING");
}

TEST_F(SwitchTest, a_queue_destroyed_meanwhile_matters_only_when_it_was_named) {
    expect_suspend({0, 2}, {{-ENOENT, 0, 0}, {0, held, sticky}});
    const cli::Report all = cli::suspend(context, {7, {}});
    EXPECT_EQ(all.exit, cli::Exit::ok);
    EXPECT_EQ(all.json["queues"][0]["outcome"], "gone");
    EXPECT_TRUE(all.json["queues"][0]["state"].is_null());

    expect_suspend({0}, {{-ENOENT, 0, 0}});
    const cli::Report named = cli::suspend(context, {7, {0}});
    EXPECT_EQ(named.exit, cli::Exit::failed);
    expect_message(named, "no such queue (any more)");
}

TEST_F(SwitchTest, without_the_right_it_exits_4_and_says_which_is_missing) {
    expect_suspend({0, 2}, {}, -EPERM);
    const cli::Report report = cli::suspend(context, {7, {}});
    EXPECT_EQ(report.exit, cli::Exit::permission);
    expect_message(report, "pid 7 (demo): not allowed to suspend queues of uid 1234: "
                           "CAP_SYS_PTRACE");
    EXPECT_EQ(report.json["error"]["errno"], "EPERM");
    expect_message(report, "run kfd-preempt as root (sudo)");
    tree.write("proc/self/status", "Uid:\t0\t0\t0\t0\n");
    expect_suspend({0, 2}, {}, -EPERM);
    expect_message(cli::suspend(context, {7, {}}), "with --cap-add SYS_PTRACE");
}

TEST_F(SwitchTest, operator_mode_0_is_named_for_suspend_only) {
    tree.write("sys/module/amdgpu/parameters/operator_mode", "0\n");
    expect_suspend({0}, {}, -EPERM);
    expect_message(cli::suspend(context, {7, {0}}), "amdgpu.operator_mode=0");
    expect_resume({0}, {}, -EPERM);
    expect_message(cli::resume(context, {7, {0}}, false), "CAP_SYS_PTRACE");
}

TEST_F(SwitchTest, a_process_that_ended_meanwhile_is_named) {
    expect_suspend({0}, {}, -ESRCH);
    const cli::Report report = cli::suspend(context, {7, {0}});
    EXPECT_EQ(report.exit, cli::Exit::failed);
    expect_message(report, "pid 7 (demo): it does not use KFD any more");
}

TEST_F(SwitchTest, an_unpatched_driver_is_found_by_query_and_exits_3) {
    script->expect_query(0, -ENOTTY);
    const cli::Report report = cli::suspend(context, {7, {}});
    EXPECT_EQ(report.exit, cli::Exit::unsupported);
    expect_message(report, "no queue preemption");
}

TEST_F(SwitchTest, einval_of_rocms_driver_is_no_preemption_and_of_ours_is_a_failure) {
    script->expect_query(0, -EINVAL);
    const cli::Report rocm = cli::suspend(context, {7, {}});
    EXPECT_EQ(rocm.exit, cli::Exit::unsupported);
    expect_message(rocm, "no queue preemption");
    script->expect_query(0, -EINVAL);
    EXPECT_EQ(cli::status(context, {7, {}}).exit, cli::Exit::unsupported);
    script->expect_query(0, -EINVAL);
    EXPECT_EQ(cli::resume(context, {7, {}}, false).exit, cli::Exit::unsupported);

    tree.write("sys/module/amdgpu/parameters/kfd_preempt_abi", "1.3\n");
    script->expect_query(0, -EINVAL);
    const cli::Report ours = cli::suspend(context, {7, {}});
    EXPECT_EQ(ours.exit, cli::Exit::failed);
    expect_message(ours, "Invalid argument");
}

TEST_F(SwitchTest, another_abi_or_a_driver_without_operators_exits_3) {
    script->expect_query(0, 0, test::Script::all_caps, 4, KFD_PREEMPT_ABI_MAJOR + 1);
    const cli::Report other = cli::suspend(context, {7, {}});
    EXPECT_EQ(other.exit, cli::Exit::unsupported);
    expect_message(other, "ABI 2.0, this command 1.5");

    script->expect_query(0, 0, KFD_PREEMPT_CAP_SAVE);
    const cli::Report self_only = cli::suspend(context, {7, {}});
    EXPECT_EQ(self_only.exit, cli::Exit::unsupported);
    expect_message(self_only, "it offers SAVE");
}

TEST_F(SwitchTest, more_queues_than_a_batch_go_in_several_calls) {
    script->max_batch = 2;
    tree.add_queue(7, 3);
    script->expect_query(0);
    script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT, {0, 2},
                          {{0, held, sticky}, {0, held, sticky}});
    script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT, {3},
                          {{0, held, sticky}});
    EXPECT_EQ(cli::suspend(context, {7, {}}).exit, cli::Exit::ok);
}

TEST_F(SwitchTest, what_was_done_before_a_failed_call_is_still_reported) {
    script->max_batch = 1;
    script->expect_query(0);
    script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT, {0},
                          {{0, held, sticky}});
    script->expect_switch(7, KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_OP_PREEMPT, {2}, {}, -ENOMEM);
    const cli::Report report = cli::suspend(context, {7, {}});
    EXPECT_EQ(report.exit, cli::Exit::failed);
    EXPECT_NE(report.text.find("queue 0 of pid 7 (demo): suspended"), std::string::npos);
    expect_message(report, "out of memory");
    EXPECT_EQ(report.json["queues"].size(), 2U); // queue 0 and the skipped one
}

TEST_F(SwitchTest, resume_says_who_still_holds_the_queue) {
    expect_resume({0, 2}, {{0, running, 0}, {0, held, KFD_PREEMPT_HOLD_SELF}});
    const cli::Report report = cli::resume(context, {7, {}}, false);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_NE(report.text.find("queue 0 of pid 7 (demo): resumed\n"), std::string::npos);
    EXPECT_NE(report.text.find("queue 2 of pid 7 (demo): released, but still held by SELF\n"),
              std::string::npos);
}

TEST_F(SwitchTest, resume_of_a_queue_that_was_not_suspended_says_why_it_may_still_stand) {
    expect_resume({0, 2}, {{-EALREADY, held, KFD_PREEMPT_HOLD_OPERATOR}, {-EALREADY, running, 0}});
    const cli::Report report = cli::resume(context, {7, {}}, false);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_NE(report.text.find("`resume --force`"), std::string::npos);
    EXPECT_NE(report.text.find("queue 2 of pid 7 (demo): not suspended, nothing to do"),
              std::string::npos);
}

TEST_F(SwitchTest, resume_with_force_sends_force_instead_of_sticky) {
    script->expect_query(0);
    script->expect_switch(7, KFD_PREEMPT_SWITCH_FORCE, KFD_PREEMPT_OP_RESUME, {0},
                          {{0, running, 0}});
    EXPECT_EQ(cli::resume(context, {7, {0}}, true).exit, cli::Exit::ok);
}

TEST_F(SwitchTest, resume_while_the_stop_is_pending_exits_1) {
    expect_resume({0}, {{-EBUSY, KFD_PREEMPT_STATE_PENDING, sticky}});
    const cli::Report report = cli::resume(context, {7, {0}}, false);
    EXPECT_EQ(report.exit, cli::Exit::failed);
    expect_message(report, "nothing changed");
}

TEST_F(SwitchTest, status_shows_every_queue_and_its_counters) {
    script->expect_query(0);
    script->expect_status(7, 0, 0, held, sticky);
    script->expect_status(7, 1, 0, running);
    script->expect_status(7, 2, -ENOENT); // destroyed meanwhile
    const cli::Report report = cli::status(context, {7, {}});
    EXPECT_EQ(report.exit, cli::Exit::ok);
    ASSERT_EQ(report.json["queues"].size(), 2U);
    EXPECT_EQ(report.json["queues"][0]["state"], "HELD");
    EXPECT_EQ(report.json["queues"][0]["preempts"], 3);
    EXPECT_EQ(report.json["queues"][0]["held_ns"], 1500);
    EXPECT_NE(report.text.find("HELD"), std::string::npos);
}

TEST_F(SwitchTest, status_without_the_right_exits_4) {
    script->expect_query(0);
    script->expect_status(7, 0, -EPERM);
    const cli::Report report = cli::status(context, {7, {}});
    EXPECT_EQ(report.exit, cli::Exit::permission);
    expect_message(report, "not allowed to see the status of queues of uid 1234");
}

TEST_F(SwitchTest, status_of_a_named_queue_that_is_gone_exits_1) {
    script->expect_query(0);
    script->expect_status(7, 0, -ENOENT);
    const cli::Report report = cli::status(context, {7, {0}});
    EXPECT_EQ(report.exit, cli::Exit::failed);
    expect_message(report, "queue 0 of pid 7 (demo)");
}

} // namespace
