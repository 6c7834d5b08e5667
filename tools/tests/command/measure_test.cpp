// SPDX-License-Identifier: MIT
// measure against scripted ioctls: what is stopped, resumed, counted, and how a failure ends it.
#include "verbs/measure.hpp"

#include "fixture_tree.hpp"
#include "output/latency.hpp"
#include "scripted_driver.hpp"

#include <csignal>
#include <gtest/gtest.h>
#include <numeric>

namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t held = KFD_PREEMPT_STATE_HELD;
constexpr std::uint32_t running = KFD_PREEMPT_STATE_RUNNING;
constexpr std::uint32_t pending = KFD_PREEMPT_STATE_PENDING;
constexpr std::uint32_t by_operator = KFD_PREEMPT_HOLD_OPERATOR;
constexpr std::uint16_t stop = KFD_PREEMPT_OP_PREEMPT;
constexpr std::uint16_t start = KFD_PREEMPT_OP_RESUME;

class MeasureTest : public testing::Test {
protected:
    // Process 7 has compute queues 0 and 2 and SDMA queue 1.
    MeasureTest() : context(tree.context()), script(std::make_shared<test::Script>()) {
        tree.add_process(7, "demo", 1234);
        tree.add_kfd_process(7);
        tree.add_queue(7, 0);
        tree.add_queue(7, 1, 1);
        tree.add_queue(7, 2);
        test::attach(context, script);
    }
    void expect_round(std::uint64_t first_ns, std::uint64_t second_ns) {
        script->expect_switch(
            7, 0, stop, {0, 2},
            {{0, held, by_operator, first_ns}, {0, held, by_operator, second_ns}});
        script->expect_switch(7, 0, start, {0, 2}, {{0, running, 0}, {0, running, 0}});
    }
    cli::Report measure(std::uint64_t count) { return cli::measure(context, 7, {count, 0ms}); }

    test::FixtureTree tree;
    cli::Context context;
    std::shared_ptr<test::Script> script;
};

TEST(PercentilesTest, are_samples_of_nearest_rank) {
    std::vector<std::uint64_t> samples(200);
    std::iota(samples.rbegin(), samples.rend(), 1);
    const auto times = cli::percentiles(samples);
    ASSERT_TRUE(times);
    EXPECT_EQ(times->samples, 200U);
    EXPECT_EQ(times->p50, 100U);
    EXPECT_EQ(times->p90, 180U);
    EXPECT_EQ(times->p99, 198U);
    EXPECT_EQ(times->max, 200U);
}

TEST(PercentilesTest, of_one_sample_are_that_sample_and_of_none_nothing) {
    const auto one = cli::percentiles({7});
    ASSERT_TRUE(one);
    EXPECT_EQ(one->p50, 7U);
    EXPECT_EQ(one->p99, 7U);
    EXPECT_FALSE(cli::percentiles({}));
    EXPECT_TRUE(cli::json_of(std::nullopt).is_null());
}

TEST_F(MeasureTest, counts_the_slowest_queue_of_each_round_without_sticky_holds) {
    script->expect_query(0);
    expect_round(1000, 3000);
    expect_round(5000, 2000);
    const cli::Report report = measure(2);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.json["rounds"], 2);
    EXPECT_EQ(report.json["queues"], 2);
    EXPECT_EQ(report.json["ended"], "done");
    EXPECT_EQ(report.json["stop"]["driver"]["p50_ns"], 3000);
    EXPECT_EQ(report.json["stop"]["driver"]["max_ns"], 5000);
    EXPECT_EQ(report.json["resume"]["call"]["samples"], 2);
}

TEST_F(MeasureTest, a_round_in_which_another_hold_keeps_the_queues_stopped_is_no_sample) {
    script->expect_query(0);
    expect_round(0, 0);
    const cli::Report report = measure(1);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.json["rounds_without_stop"], 1);
    EXPECT_TRUE(report.json["stop"]["call"].is_null());
}

TEST_F(MeasureTest, an_unconfirmed_stop_is_resumed_until_the_hardware_lets_it_and_fails) {
    script->expect_query(0);
    script->expect_switch(7, 0, stop, {0, 2},
                          {{-ETIME, pending, by_operator}, {0, held, by_operator, 10}});
    script->expect_switch(7, 0, start, {0, 2}, {{-EBUSY, pending, by_operator}, {0, running, 0}});
    script->expect_switch(7, 0, start, {0}, {{0, running, 0}});
    const cli::Report report = measure(5);
    EXPECT_EQ(report.exit, cli::Exit::failed);
    EXPECT_EQ(report.json["ended"], "failed");
    EXPECT_EQ(report.json["error"]["errno"], "ETIME");
    EXPECT_EQ(report.json["rounds"], 0);
}

TEST_F(MeasureTest, a_queue_that_cannot_be_stopped_ends_it_with_the_others_resumed) {
    script->expect_query(0);
    expect_round(100, 100);
    script->expect_switch(7, 0, stop, {0, 2},
                          {{0, held, by_operator, 10}, {-EIO, KFD_PREEMPT_STATE_DEAD, 0}});
    script->expect_switch(7, 0, start, {0}, {{0, running, 0}});
    const cli::Report report = measure(5);
    EXPECT_EQ(report.exit, cli::Exit::failed);
    EXPECT_EQ(report.json["rounds"], 1);
    EXPECT_EQ(report.json["error"]["errno"], "EIO");
}

TEST_F(MeasureTest, a_queue_destroyed_meanwhile_is_left_out) {
    script->expect_query(0);
    script->expect_switch(7, 0, stop, {0, 2}, {{-ENOENT, 0, 0}, {0, held, by_operator, 10}});
    script->expect_switch(7, 0, start, {2}, {{0, running, 0}});
    EXPECT_EQ(measure(1).exit, cli::Exit::ok);
}

TEST_F(MeasureTest, a_call_that_the_driver_refuses_resumes_nothing) {
    script->expect_query(0);
    script->expect_switch(7, 0, stop, {0, 2}, {}, -EPERM);
    const cli::Report report = measure(1);
    EXPECT_EQ(report.exit, cli::Exit::permission);
}

// Between rounds: a signal during one is seen after its resume.
TEST_F(MeasureTest, a_signal_during_a_round_ends_it_after_the_resume) {
    script->expect_query(0);
    expect_round(100, 100);
    script->before_switch = [] { ::raise(SIGINT); };
    const cli::Report report = measure(5);
    EXPECT_EQ(report.exit, cli::Exit::ok);
    EXPECT_EQ(report.json["ended"], "interrupted");
    EXPECT_EQ(report.json["rounds"], 1);
}

TEST_F(MeasureTest, a_process_without_compute_queues_is_a_failure_without_any_ioctl) {
    tree.add_process(8, "copier");
    tree.add_kfd_process(8);
    tree.add_queue(8, 0, 1);
    const cli::Report report = cli::measure(context, 8, {});
    EXPECT_EQ(report.exit, cli::Exit::failed);
    EXPECT_EQ(report.messages.at(0), "pid 8 (copier): has no compute queue to measure");
}

} // namespace
