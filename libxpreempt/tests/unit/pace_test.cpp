// SPDX-License-Identifier: MIT
// Threshold and batch from command times; and the level that a latency budget needs.
#include "xqueue/pace.hpp"

#include "unit/fake_hw_queue.hpp"
#include "xqueue/xqueue.hpp"

#include <gtest/gtest.h>
#include <thread>

namespace {

using test::FakeHardware;
using test::FakeHwQueue;
using xpreempt::xqueue::DeactivateMethod;
using xpreempt::xqueue::LaunchConfig;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::Pace;
using xpreempt::xqueue::XQueue;

constexpr std::uint64_t us = 1000;

// Commands that take so long each, noticed one by one.
Pace measured(std::uint64_t command_ns, std::uint64_t budget_ns) {
    Pace pace({16, 8, 64, budget_ns});
    for (std::uint64_t i = 1; i <= 50; ++i)
        pace.completed(i * command_ns, 1);
    return pace;
}

TEST(Pace, without_a_budget_is_what_was_configured) {
    Pace pace({12, 3, 64, 0});
    pace.completed(1, 1);
    pace.refilled(true);
    EXPECT_EQ(12U, pace.threshold());
    EXPECT_EQ(3U, pace.batch());
}

TEST(Pace, begins_with_as_few_as_possible) {
    const Pace pace({16, 8, 64, 1});
    EXPECT_EQ(2U, pace.threshold());
    EXPECT_EQ(1U, pace.batch());
    EXPECT_EQ(0U, pace.command_ns());
    EXPECT_FALSE(pace.keeps_budget());
}

TEST(Pace, allows_as_many_as_end_within_the_budget) {
    EXPECT_EQ(10U, measured(100 * us, 1000 * us).threshold());
    EXPECT_EQ(5U, measured(100 * us, 1000 * us).batch());
    EXPECT_EQ(9U, measured(100 * us, 980 * us).threshold());
    EXPECT_EQ(10U, measured(100 * us, 990 * us).threshold()); // an eighth of a command is accepted
    EXPECT_EQ(16U, measured(10 * us, 1000 * us).threshold()); // as configured, at most
    EXPECT_EQ(2U, measured(1000 * us, 100 * us).threshold()); // at least
}

TEST(Pace, tells_what_keeps_the_budget) {
    EXPECT_TRUE(measured(100 * us, 200 * us).keeps_budget());
    EXPECT_FALSE(measured(100 * us, 180 * us).keeps_budget());
    EXPECT_TRUE(measured(100 * us, 180 * us).command_keeps_budget());
    EXPECT_FALSE(measured(100 * us, 50 * us).command_keeps_budget());
}

TEST(Pace, measures_the_time_of_one_command_and_follows_it) {
    Pace pace({16, 8, 64, 1000 * us});
    pace.completed(1000 * us, 4);
    EXPECT_EQ(0U, pace.command_ns()); // since when?
    pace.completed(1400 * us, 4);
    EXPECT_EQ(100 * us, pace.command_ns());
    for (std::uint64_t i = 0; i < 100; ++i)
        pace.completed(1400 * us + i * 50 * us, 1);
    EXPECT_EQ(50 * us, pace.command_ns());
}

// The thread that waits was woken late: one sample is too long, the next one too short.
TEST(Pace, does_not_follow_a_late_wake_up) {
    Pace pace = measured(100 * us, 1000 * us);
    pace.completed(5400 * us, 1);
    pace.completed(5401 * us, 1);
    EXPECT_EQ(100 * us, pace.command_ns());
}

// Two threads notice two completions; the second one tells it first.
TEST(Pace, does_not_measure_backwards) {
    Pace pace = measured(100 * us, 1000 * us);
    for (std::uint64_t i = 1; i < 20; ++i) {
        pace.completed(5000 * us + i * 100 * us, 1);
        pace.completed(5000 * us + i * 100 * us - 1, 1);
    }
    EXPECT_EQ(100 * us, pace.command_ns());
}

TEST(Pace, expects_the_end_of_what_is_in_flight) {
    Pace pace = measured(100 * us, 1000 * us); // the last one ended at 5000 us
    EXPECT_EQ(300 * us, pace.expect(3, 5000 * us).soonest_ns);
    EXPECT_EQ(240 * us, pace.expect(3, 5060 * us).soonest_ns);
    EXPECT_EQ(300 * us, pace.expect(3, 5060 * us).latest_ns);
    EXPECT_EQ(0U, pace.expect(3, 9000 * us).soonest_ns);
    EXPECT_EQ(300 * us, pace.expect(3, 9000 * us).latest_ns);
    pace.started(8900 * us, true); // behind an idle time
    EXPECT_EQ(200 * us, pace.expect(3, 9000 * us).soonest_ns);
    EXPECT_EQ(0U, Pace({16, 8, 64, 0}).expect(3, 9000 * us).latest_ns);
}

// A sleep must not be too long, however much the times differ.
TEST(Pace, expects_the_soonest_end_by_the_shortest_time) {
    Pace pace = measured(100 * us, 1000 * us);
    pace.completed(5040 * us, 1);
    EXPECT_EQ(100 * us, pace.command_ns());
    EXPECT_EQ(120 * us, pace.expect(3, 5040 * us).soonest_ns);
    EXPECT_EQ(300 * us, pace.expect(3, 5040 * us).latest_ns);
}

// The hardware was idle behind commands whose end went unnoticed.
TEST(Pace, does_not_measure_idle_time_behind_commands_without_a_marker) {
    FakeHardware hardware;
    XQueue queue(std::make_unique<FakeHwQueue>(hardware), {16, 4, 64, 0}, Level::interrupt);
    const auto submit = [&](int count) {
        for (int i = 0; i < count; ++i)
            ASSERT_TRUE(queue.submit({[](void*, void*) { return 0; }, nullptr}));
    };
    // While a thread waits for the marker of four commands.
    std::uint64_t done = 0;
    hardware.in_wait = [&] {
        hardware.now_ns += 400 * us;
        hardware.complete(done += 4);
    };
    submit(4 + 4 + 4 + 1);
    for (const xpreempt::xqueue::Ticket marked : {4U, 8U, 12U})
        ASSERT_TRUE(queue.wait(marked));
    EXPECT_EQ(100 * us, queue.state().command_ns);
    for (xpreempt::xqueue::Ticket marked = 16; marked <= 32; marked += 4) {
        hardware.now_ns += 100'000 * us;
        submit(4);
        ASSERT_TRUE(queue.wait(marked));
    }
    EXPECT_EQ(100 * us, queue.state().command_ns);
}

TEST(Pace, does_not_measure_across_a_gap) {
    Pace pace = measured(100 * us, 1000 * us);
    pace.gap();
    pace.completed(90000 * us, 1);
    EXPECT_EQ(100 * us, pace.command_ns());
}

TEST(Pace, keeps_more_in_flight_when_the_hardware_ran_dry_and_fewer_in_time) {
    Pace pace = measured(100 * us, 200 * us);
    for (int i = 0; i < 6; ++i)
        pace.refilled(true);
    EXPECT_EQ(3U, pace.threshold());
    EXPECT_FALSE(pace.keeps_budget());
    for (int i = 0; i < 64; ++i)
        pace.refilled(false);
    EXPECT_EQ(2U, pace.threshold());
    for (int i = 0; i < 100; ++i)
        pace.refilled(true);
    EXPECT_EQ(16U, pace.threshold());
}

// 20 us before the end, or an eighth of a command.
TEST(Pace, launches_the_second_just_in_time_if_the_budget_has_room_for_one) {
    Pace pace = measured(100 * us, 40 * us); // the last one ended at 5000 us
    EXPECT_EQ(2U, pace.threshold());
    EXPECT_EQ(1U, pace.room(0));
    EXPECT_EQ(1U, pace.room(1));
    EXPECT_EQ(0U, pace.room(2));
    EXPECT_EQ(0U, pace.launch_delay_ns(0, 5000 * us));
    EXPECT_EQ(80 * us, pace.launch_delay_ns(1, 5000 * us));
    EXPECT_EQ(30 * us, pace.launch_delay_ns(1, 5050 * us));
    EXPECT_EQ(0U, pace.launch_delay_ns(1, 5081 * us));
    EXPECT_EQ(875 * us, measured(1000 * us, 40 * us).launch_delay_ns(1, 50000 * us));
    EXPECT_EQ(0U, measured(100 * us, 200 * us).launch_delay_ns(1, 5000 * us)); // there is room
}

TEST(Pace, launches_at_once_while_just_in_time_leaves_the_hardware_dry) {
    Pace pace = measured(100 * us, 40 * us);
    for (int i = 0; i < 3; ++i)
        pace.refilled(true);
    EXPECT_EQ(0U, pace.launch_delay_ns(1, 5000 * us));
    EXPECT_EQ(2U, pace.room(0));
    for (int i = 0; i < 64; ++i)
        pace.refilled(false);
    EXPECT_EQ(80 * us, pace.launch_delay_ns(1, 5000 * us));
}

// A wake-up that comes late now and then costs less than a command more in each suspend.
TEST(Pace, accepts_a_few_dry_refills) {
    Pace pace = measured(100 * us, 200 * us);
    for (int i = 0; i < 640; ++i)
        pace.refilled(i % 32 == 0);
    EXPECT_EQ(2U, pace.threshold());
}

// Until a launch is due, or until the oldest has ended.
TEST(Pace, sleeps_until_something_is_due_less_a_margin) {
    const Pace one = measured(1000 * us, 40 * us); // the last one ended at 50000 us
    EXPECT_EQ(775 * us, one.sleep_ns(1, 1, true, 100 * us, 50000 * us));
    EXPECT_EQ(900 * us, one.sleep_ns(2, 1, true, 100 * us, 50000 * us));
    EXPECT_EQ(1775 * us, one.sleep_ns(2, 1, false, 100 * us, 50000 * us));
    EXPECT_EQ(0U, one.sleep_ns(1, 1, true, 100 * us, 50800 * us));
    const Pace two = measured(1000 * us, 2000 * us);
    EXPECT_EQ(900 * us, two.sleep_ns(2, 1, true, 100 * us, 50000 * us));
    EXPECT_EQ(1000 * us, two.sleep_ns(2, 1, false, 100 * us, 50000 * us)); // another one runs then
    EXPECT_EQ(400 * us, two.sleep_ns(2, 1, false, 600 * us, 50000 * us));
    EXPECT_EQ(0U, two.sleep_ns(1, 1, false, 0, 50000 * us)); // there is room
}

TEST(Pace, sleeps_when_it_has_measured_and_no_longer_than_the_shortest_command) {
    Pace pace({16, 8, 64, 40 * us});
    for (std::uint64_t i = 1; i <= 5; ++i) {
        EXPECT_EQ(0U, pace.sleep_ns(1, 1, true, 0, i * 1000 * us)) << i;
        pace.completed(i * 1000 * us, 1);
    }
    EXPECT_EQ(875 * us, pace.sleep_ns(1, 1, true, 0, 5000 * us));
    pace.completed(5400 * us, 1);
    EXPECT_EQ(275 * us, pace.sleep_ns(1, 1, true, 0, 5400 * us)); // the median is still 1000 us
    pace.forget();
    EXPECT_EQ(0U, pace.sleep_ns(1, 1, true, 0, 5400 * us));
}

TEST(Pace, measures_behind_one_that_ended_unseen) {
    Pace pace = measured(100 * us, 40 * us); // the last one ended at 5000 us
    pace.completed_unseen(5130 * us, 1);
    EXPECT_EQ(80 * us, pace.launch_delay_ns(1, 5100 * us)); // it is expected to have ended then
    pace.completed(5200 * us, 1);
    EXPECT_EQ(100 * us, pace.command_ns()); // 200 us for two
    pace.completed_unseen(5250 * us, 1);
    EXPECT_EQ(30 * us, pace.launch_delay_ns(1, 5300 * us)); // not in the future
}

TEST(Pace, does_not_take_a_late_look_for_a_longer_command) {
    Pace pace = measured(100 * us, 40 * us); // the last one ended at 5000 us
    for (std::uint64_t i = 1; i < 20; ++i)
        pace.completed_unseen((5000 + i * 5000) * us, 1);
    EXPECT_EQ(100 * us, pace.command_ns());
}

// One late wake-up of a hundred must not keep more in flight than are needed.
TEST(Pace, lowers_the_number_in_flight_beside_a_few_dry_refills) {
    Pace pace = measured(20 * us, 40 * us);
    for (int i = 0; i < 12; ++i)
        pace.refilled(true);
    EXPECT_EQ(5U, pace.threshold());
    for (int i = 0; i < 8 * 64; ++i)
        pace.refilled(i % 64 == 0);
    EXPECT_EQ(2U, pace.threshold());
}

// Where two in flight are too few, to try them again and again would cost more than they save.
TEST(Pace, tries_fewer_in_flight_ever_more_seldom) {
    Pace pace = measured(20 * us, 40 * us);
    int dry = 0;
    for (int i = 0; i < 64 * 64; ++i) {
        const bool too_few = pace.threshold() < 3;
        dry += too_few ? 1 : 0;
        pace.refilled(too_few);
    }
    EXPECT_EQ(3U, pace.threshold());
    EXPECT_LE(dry, 8 * 3);
    // They are enough again.
    for (int i = 0; i < 66 * 64; ++i)
        pace.refilled(false);
    EXPECT_EQ(2U, pace.threshold());
}

// The query that finds it takes 2 us.
TEST(Pace, does_not_measure_a_command_that_had_ended_before_the_wait) {
    FakeHardware hardware;
    hardware.now_ns = us;
    hardware.in_poll = [&] { hardware.now_ns += 2 * us; };
    XQueue queue(std::make_unique<FakeHwQueue>(hardware), {16, 4, 64, 0}, Level::block);
    const auto ticket = queue.submit({[](void*, void*) { return 0; }, nullptr});
    ASSERT_TRUE(ticket);
    hardware.complete_all();
    hardware.now_ns += 5000 * us;
    ASSERT_TRUE(queue.wait(*ticket));
    EXPECT_EQ(0U, queue.state().command_ns);
}

// Commands that come one by one have no completion before them to measure from.
TEST(Pace, measures_a_command_that_is_alone_from_its_launch) {
    Pace pace({16, 8, 64, 0});
    pace.started(1000 * us, true);
    pace.completed(1013 * us, 1);
    EXPECT_EQ(13 * us, pace.command_ns());
}

TEST(Pace, does_not_measure_from_a_launch_beside_others_or_before_a_gap) {
    Pace pace({16, 8, 64, 0});
    pace.started(1000 * us, false); // other xqueues keep the device busy
    pace.completed(1500 * us, 1);
    EXPECT_EQ(0U, pace.command_ns());
    pace.gap();
    pace.started(2000 * us, true);
    pace.gap(); // a suspend, or a second command without a marker
    pace.completed(2500 * us, 1);
    EXPECT_EQ(0U, pace.command_ns());
    pace.gap();
    pace.started(3000 * us, true);
    pace.completed(3100 * us, 2); // the launch of the second took a part of the time
    EXPECT_EQ(0U, pace.command_ns());
}

// An XQueue that has measured 100 us for each of its commands.
class BudgetTest : public ::testing::Test {
protected:
    BudgetTest()
        : queue_(std::make_unique<FakeHwQueue>(hardware_), {16, 8, 4096, 1}, Level::interrupt) {
        for (int i = 0; i < 4000; ++i)
            EXPECT_TRUE(queue_.submit({[](void*, void*) { return 0; }, nullptr}));
        std::uint64_t done = 0;
        while (queue_.state().command_ns == 0) {
            hardware_.now_ns += 100 * us;
            hardware_.complete(++done);
            // The worker must be waiting when the next one completes, or it says nothing.
            while (hardware_.launched() < done + 2 && queue_.state().command_ns == 0)
                std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }
    ~BudgetTest() override { hardware_.complete_all(); }

    std::string reason(std::uint64_t budget_ns) {
        EXPECT_TRUE(queue_.configure({16, 8, 4096, budget_ns}));
        return queue_.level().reason;
    }
    Level reached(std::uint64_t budget_ns) {
        EXPECT_TRUE(queue_.configure({16, 8, 4096, budget_ns}));
        const auto suspension = queue_.suspend({.exact = true});
        EXPECT_TRUE(suspension);
        EXPECT_EQ(*suspension, queue_.level().level);
        EXPECT_TRUE(queue_.resume());
        return *suspension;
    }

    FakeHardware hardware_;
    XQueue queue_;
};

TEST_F(BudgetTest, the_lowest_level_that_keeps_the_budget_is_used) {
    EXPECT_EQ(100 * us, queue_.state().command_ns);
    EXPECT_EQ(Level::block, reached(1000 * us));
    EXPECT_EQ(Level::deactivate, reached(150 * us));
    EXPECT_EQ(Level::interrupt, reached(50 * us));
    EXPECT_EQ(Level::interrupt, reached(0));
}

TEST_F(BudgetTest, the_reason_tells_times_and_what_is_missing) {
    EXPECT_EQ("block is enough: budget 1000 us, command 100 us, 10 in flight", reason(1000 * us));
    EXPECT_EQ("interrupt: budget 50 us, command 100 us, 2 in flight", reason(50 * us));
    hardware_.best = {Level::block, DeactivateMethod::none, "no hook"};
    EXPECT_EQ("budget 50 us, command 100 us, 2 in flight; no hook", reason(50 * us));
    EXPECT_EQ(EOPNOTSUPP, queue_.suspend({.exact = true}).error().errno_value);
}

TEST_F(BudgetTest, the_owners_limit_stands) {
    queue_.limit_level(Level::deactivate);
    EXPECT_EQ(Level::deactivate, reached(50 * us));
    EXPECT_EQ("limited by its owner; budget 50 us, command 100 us, 2 in flight", reason(50 * us));
}

} // namespace
