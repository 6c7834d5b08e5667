// SPDX-License-Identifier: MIT
// XQueues of one device whose budgets hold together.
#include "unit/fake_hw_queue.hpp"
#include "unit/until.hpp"
#include "xqueue/xqueue.hpp"

#include <algorithm>
#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <thread>

namespace {

using namespace std::chrono_literals;
using test::FakeHardware;
using test::FakeHwQueue;
using test::until;
using xpreempt::xqueue::DeviceTurns;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::XQueue;

constexpr std::uint64_t us = 1000, ms = 1000 * us;

// Sleeps while the hardware's time stands still.
class TimedHwQueue final : public FakeHwQueue {
public:
    explicit TimedHwQueue(FakeHardware& hardware) : FakeHwQueue(hardware), hardware_(hardware) {}
    void sleep(std::unique_lock<std::mutex>& lock, std::condition_variable& wakes, std::uint64_t ns,
               const std::function<bool()>& over) override {
        const std::uint64_t end_ns = hardware_.now_ns + ns;
        while (hardware_.now_ns < end_ns && !over())
            wakes.wait_for(lock, 100us);
    }

private:
    FakeHardware& hardware_;
};

// Four XQueues in front of one hardware queue, as of a device that runs one command at a time.
class SharedBudget : public ::testing::Test {
protected:
    struct Scheduler final : xpreempt::xqueue::Observer {
        void note(bool /*will_react*/) noexcept override {}
        void note_hold() noexcept override {}
        void react() noexcept override {}
    };
    struct Lane {
        std::unique_ptr<XQueue> queue;
        std::atomic<std::uint32_t> launched{0};
        std::atomic<bool> blocks{false};
    };

    SharedBudget() {
        hardware_.now_ns = us;
        for (Lane& lane : lanes_) {
            lane.queue = std::make_unique<XQueue>(
                std::make_unique<TimedHwQueue>(hardware_),
                xpreempt::xqueue::LaunchConfig{16, 8, 64, 40 * us}, Level::block);
            lane.queue->observe(std::make_shared<Scheduler>());
        }
    }
    ~SharedBudget() override { run_freely(); }

    // So many commands at once.
    void submit(Lane& lane, std::uint32_t count) {
        submitted_ += count;
        EXPECT_TRUE(lane.queue->suspend({}));
        for (std::uint32_t i = 0; i < count; ++i)
            EXPECT_TRUE(lane.queue->submit({launch, &lane}));
        EXPECT_TRUE(lane.queue->resume());
    }
    void submit_to_all(std::uint32_t count) {
        for (Lane& lane : lanes_)
            submit(lane, count);
    }
    // Ends one command after the other, each 1 ms later and with the next one launched. Returns the
    // most that were in flight.
    std::uint64_t run_until(std::uint64_t total) {
        std::uint64_t most = 0;
        for (; ended_ < total; ++ended_) {
            hardware_.now_ns += 900 * us;
            // A thread that noticed the last end late expects the next one as late.
            while (hardware_.launched() < std::min(ended_ + 2, submitted_))
                pass(100 * us);
            std::this_thread::sleep_for(2ms); // more would be launched by now
            most = std::max(most, hardware_.launched() - ended_);
            hardware_.now_ns += 100 * us;
            hardware_.complete(ended_ + 1);
            until([&] { return in_flight() < hardware_.launched() - ended_; }); // it is noticed
        }
        return most;
    }
    // Ends each command at once. The time goes on: a worker may sleep until it expects an end.
    void run_freely() {
        hardware_.complete_all();
        clock_ = std::jthread([this](const std::stop_token& stop) {
            for (; !stop.stop_requested(); std::this_thread::sleep_for(100us))
                hardware_.now_ns += 100 * us;
        });
    }
    std::uint64_t in_flight() const {
        std::uint64_t sum = 0;
        for (const Lane& lane : lanes_)
            sum += lane.queue->state().in_flight;
        return sum;
    }
    // Keeps the time while the other threads launch the commands that are due.
    void pass(std::uint64_t ns) {
        const std::uint64_t launched = hardware_.launched();
        for (int i = 0; i < 40 && hardware_.launched() == launched; ++i)
            std::this_thread::sleep_for(500us);
        hardware_.now_ns += ns;
    }
    static int launch(void* /*stream*/, void* argument) {
        Lane& lane = *static_cast<Lane*>(argument);
        ++lane.launched;
        until([&] { return !lane.blocks; });
        return 0;
    }

