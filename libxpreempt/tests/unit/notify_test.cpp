// SPDX-License-Identifier: MIT
// Notices of completed commands.
#include "unit/fake_hw_queue.hpp"
#include "unit/until.hpp"
#include "xqueue/xqueue.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using test::FakeHardware;
using test::FakeHwQueue;
using test::until;
using xpreempt::Result;
using xpreempt::xqueue::Command;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::Notice;
using xpreempt::xqueue::Ticket;
using xpreempt::xqueue::XQueue;

constexpr Command nothing{[](void*, void*) { return 0; }, nullptr};

class NotifyTest : public ::testing::Test {
protected:
    ~NotifyTest() override {
        hardware.complete_all();
        queue.reset();
    }
    Ticket submit(const Command& command = nothing) {
        const auto ticket = queue->submit(command);
        EXPECT_TRUE(ticket);
        return ticket.value_or(0);
    }
    // Its answers, by errno, in the order in which they come.
    Notice note() {
        return [this](const Result<void>& answer) {
            const std::lock_guard lock(mutex);
            answers.push_back(answer ? 0 : answer.error().errno_value);
            thread = std::this_thread::get_id();
        };
    }
    std::vector<int> told() {
        const std::lock_guard lock(mutex);
        return answers;
    }
    void until_told(std::size_t count) {
        until([&] { return told().size() == count; });
    }

    FakeHardware hardware;
    std::unique_ptr<XQueue> queue =
        std::make_unique<XQueue>(std::make_unique<FakeHwQueue>(hardware),
                                 xpreempt::xqueue::LaunchConfig{4, 4, 64}, Level::interrupt);
    std::mutex mutex;
    std::vector<int> answers;
    std::thread::id thread;
};

TEST_F(NotifyTest, comes_when_the_command_completes_and_not_with_those_behind_it) {
    const Ticket first = submit();
    ASSERT_TRUE(queue->notify(first, note()));
    submit(); // in the same batch
    EXPECT_TRUE(told().empty());
    hardware.complete(1);
    until_told(1);
    EXPECT_EQ(0, told().front());
    EXPECT_NE(std::this_thread::get_id(), thread);
}

TEST_F(NotifyTest, of_a_complete_command_comes_at_once_and_in_this_thread) {
    const Ticket first = submit();
    hardware.complete(1);
    ASSERT_TRUE(queue->notify(first, note()));
    EXPECT_EQ(std::vector<int>{0}, told());
    EXPECT_EQ(std::this_thread::get_id(), thread);
}

TEST_F(NotifyTest, refuses_a_ticket_that_was_never_given) {
    const auto refused = queue->notify(1, note());
    ASSERT_FALSE(refused);
    EXPECT_EQ(EINVAL, refused.error().errno_value);
    EXPECT_TRUE(told().empty());
}

TEST_F(NotifyTest, several_come_in_order) {
    for (int i = 0; i < 20; ++i) // more than may be in flight
        ASSERT_TRUE(queue->notify(submit(), note()));
    hardware.complete(3);
    until_told(3);
    hardware.complete_all();
    until_told(20);
}

TEST_F(NotifyTest, of_a_suspended_xqueue_comes_after_the_resume) {
    ASSERT_TRUE(queue->notify(submit(), note()));
    ASSERT_TRUE(queue->suspend({}));
    ASSERT_TRUE(queue->notify(submit(), note()));
    hardware.complete_all();
    std::this_thread::yield();
    EXPECT_TRUE(told().empty());
    ASSERT_TRUE(queue->resume());
    until_told(2);
}

// The watcher waits for the command that is stopped meanwhile.
TEST_F(NotifyTest, of_a_dropped_command_comes_from_the_drop) {
    ASSERT_TRUE(queue->notify(submit(), note()));
    ASSERT_TRUE(queue->suspend({}));
    ASSERT_TRUE(queue->notify(submit(), note()));
    ASSERT_TRUE(queue->drop());
    EXPECT_EQ(std::vector<int>{ECANCELED}, told());
    ASSERT_TRUE(queue->resume());
    hardware.complete_all();
    until_told(2);
}

TEST_F(NotifyTest, tells_of_a_launch_that_failed_and_a_wait_does_not_again) {
    ASSERT_TRUE(queue->suspend({}));
    const Ticket failing = submit({[](void*, void*) { return -EPROTO; }, nullptr});
    ASSERT_TRUE(queue->notify(failing, note()));
    ASSERT_TRUE(queue->resume());
    until_told(1);
    EXPECT_EQ(EPROTO, told().front());
    EXPECT_TRUE(queue->wait(failing));
}

TEST_F(NotifyTest, may_submit_and_ask_for_another) {
    std::atomic<int> left{5};
    std::function<void(const Result<void>&)> again = [&](const Result<void>&) {
        if (--left > 0) {
            EXPECT_TRUE(queue->notify(submit(), again));
        }
    };
    ASSERT_TRUE(queue->notify(submit(), again));
    hardware.complete_all();
    until([&] { return left == 0; });
}

TEST_F(NotifyTest, the_end_comes_after_all_of_them_and_not_in_one) {
    std::atomic<bool> entered{false}, leave{false};
    std::atomic<int> closed{0};
    const Ticket first = submit();
    ASSERT_TRUE(queue->notify(first, [&](const Result<void>&) {
        const auto refused = queue->close();
        closed = refused ? 0 : refused.error().errno_value;
        entered = true;
        until([&] { return leave.load(); });
    }));
    ASSERT_TRUE(queue->notify(submit(), note()));
    hardware.complete_all();
    until([&] { return entered.load(); });
    EXPECT_EQ(EDEADLK, closed);
    std::atomic<bool> ended{false};
    std::thread ending([&] {
        EXPECT_TRUE(queue->close());
        ended = true;
    });
    std::this_thread::yield();
    EXPECT_FALSE(ended);
    leave = true;
    ending.join();
    EXPECT_EQ(1U, told().size());
}

// One that a drop calls in its thread, while another thread ends the XQueue.
TEST_F(NotifyTest, the_end_waits_for_one_of_a_drop) {
    std::atomic<bool> entered{false}, leave{false}, ended{false};
    ASSERT_TRUE(queue->suspend({}));
    ASSERT_TRUE(queue->notify(submit(), [&](const Result<void>&) {
        entered = true;
        until([&] { return leave.load(); });
        EXPECT_FALSE(ended);
    }));
    std::thread dropping([&] { EXPECT_TRUE(queue->drop()); });
    until([&] { return entered.load(); });
    std::thread ending([&] {
        EXPECT_TRUE(queue->close());
        ended = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(5)); // lets a mutant end too early
    leave = true;
    dropping.join();
    ending.join();
}

TEST_F(NotifyTest, tells_why_the_completion_cannot_be_known) {
    const Ticket first = submit();
    hardware.mark_errno = EPROTO;
    ASSERT_TRUE(queue->notify(first, note()));
    until_told(1);
    EXPECT_EQ(EPROTO, told().front());
    hardware.mark_errno = 0;
}

} // namespace
