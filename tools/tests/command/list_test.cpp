// SPDX-License-Identifier: MIT
// list: processes and queues, with and without states.
#include "fixture_tree.hpp"
#include "scripted_driver.hpp"
#include "verbs/top.hpp"
#include "verbs/verbs.hpp"

#include <gtest/gtest.h>

namespace {

class ListTest : public testing::Test {
protected:
    ListTest() : context(tree.context()), script(std::make_shared<test::Script>()) {
        tree.add_process(7, "demo");
        tree.add_kfd_process(7);
        tree.add_queue(7, 0);
        tree.add_process(9, "x\x1b[2J\ny");
        tree.add_kfd_process(9);
        tree.add_queue(9, 4, 1);
    }

    test::FixtureTree tree;
    cli::Context context;
    std::shared_ptr<test::Script> script;
};

TEST_F(ListTest, shows_states_and_holds_and_disarms_names) {
    test::attach(context, script);
    script->expect_query(0);
    script->expect_status(7, 0, 0, KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_STICKY);
    script->expect_status(9, 4, 0, KFD_PREEMPT_STATE_RUNNING);
    const cli::Report report = cli::list(context, {});
    EXPECT_EQ(report.text, "PID  COMM           QUEUE  GPU   TYPE     RING   STATE    HOLDS\n"
                           "7    demo           0      5230  compute  4 KiB  HELD     STICKY\n"
                           "9    x\\x1b[2J\\x0ay  4      5230  sdma     4 KiB  RUNNING  -\n");
    EXPECT_EQ(report.json["processes"][0]["queues"][0]["state"], "HELD");
    EXPECT_EQ(report.json["processes"][0]["queues"][0]["ring_bytes"], 4096);
    EXPECT_EQ(report.exit, cli::Exit::ok);
}

TEST_F(ListTest, shows_the_size_of_save_areas_where_the_topology_has_it) {
    test::attach(context, script);
    script->expect_query(0);
    script->expect_status(7, 0, 0, KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_STICKY);
    script->expect_status(9, 4, 0, KFD_PREEMPT_STATE_RUNNING);
    EXPECT_TRUE(
        cli::list(context, {}).json["processes"][0]["queues"][0]["save_area_bytes"].is_null());
    tree.add_node(1, 5230);
    tree.write("sys/class/kfd/kfd/topology/nodes/1/properties",
               "simd_count 320\nsimd_per_cu 4\narray_count 16\nsimd_arrays_per_engine 1\n"
               "num_xcc 4\ngfx_target_version 90402\n");
    script->expect_query(0);
    script->expect_status(7, 0, 0, KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_STICKY);
    script->expect_status(9, 4, 0, KFD_PREEMPT_STATE_RUNNING);
    const cli::Report report = cli::list(context, {});
    EXPECT_EQ(report.text,
              "PID  COMM           QUEUE  GPU   TYPE     RING   SAVE      STATE    HOLDS\n"
              "7    demo           0      5230  compute  4 KiB  46.7 MiB  HELD     STICKY\n"
              "9    x\\x1b[2J\\x0ay  4      5230  sdma     4 KiB  -         RUNNING  -\n");
    EXPECT_EQ(report.json["processes"][0]["queues"][0]["save_area_bytes"], 48'959'488);
    EXPECT_EQ(report.json["processes"][1]["queues"][0]["save_area_bytes"], 0);
}

TEST_F(ListTest, works_without_preemption_and_says_why_there_are_no_states) {
    test::attach(context, script);
    script->expect_query(0, -ENOTTY);
    const cli::Report report = cli::list(context, {7});
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_NE(report.text.find("compute  4 KiB  ?      ?"), std::string::npos) << report.text;
    ASSERT_EQ(report.messages.size(), 1U);
    EXPECT_NE(report.messages[0].find("no queue preemption"), std::string::npos);
    EXPECT_TRUE(report.json["processes"][0]["queues"][0]["state"].is_null());
    EXPECT_EQ(report.json["processes"][0]["queues"][0]["errno"], "ENOTTY");
}

TEST_F(ListTest, einval_of_rocms_driver_is_a_driver_without_preemption) {
    test::attach(context, script);
    script->expect_query(0, -EINVAL);
    const cli::Report report = cli::list(context, {7});
    EXPECT_EQ(report.exit, cli::Exit::ok);
    ASSERT_EQ(report.messages.size(), 1U);
    EXPECT_NE(report.messages[0].find("no queue preemption"), std::string::npos);
    EXPECT_EQ(report.json["processes"][0]["queues"][0]["errno"], "ENOTTY");
}

TEST_F(ListTest, another_users_process_has_no_state_and_one_that_ended_no_queues) {
    test::attach(context, script);
    script->expect_query(0);
    script->expect_status(7, 0, -EPERM);
    script->expect_status(9, 4, -ESRCH);
    const cli::Report report = cli::list(context, {});
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.json["processes"][0]["queues"][0]["errno"], "EPERM");
    EXPECT_TRUE(report.json["processes"][1]["queues"].empty());
    ASSERT_EQ(report.messages.size(), 1U);
    EXPECT_NE(report.messages[0].find("root"), std::string::npos);
}

