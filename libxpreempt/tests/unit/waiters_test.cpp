// SPDX-License-Identifier: MIT
// Threads that wait for commands which another thread launches.
#include "unit/fake_hw_queue.hpp"
#include "unit/until.hpp"
#include "xqueue/xqueue.hpp"

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <thread>
#include <vector>

namespace {

using test::FakeHardware;
using test::FakeHwQueue;
using test::until;
using xpreempt::xqueue::Command;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::Ticket;
using xpreempt::xqueue::XQueue;

constexpr Command nothing{[](void*, void*) { return 0; }, nullptr};

// An idle GPU would wait while the thread is woken.
TEST(DeferredCommands, are_launched_by_the_thread_of_the_queue_unless_it_is_idle) {
    FakeHardware hardware;
    XQueue queue(std::make_unique<FakeHwQueue>(hardware),
                 {.threshold = 4, .batch = 2, .capacity = 8, .deferred = true}, Level::interrupt);
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(queue.submit(nothing));
    until([&] { return hardware.launched() == 3; });
    EXPECT_EQ(1U, queue.statistics().launched_inline);
    hardware.complete_all();
    EXPECT_TRUE(queue.wait_all());
    ASSERT_TRUE(queue.submit(nothing));
    EXPECT_EQ(2U, queue.statistics().launched_inline);
}

// To be woken takes longer than a short command. A thread that is off its CPU for a while blocks.
TEST(Waiters, of_single_commands_poll_and_learn_their_time) {
    FakeHardware hardware;
    hardware.now_ns = 1000;
    XQueue queue(std::make_unique<FakeHwQueue>(hardware), {8, 4, 64}, Level::interrupt);
    for (std::uint64_t done = 1; done <= 10; ++done) {
        const auto ticket = queue.submit(nothing);
        ASSERT_TRUE(ticket);
        const std::uint64_t polls = hardware.polls;
        hardware.in_wait = [&] { hardware.complete(done); };
        hardware.in_poll = [&] {
            hardware.now_ns += 1000;
            if (hardware.polls - polls == 10)
                hardware.complete(done);
        };
        EXPECT_TRUE(queue.wait(*ticket));
        if (done == 1) {
            EXPECT_LE(2U, hardware.polls - polls);
        }
    }
    EXPECT_NE(0U, queue.state().command_ns);
}

// A thread sleeps until its command has been launched, and must be woken then.
TEST(Waiters, return_each_at_its_own_command) {
    FakeHardware hardware;
    XQueue queue(std::make_unique<FakeHwQueue>(hardware), {2, 1, 64}, Level::interrupt);
    std::vector<std::thread> waiters;
    std::atomic<std::uint32_t> returned{0};
    ASSERT_TRUE(queue.suspend({}));
    for (Ticket ticket = 1; ticket <= 16; ++ticket) {
        ASSERT_TRUE(queue.submit(nothing));
        waiters.emplace_back([&queue, &returned, ticket] {
            EXPECT_TRUE(queue.wait(ticket));
            ++returned;
        });
    }
    ASSERT_TRUE(queue.resume());
    for (std::uint32_t done = 1; done <= 16; ++done) {
        hardware.complete(done);
        until([&] { return returned == done; });
    }
    for (std::thread& waiter : waiters)
        waiter.join();
}

} // namespace
