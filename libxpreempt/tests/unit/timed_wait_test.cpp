// SPDX-License-Identifier: MIT
// Waits that end before the command does.
#include "unit/fake_hw_queue.hpp"
#include "xqueue/xqueue.hpp"

#include <cerrno>
#include <chrono>
#include <gtest/gtest.h>
#include <memory>

namespace {

using test::FakeHardware;
using test::FakeHwQueue;
using xpreempt::Result;
using xpreempt::xqueue::Command;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::XQueue;

constexpr Command nothing{[](void*, void*) { return 0; }, nullptr};

TEST(TimedWaitTest, a_wait_may_end_before_the_command) {
    using namespace std::chrono_literals;
    FakeHardware hardware;
    XQueue queue(std::make_unique<FakeHwQueue>(hardware), {4, 2, 64}, Level::interrupt);
    const auto now = [] { return std::chrono::steady_clock::now(); };
    const auto errno_of = [](const Result<void>& waited) {
        return waited ? 0 : waited.error().errno_value;
    };
    EXPECT_EQ(EINVAL, errno_of(queue.wait_until(1, now())));
    const auto first = queue.submit(nothing);
    ASSERT_TRUE(first);
    EXPECT_EQ(ETIMEDOUT, errno_of(queue.wait_until(*first, now())));
    EXPECT_EQ(ETIMEDOUT, errno_of(queue.wait_until(*first, now() + 3ms)));
    hardware.complete(1);
    EXPECT_EQ(0, errno_of(queue.wait_until(*first, now()))); // although no other thread has checked
    ASSERT_TRUE(queue.suspend({}));
    const auto held = queue.submit(nothing);
    ASSERT_TRUE(held);
    hardware.complete_all();
    EXPECT_EQ(ETIMEDOUT, errno_of(queue.wait_until(*held, now() + 3ms)));
    ASSERT_TRUE(queue.resume());
    EXPECT_EQ(0, errno_of(queue.wait_until(*held, now() + 1h)));
    ASSERT_TRUE(queue.suspend({}));
    const auto dropped = queue.submit(nothing);
    ASSERT_TRUE(dropped);
    ASSERT_TRUE(queue.drop());
    EXPECT_EQ(ECANCELED, errno_of(queue.wait_until(*dropped, now() + 1h)));
    const auto failed = queue.submit({[](void*, void*) { return -EPROTO; }, nullptr});
    ASSERT_TRUE(failed);
    ASSERT_TRUE(queue.resume());
    EXPECT_EQ(EPROTO, errno_of(queue.wait_until(*failed, now() + 1h)));
}

} // namespace