TEST_F(ListTest, a_process_whose_name_is_hidden_is_listed_by_pid) {
    std::filesystem::remove_all(tree.root() / "proc/7");
    const cli::Report report = cli::list(context, {7});
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_TRUE(report.json["processes"][0]["comm"].is_null());
}

// As in a container that was given /sys alone: the fixture has no /dev/kfd.
TEST_F(ListTest, without_the_device_it_still_shows_the_queues_of_sysfs) {
    const cli::Report report = cli::list(context, {7});
    EXPECT_NE(report.text.find("compute  4 KiB  ?      ?"), std::string::npos) << report.text;
    ASSERT_EQ(report.messages.size(), 1U);
    EXPECT_NE(report.messages[0].find("/dev/kfd is missing"), std::string::npos);
}

TEST_F(ListTest, leaves_out_a_queue_that_was_destroyed_meanwhile) {
    test::attach(context, script);
    script->expect_query(0);
    script->expect_status(7, 0, -ENOENT);
    EXPECT_EQ(cli::list(context, {7}).text, "no process has a queue\n");
}

TEST_F(ListTest, nothing_to_list_is_not_a_failure_but_an_unknown_pid_is) {
    const test::FixtureTree empty;
    empty.make_directory("sys/class/kfd/kfd/proc");
    const cli::Report nothing = cli::list(empty.context(), {});
    EXPECT_EQ(nothing.exit, cli::Exit::ok);
    EXPECT_EQ(nothing.text, "no process has a queue\n");
    EXPECT_TRUE(nothing.json["processes"].empty());
    EXPECT_EQ(cli::list(empty.context(), {7}).exit, cli::Exit::failed);
}

TEST_F(ListTest, without_kfd_it_exits_3) {
    const test::FixtureTree empty;
    EXPECT_EQ(cli::list(empty.context(), {}).exit, cli::Exit::unsupported);
}

TEST_F(ListTest, top_asks_for_the_state_of_each_queue_of_each_process) {
    test::attach(context, script);
    script->expect_query(0);
    cli::TopReader reader(context, {});
    script->expect_status(7, 0, 0, KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_STICKY);
    script->expect_status(9, 4, 0, KFD_PREEMPT_STATE_RUNNING);
    const cli::Report report = reader.read();
    EXPECT_NE(report.text.find("2 processes, 2 queues, 1 held"), std::string::npos) << report.text;
    EXPECT_NE(report.text.find("compute  HELD     STICKY  3 "), std::string::npos) << report.text;
}

// A thread, a process without queues, no process: what list reports.
TEST_F(ListTest, top_checks_the_processes_that_it_is_given) {
    for (const pid_t pid : {8, 99}) {
        const cli::Report expected = cli::list(context, {pid});
        const cli::Report report = cli::TopReader(context, {7, pid}).read();
        EXPECT_NE(report.exit, cli::Exit::ok);
        EXPECT_EQ(report.exit, expected.exit);
        EXPECT_EQ(report.messages, expected.messages);
    }
}

TEST_F(ListTest, top_goes_on_when_a_process_has_ended) {
    cli::TopReader reader(context, {7});
    EXPECT_EQ(reader.read().exit, cli::Exit::ok);
    std::filesystem::remove_all(context.roots.sysfs / "class/kfd/kfd/proc/7");
    const cli::Report report = reader.read();
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.text.substr(0, 12), "0 processes,");
}

} // namespace
