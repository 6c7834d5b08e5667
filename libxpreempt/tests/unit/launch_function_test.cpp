// SPDX-License-Identifier: MIT
// Launch functions that wait for the hardware, throw, or meet the end of their XQueue.
#include "xqueue/xqueue.hpp"

#include "unit/fake_hw_queue.hpp"
#include "unit/until.hpp"

#include <atomic>
#include <cerrno>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

using test::FakeHardware;
using test::FakeHwQueue;
using test::until;
using xpreempt::xqueue::Command;
using xpreempt::xqueue::LaunchConfig;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::XQueue;

class LaunchFunctionTest : public ::testing::Test {
protected:
    using Function = std::function<int()>;
    LaunchFunctionTest() { make({4, 2, 8}); }
    ~LaunchFunctionTest() override {
        hardware.complete_all();
        queue.reset();
    }
    void make(LaunchConfig config) {
        queue = std::make_unique<XQueue>(std::make_unique<FakeHwQueue>(hardware), config,
                                         Level::interrupt);
    }
    static Command command(Function& function) {
        return {[](void*, void* argument) { return (*static_cast<Function*>(argument))(); },
                &function};
    }
    // The xqueue's own thread launches what was submitted while it was suspended.
    void submit_to_worker(Function& function) {
        ASSERT_TRUE(queue->suspend({}));
        ASSERT_TRUE(queue->submit(command(function)));
        ASSERT_TRUE(queue->resume());
    }

    FakeHardware hardware;
    std::unique_ptr<XQueue> queue;
    Function nothing = [] { return 0; };
    Function thrower = []() -> int { throw std::runtime_error("a launch function"); };
};

// As HIP does when the ring, or the memory of kernel arguments, is full.
TEST_F(LaunchFunctionTest, one_that_waits_for_the_queue_does_not_block_the_suspend) {
    std::atomic<bool> began{false}, ended{false};
    Function waits = [&] {
        began = true;
        until([&] { return hardware.stopped(); });
        until([&] { return !hardware.stopped(); });
        ended = true;
        return 0;
    };
    std::thread submitter([&] { EXPECT_TRUE(queue->submit(command(waits))); });
    until([&] { return began.load(); });
    const auto suspended = queue->suspend({});
    ASSERT_TRUE(suspended);
    EXPECT_TRUE(ended);
    EXPECT_EQ(Level::interrupt, *suspended);
    EXPECT_TRUE(hardware.stopped());
    // On a busy machine the launch may need more than one of the moments in which the queue runs.
    const std::vector<std::string> verbs = hardware.verbs();
    EXPECT_GE(verbs.size(), 3U);
    EXPECT_EQ(1U, verbs.size() % 2);
    for (std::size_t i = 0; i < verbs.size(); ++i)
        EXPECT_EQ(i % 2 == 0 ? "interrupt" : "start", verbs[i]);
    submitter.join();
    ASSERT_TRUE(queue->resume());
    EXPECT_FALSE(hardware.stopped());
}

TEST_F(LaunchFunctionTest, nothing_else_is_launched_while_the_queue_is_let_go_for_it) {
    std::atomic<bool> began{false};
    Function waits = [&] {
        began = true;
        until([&] { return hardware.stopped(); });
        until([&] { return !hardware.stopped(); });
        return 0;
    };
    std::thread submitter([&] { EXPECT_TRUE(queue->submit(command(waits))); });
    until([&] { return began.load(); });
    for (int i = 0; i < 3; ++i)
        ASSERT_TRUE(queue->submit(command(nothing)));
    ASSERT_TRUE(queue->suspend({}));
    submitter.join();
    EXPECT_EQ(1U, hardware.launched());
    ASSERT_TRUE(queue->resume());
    until([&] { return hardware.launched() == 4; });
}

TEST_F(LaunchFunctionTest, an_exception_is_the_submitters_error) {
    const auto submitted = queue->submit(command(thrower));
    ASSERT_FALSE(submitted);
    EXPECT_EQ(EIO, submitted.error().errno_value);
    EXPECT_EQ(xpreempt::Op::launch_function, submitted.error().op);
    EXPECT_TRUE(queue->suspend({})); // no thread is launching
    EXPECT_TRUE(queue->resume());
    EXPECT_TRUE(queue->submit(command(nothing)));
    EXPECT_EQ(1U, queue->statistics().launch_failures);
}

TEST_F(LaunchFunctionTest, an_exception_in_the_xqueues_thread_is_the_waiters_error) {
    submit_to_worker(thrower);
    const auto waited = queue->wait(1);
    ASSERT_FALSE(waited);
    EXPECT_EQ(EIO, waited.error().errno_value);
    hardware.complete_all();
    ASSERT_TRUE(queue->submit(command(nothing)));
    EXPECT_TRUE(queue->wait_all());
}

TEST_F(LaunchFunctionTest, one_that_submits_is_refused_when_its_xqueue_is_closed) {
    std::atomic<bool> began{false};
    std::atomic<int> refused{0};
    Function submits = [&] {
        began = true;
        while (refused == 0 || refused == EAGAIN) { // EAGAIN: it is full
            const auto submitted = queue->submit(command(nothing));
            refused = submitted ? 0 : submitted.error().errno_value;
        }
        return 0;
    };
    hardware.complete_all();
    submit_to_worker(submits);
    until([&] { return began.load(); });
    ASSERT_TRUE(queue->close());
    EXPECT_EQ(ESHUTDOWN, refused);
    EXPECT_EQ(queue->statistics().submitted, queue->statistics().completed); // all that was taken
    EXPECT_EQ(ESHUTDOWN, queue->submit(command(nothing)).error().errno_value);
    EXPECT_EQ(ESHUTDOWN, queue->suspend({}).error().errno_value);
}

TEST_F(LaunchFunctionTest, one_cannot_close_its_own_xqueue) {
    std::atomic<int> refused{0};
    Function closes = [&] {
        refused = queue->close().error().errno_value;
        return 0;
    };
    ASSERT_TRUE(queue->submit(command(closes)));
    EXPECT_EQ(EDEADLK, refused);
    hardware.complete_all();
    EXPECT_TRUE(queue->wait_all());
}

TEST_F(LaunchFunctionTest, who_waits_for_room_when_the_xqueue_is_closed_is_refused) {
    make({1, 1, 1});
    ASSERT_TRUE(queue->submit(command(nothing)));
    ASSERT_TRUE(queue->submit(command(nothing)));
    std::atomic<int> refused{0};
    std::thread submitter([&] {
        const auto submitted = queue->submit(command(nothing));
        refused = submitted ? -1 : submitted.error().errno_value;
    });
    std::thread closer([&] { EXPECT_TRUE(queue->close()); });
    submitter.join();
    EXPECT_EQ(ESHUTDOWN, refused);
    hardware.complete_all();
    closer.join();
}

} // namespace
