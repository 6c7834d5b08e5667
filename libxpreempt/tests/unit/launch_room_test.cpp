// SPDX-License-Identifier: MIT
// A suspend beside a launch that waits inside HIP until the held queue has run for a while.
#include "xqueue/xqueue.hpp"

#include "unit/fake_hw_queue.hpp"
#include "unit/until.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>
#include <thread>

namespace {

using test::FakeHardware;
using test::FakeHwQueue;
using test::until;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::Patience;
using xpreempt::xqueue::XQueue;
using Clock = std::chrono::steady_clock;

// Room comes after the hardware has run this long without a stop.
constexpr auto time_to_make_room = std::chrono::milliseconds(3);
constexpr auto longest_wait = std::chrono::seconds(20);

struct FullRing {
    FakeHardware& hardware;
    std::atomic<bool> entered = false, got_room = false;
};

int wait_for_room(void*, void* argument) {
    auto& ring = *static_cast<FullRing*>(argument);
    ring.entered = true;
    until([&] { return !ring.hardware.verbs().empty(); }); // the suspend has stopped it
    const auto end = Clock::now() + longest_wait;
    while (!ring.got_room && Clock::now() < end) {
        const std::size_t turns = ring.hardware.verbs().size();
        std::this_thread::sleep_for(time_to_make_room);
        ring.got_room = !ring.hardware.stopped() && ring.hardware.verbs().size() == turns;
    }
    return 0;
}

TEST(LaunchInProgress, gets_room_from_a_queue_that_a_suspend_lets_run_longer_each_time) {
    FakeHardware hardware;
    hardware.complete_all();
    FullRing ring{hardware};
    XQueue queue(std::make_unique<FakeHwQueue>(hardware), {4, 2, 8}, Level::interrupt);
    std::thread submitter([&] { EXPECT_TRUE(queue.submit({wait_for_room, &ring})); });
    until([&] { return ring.entered.load(); });
    std::thread suspender([&] { EXPECT_TRUE(queue.suspend({})); });
    submitter.join();
    suspender.join();
    EXPECT_TRUE(ring.got_room);
    EXPECT_TRUE(hardware.stopped());
    EXPECT_TRUE(queue.resume());
    EXPECT_TRUE(queue.wait_all());
}

// It ends once the hardware runs again, which only outlast() brings about.
struct StoppedLaunch {
    FakeHardware& hardware;
    std::atomic<bool> entered = false, give_up = false, ended = false;
};

int wait_for_restore(void*, void* argument) {
    auto& launch = *static_cast<StoppedLaunch*>(argument);
    launch.entered = true;
    until([&] { return launch.give_up || launch.hardware.verbs().size() > 1; });
    launch.ended = true;
    return 0;
}

TEST(LaunchInProgress, is_over_when_outlast_returns) {
    FakeHardware hardware;
    hardware.complete_all();
    StoppedLaunch launch{hardware};
    XQueue queue(std::make_unique<FakeHwQueue>(hardware), {4, 2, 8}, Level::interrupt);
    std::thread submitter([&] { EXPECT_TRUE(queue.submit({wait_for_restore, &launch})); });
    until([&] { return launch.entered.load(); });
    const auto stopped = queue.stop(Patience::none);
    EXPECT_TRUE(stopped && !*stopped) << "a launch is in progress";
    queue.outlast();
    EXPECT_TRUE(launch.ended);
    launch.give_up = true;
    submitter.join();
    EXPECT_TRUE(hardware.stopped());
    EXPECT_TRUE(queue.resume());
    EXPECT_TRUE(queue.wait_all());
}

} // namespace