    FakeHardware hardware_; // outlives the xqueues
    std::jthread clock_;    // as well
    std::array<Lane, 4> lanes_;
    std::uint64_t submitted_ = 0, ended_ = 0;
};

// One command of each would be four already.
TEST_F(SharedBudget, holds_for_all_xqueues_of_a_device_together) {
    for (Lane& lane : lanes_) {
        submit(lane, 12); // until it has measured the time of a command
        (void)run_until(submitted_);
    }
    submit_to_all(10);
    EXPECT_EQ(2U, run_until(submitted_ - 12)); // all have more to launch until then
}

TEST_F(SharedBudget, lets_each_xqueue_have_its_turn) {
    submit_to_all(40);
    (void)run_until(60);
    for (const Lane& lane : lanes_)
        EXPECT_NEAR(15, lane.launched, 6);
}

TEST_F(SharedBudget, does_not_wait_for_an_xqueue_that_launches_nothing) {
    submit_to_all(40);
    (void)run_until(48);
    EXPECT_TRUE(lanes_[0].queue->suspend({}));
    EXPECT_TRUE(lanes_[1].queue->drop());
    run_freely();
    EXPECT_TRUE(lanes_[1].queue->wait_all());
    lanes_[1].queue.reset();
    lanes_[2].queue->observe(nullptr);
    EXPECT_TRUE(lanes_[2].queue->wait_all());
    EXPECT_TRUE(lanes_[3].queue->wait_all());
    EXPECT_EQ(40U, lanes_[2].launched);
    EXPECT_EQ(40U, lanes_[3].launched);
    EXPECT_TRUE(lanes_[0].queue->resume());
    EXPECT_TRUE(lanes_[0].queue->wait_all());
    EXPECT_EQ(40U, lanes_[0].launched);
}

// The drop comes while the xqueue's thread waits for a turn.
TEST_F(SharedBudget, launches_what_comes_after_a_drop) {
    submit_to_all(20);
    (void)run_until(4);
    for (Lane& lane : lanes_)
        EXPECT_TRUE(lane.queue->drop());
    run_freely();
    for (Lane& lane : lanes_) {
        lane.launched = 0;
        EXPECT_TRUE(lane.queue->submit({launch, &lane}));
        EXPECT_TRUE(lane.queue->submit({launch, &lane}));
    }
    for (Lane& lane : lanes_) {
        EXPECT_TRUE(lane.queue->wait_all());
        EXPECT_EQ(2U, lane.launched);
    }
}

TEST_F(SharedBudget, does_not_stall_behind_a_launch_function_that_waits) {
    run_freely();
    lanes_[0].blocks = true;
    submit(lanes_[0], 4);
    until([&] { return lanes_[0].launched > 0; });
    submit(lanes_[1], 4);
    until([&] {
        hardware_.now_ns += ms;
        return lanes_[1].launched == 4U;
    });
    EXPECT_TRUE(lanes_[1].queue->wait_all());
    EXPECT_EQ(1U, lanes_[0].launched);
    lanes_[0].blocks = false;
    EXPECT_TRUE(lanes_[0].queue->wait_all());
}

// Commands of one stream may wait for an event of the other.
TEST_F(SharedBudget, does_not_stall_behind_commands_that_do_not_end) {
    submit(lanes_[0], 4);
    until([&] { return lanes_[0].launched == 2U; });
    submit(lanes_[1], 2);
    until([&] {
        hardware_.now_ns += ms;
        return lanes_[1].launched == 2U;
    });
    EXPECT_EQ(2U, lanes_[0].launched);
}

class DeviceTurnsTest : public ::testing::Test {
protected:
    bool take(DeviceTurns::Seat& seat) { return turns_.take_or_queue(seat, {now_ns_, 0}); }

    FakeHardware hardware_;
    FakeHwQueue clock_{hardware_};
    DeviceTurns turns_;
    DeviceTurns::Seat first_, second_, third_;
    std::uint64_t now_ns_ = ms;
};

TEST_F(DeviceTurnsTest, last_for_two_launches_and_four_milliseconds) {
    EXPECT_TRUE(take(first_));
    EXPECT_FALSE(take(second_));
    now_ns_ += 4 * ms;
    EXPECT_TRUE(take(first_));
    EXPECT_FALSE(take(first_)); // passes it on
    EXPECT_TRUE(take(second_));
    EXPECT_TRUE(take(second_));
    now_ns_ += 3 * ms;
    EXPECT_TRUE(take(second_));
    now_ns_ += ms;
    EXPECT_FALSE(take(second_));
    turns_.wait(first_, clock_);
    EXPECT_TRUE(take(first_));
}

TEST_F(DeviceTurnsTest, last_while_nobody_waits) {
    for (int i = 0; i < 10; ++i, now_ns_ += ms)
        EXPECT_TRUE(take(first_));
}

TEST_F(DeviceTurnsTest, come_in_the_order_of_the_queue) {
    EXPECT_TRUE(take(first_));
    EXPECT_FALSE(take(second_));
    EXPECT_FALSE(take(third_));
    turns_.leave(first_);
    EXPECT_FALSE(turns_.take(third_, {now_ns_, 0}));
    EXPECT_FALSE(turns_.take(first_, {now_ns_, 0}));
    EXPECT_TRUE(turns_.take(second_, {now_ns_, 0}));
    turns_.leave(third_);
    turns_.leave(second_);
    EXPECT_TRUE(turns_.take(first_, {now_ns_, 0}));
}

TEST_F(DeviceTurnsTest, are_given_up_by_one_that_leaves) {
    EXPECT_TRUE(take(first_));
    EXPECT_FALSE(take(second_));
    std::thread next([&] { turns_.wait(second_, clock_); });
    turns_.leave(first_);
    next.join();
    EXPECT_TRUE(take(second_));
}

TEST_F(DeviceTurnsTest, end_a_wait_of_one_that_leaves) {
    EXPECT_TRUE(take(first_));
    EXPECT_FALSE(take(second_));
    std::thread waiter([&] { turns_.wait(second_, clock_); });
    turns_.leave(second_);
    waiter.join();
    EXPECT_TRUE(take(first_));
}

} // namespace
