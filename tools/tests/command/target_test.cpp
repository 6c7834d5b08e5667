// SPDX-License-Identifier: MIT
// The process and queues that a command line names, also when our pids aren't those of KFD.
#include "driver/driver.hpp"
#include "fixture_tree.hpp"
#include "processes/kfd_processes.hpp"
#include "processes/target_queues.hpp"
#include "processes/task.hpp"

#include <gtest/gtest.h>

namespace {

using test::FixtureTree;

void expect_failure(const cli::Outcome<cli::TargetQueues>& outcome, cli::Exit exit,
                    const std::string& part) {
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().exit, exit);
    EXPECT_NE(outcome.error().message.find(part), std::string::npos) << outcome.error().message;
}

TEST(PidNamespace, the_first_one_has_a_fixed_number) {
    const FixtureTree tree;
    EXPECT_TRUE(cli::in_initial_pid_namespace(tree.roots()).value());
    EXPECT_TRUE(cli::require_kfd_pids(tree.context()));
    for (const char* other : {"pid:[4026532177]", "pid:[40265318360]", "mnt:[4026531836]", "x"}) {
        tree.set_pid_namespace(other);
        EXPECT_FALSE(cli::in_initial_pid_namespace(tree.roots()).value()) << other;
    }
}

TEST(PidNamespace, an_unreadable_proc_is_refused_not_trusted) {
    const FixtureTree tree;
    tree.add_kfd_process(7);
    std::filesystem::remove_all(tree.root() / "proc/self");
    expect_failure(cli::queues_of(tree.context(), 7), cli::Exit::failed, "cannot find out");
}

TEST(PidNamespace, is_judged_before_any_pid_is_looked_up) {
    const FixtureTree tree;
    tree.add_kfd_process(7);
    tree.add_queue(7, 0);
    tree.add_process(7, "demo");
    tree.set_pid_namespace("pid:[4026532177]");
    expect_failure(cli::queues_of(tree.context(), 7), cli::Exit::failed, "pid namespace");
}

TEST(Target, every_reason_for_a_pid_without_queues_has_its_sentence) {
    const FixtureTree tree;
    expect_failure(cli::queues_of(tree.context(), 7), cli::Exit::unsupported, "no KFD");
    tree.add_kfd_process(8);
    expect_failure(cli::queues_of(tree.context(), 7), cli::Exit::failed, "no such process");
    tree.add_process(7, "bash");
    expect_failure(cli::queues_of(tree.context(), 7), cli::Exit::failed,
                   "pid 7 (bash): does not use a GPU");
    tree.write("proc/9/comm", "worker\n");
    tree.write("proc/9/status", "Tgid:\t8\nPid:\t9\nUid:\t1\t1\t1\t1\n");
    expect_failure(cli::queues_of(tree.context(), 9), cli::Exit::failed, "thread of pid 8");
}

TEST(Target, a_dead_process_that_kfd_has_not_cleared_away_yet_is_no_process) {
    const FixtureTree tree;
    tree.add_kfd_process(7);
    expect_failure(cli::queues_of(tree.context(), 7), cli::Exit::failed, "no such process");
    tree.add_queue(7, 0); // hidden by /proc, but alive
    EXPECT_TRUE(cli::queues_of(tree.context(), 7));
}

TEST(Target, named_queues_keep_their_order_and_are_taken_once) {
    const FixtureTree tree;
    tree.add_process(7, "demo");
    tree.add_kfd_process(7);
    for (const unsigned id : {0U, 1U, 2U})
        tree.add_queue(7, id);
    const auto selected = cli::queues_of(tree.context(), 7, {2, 0, 2});
    ASSERT_TRUE(selected);
    ASSERT_EQ(selected->queues.size(), 2U);
    EXPECT_EQ(selected->queues[0].queue_id, 2U);
    EXPECT_EQ(selected->queues[1].queue_id, 0U);
}

TEST(Target, an_unknown_queue_is_refused_with_those_there_are) {
    const FixtureTree tree;
    tree.add_process(7, "demo");
    tree.add_kfd_process(7);
    expect_failure(cli::queues_of(tree.context(), 7, {5}), cli::Exit::failed,
                   "pid 7 (demo) has no queue 5: it has none");
    tree.add_queue(7, 0);
    tree.add_queue(7, 3);
    expect_failure(cli::queues_of(tree.context(), 7, {0, 5}), cli::Exit::failed, "it has 0, 3");
}

TEST(Task, reads_effective_uid_and_keeps_every_byte_of_the_name) {
    const FixtureTree tree;
    tree.add_process(7, "a) \n b", 1234);
    const auto task = cli::task_of(tree.roots(), 7);
    ASSERT_TRUE(task);
    EXPECT_EQ(task->comm, "a) \n b");
    EXPECT_EQ(task->uid, 1234U);
    EXPECT_EQ(task->tgid, 7);
    EXPECT_EQ(cli::task_of(tree.roots(), 8).error().errno_value, ESRCH);
}

TEST(Task, a_malformed_status_is_an_error_not_a_guess) {
    const FixtureTree tree;
    tree.add_process(7, "demo");
    for (const char* text : {"", "Tgid:\t7\n", "Tgid:\t7\nUid:\t1\n", "Tgid:\tx\nUid:\t1\t2\n"}) {
        tree.write("proc/7/status", text);
        EXPECT_FALSE(cli::task_of(tree.roots(), 7)) << text;
    }
}

TEST(Task, root_is_known_by_the_effective_uid) {
    const FixtureTree tree;
    EXPECT_FALSE(cli::is_root(tree.roots()));
    tree.write("proc/self/status", "Uid:\t0\t1000\t0\t0\n");
    EXPECT_FALSE(cli::is_root(tree.roots()));
    tree.write("proc/self/status", "Uid:\t1000\t0\t1000\t1000\n");
    EXPECT_TRUE(cli::is_root(tree.roots()));
}

TEST(Task, capability_mask_is_hexadecimal) {
    const FixtureTree tree;
    EXPECT_FALSE(cli::has_cap_sys_ptrace(tree.roots()));
    tree.write("proc/self/status", "CapEff:\t000001ffffffffff\n");
    EXPECT_TRUE(cli::has_cap_sys_ptrace(tree.roots()));
    tree.write("proc/self/status", "CapEff:\t0000000000000000\n");
    EXPECT_FALSE(cli::has_cap_sys_ptrace(tree.roots()));
    tree.write("proc/self/status", "CapEff:\t0000000000080000\n");
    EXPECT_TRUE(cli::has_cap_sys_ptrace(tree.roots()));
    tree.write("proc/self/status", "CapEff:\t00000000fff7ffff\n");
    EXPECT_FALSE(cli::has_cap_sys_ptrace(tree.roots()));
}

} // namespace
