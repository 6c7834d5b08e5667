// SPDX-License-Identifier: MIT
// When a command is launched, and by which thread: at once, after a moment, or just in time.
#include "unit/fake_hw_queue.hpp"
#include "unit/until.hpp"
#include "xqueue/xqueue.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <thread>

namespace {

using namespace std::chrono_literals;
using test::FakeHardware;
using test::FakeHwQueue;
using test::until;
using xpreempt::xqueue::Command;
using xpreempt::xqueue::LaunchConfig;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::XQueue;

constexpr Command nothing{[](void*, void*) { return 0; }, nullptr};
constexpr LaunchConfig two_in_flight{2, 1, 64, 0};

std::unique_ptr<XQueue> make_queue(FakeHardware& hardware, const LaunchConfig& config) {
    return std::make_unique<XQueue>(std::make_unique<FakeHwQueue>(hardware), config,
                                    Level::interrupt);
}

// Room comes while the thread that submits polls for it.
TEST(FullQueue, launches_in_the_submitting_thread_if_room_comes_in_a_moment) {
    FakeHardware hardware;
    const auto queue = make_queue(hardware, two_in_flight);
    ASSERT_TRUE(queue->submit(nothing));
    ASSERT_TRUE(queue->submit(nothing));
    hardware.in_poll = [&, left = 3]() mutable {
        if (--left == 0)
            hardware.complete(1);
    };
    ASSERT_TRUE(queue->submit(nothing));
    hardware.in_poll = nullptr;
    EXPECT_EQ(3U, queue->statistics().launched_inline);
    hardware.complete_all();
}

TEST(FullQueue, polls_no_second_time_after_it_was_in_vain) {
    FakeHardware hardware;
    const auto queue = make_queue(hardware, two_in_flight);
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(queue->submit(nothing));
    EXPECT_GT(hardware.polls, 1U); // and the third is pending
    hardware.complete(1);
    until([&] { return queue->state().pending == 0 && queue->state().in_flight == 2; });
    const std::uint64_t before = hardware.polls;
    ASSERT_TRUE(queue->submit(nothing));
    EXPECT_EQ(before + 1, hardware.polls);
    hardware.complete_all();
    ASSERT_TRUE(queue->wait_all());
    EXPECT_EQ(2U, queue->statistics().launched_inline);
}

// Whether room comes in time is tried at each 16th refill; it continues as long as it does.
TEST(Refills, poll_while_that_is_enough) {
    FakeHardware hardware;
    const auto queue = make_queue(hardware, two_in_flight);
    ASSERT_TRUE(queue->suspend({}));
    for (int i = 0; i < 60; ++i)
        ASSERT_TRUE(queue->submit(nothing));
    std::uint64_t waits = 0;
    hardware.in_wait = [&] { hardware.complete(++waits); };
    hardware.in_poll = [&] { hardware.complete(hardware.launched()); };
    ASSERT_TRUE(queue->resume());
    until([&] { return queue->state().pending == 0; });
    EXPECT_EQ(15U, waits);
    hardware.in_wait = nullptr;
    hardware.in_poll = nullptr;
    hardware.complete_all();
}

TEST(DeviceLoad, counts_the_xqueues_that_have_commands_in_flight) {
    FakeHardware hardware, another;
    auto queue = make_queue(hardware, two_in_flight);
    EXPECT_EQ(0U, hardware.load.busy);
    ASSERT_TRUE(queue->submit(nothing));
    ASSERT_TRUE(queue->submit(nothing));
    EXPECT_EQ(1U, hardware.load.busy);
    hardware.complete_all();
    ASSERT_TRUE(queue->wait_all());
    EXPECT_EQ(0U, hardware.load.busy);
    // Taken back.
    hardware.complete(2);
    ASSERT_TRUE(queue->submit(nothing));
    hardware.deactivated = {.relaunch_from = 3,
                            .method = xpreempt::xqueue::DeactivateMethod::flush};
    hardware.best.level = Level::deactivate;
    ASSERT_TRUE(queue->suspend({}));
    EXPECT_EQ(0U, hardware.load.busy);
    ASSERT_TRUE(queue->resume());
    hardware.complete_all();
    ASSERT_TRUE(queue->wait_all());
    EXPECT_EQ(0U, hardware.load.busy);
}

TEST(DeviceLoad, forgets_an_xqueue_that_is_destroyed) {
    FakeHardware hardware;
    auto queue = make_queue(hardware, {16, 8, 64, 0});
    ASSERT_TRUE(queue->submit(nothing));
    EXPECT_EQ(1U, hardware.load.busy);
    hardware.mark_errno = EIO; // its end will not be known
    queue.reset();
    EXPECT_EQ(0U, hardware.load.busy);
}

constexpr std::uint64_t us = 1000;

// An xqueue that has measured 100 us for each command, more than its budget. One is in flight, and
// has just begun.
class JustInTime : public ::testing::Test {
protected:
    JustInTime() : queue_(make_queue(hardware_, {16, 8, 4096, 40 * us})) {
        for (int i = 0; i < 4000; ++i)
            EXPECT_TRUE(queue_->submit(nothing));
        while (queue_->state().command_ns == 0)
            complete_one();
        until([&] { return queue_->state().in_flight == 1; });
    }
    ~JustInTime() override { hardware_.complete_all(); }

    // The worker must have slept for it, or the end measures nothing.
    void complete_one() {
        std::this_thread::sleep_for(1ms);
        hardware_.now_ns += 100 * us;
        hardware_.complete(++done_);
        until([&] { return hardware_.launched() > done_ + 1 || queue_->state().command_ns != 0; });
    }

    FakeHardware hardware_;
    std::uint64_t done_ = 0;
    std::unique_ptr<XQueue> queue_;
};

TEST_F(JustInTime, the_second_command_is_launched_shortly_before_the_first_ends) {
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(done_ + 1, hardware_.launched());
    hardware_.now_ns += 79 * us;
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(done_ + 1, hardware_.launched());
    hardware_.now_ns += 1 * us;
    until([&] { return hardware_.launched() == done_ + 2; });
}

TEST_F(JustInTime, a_submit_does_not_launch_too_early_either) {
    ASSERT_TRUE(queue_->drop());
    done_ = hardware_.launched();
    hardware_.complete(done_);
    ASSERT_TRUE(queue_->wait_all());
    ASSERT_TRUE(queue_->submit(nothing));
    ASSERT_TRUE(queue_->submit(nothing));
    EXPECT_EQ(done_ + 1, hardware_.launched());
    EXPECT_EQ(1U, queue_->state().pending);
    hardware_.now_ns += 80 * us;
    until([&] { return hardware_.launched() == done_ + 2; });
}

TEST_F(JustInTime, a_suspend_does_not_wait_for_the_launch_that_is_due_later) {
    ASSERT_TRUE(queue_->suspend({}));
    const std::uint64_t launched = hardware_.launched();
    hardware_.now_ns += 1000 * us;
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(launched, hardware_.launched());
    ASSERT_TRUE(queue_->resume());
    until([&] { return hardware_.launched() > launched; });
}

} // namespace
