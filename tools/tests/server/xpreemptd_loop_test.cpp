// SPDX-License-Identifier: MIT
// The loop's pauses and shares, by the kernel's own account of this thread.
#include "server/loop.hpp"

#include <cerrno>
#include <ctime>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>

namespace {

using namespace std::chrono_literals;
using xpreempt::UniqueFd;
using xpreemptd::Loop;
using Time = Loop::Time;

long sleeps() {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw;
}

std::chrono::nanoseconds cpu_time() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds{time.tv_sec} + std::chrono::nanoseconds{time.tv_nsec};
}

class LoopTest : public testing::Test {
protected:
    static Time now() { return std::chrono::steady_clock::now(); }
    static void work_for(std::chrono::nanoseconds time) {
        const auto begin = cpu_time();
        while (cpu_time() - begin < time) {
        }
    }

    Loop loop = std::move(*Loop::make());
    UniqueFd always{::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)}; // nobody reads it
    UniqueFd other{::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK)};
    UniqueFd inner{::epoll_create1(EPOLL_CLOEXEC)};
};

TEST_F(LoopTest, sleeps_at_times_though_something_is_always_ready) {
    int calls = 0;
    ASSERT_TRUE(loop.watch(always.get(), [&] { ++calls; }));
    const long before = sleeps();
    const Time begin = now();
    while (sleeps() < before + 10 && now() < begin + 30s)
        ASSERT_TRUE(loop.wait_until(Time::max()));
    EXPECT_GE(sleeps(), before + 10);
    EXPECT_GT(calls, 10);
}

TEST_F(LoopTest, does_not_pause_where_waits_sleep) {
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(loop.wait_until(now() + 5ms));
    const long before = sleeps();
    for (int i = 0; i < 10; ++i)
        ASSERT_TRUE(loop.wait_until(now() + 5ms));
    EXPECT_LT(sleeps(), before + 14); // with pauses there were five more
}

TEST_F(LoopTest, share_of_a_busy_descriptor_leaves_the_others_their_turns) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    ASSERT_EQ(::epoll_ctl(inner.get(), EPOLL_CTL_ADD, always.get(), &event), 0);
    int greedy = 0, modest = 0;
    const auto each = 2ms;
    ASSERT_TRUE(loop.watch(inner.get(),
                           [&] {
                               ++greedy;
                               work_for(each);
                           },
                           {10, 4ms}));
    ASSERT_TRUE(loop.watch(other.get(), [&] { ++modest; }));
    const Time begin = now();
    while (greedy < 20)
        ASSERT_TRUE(loop.wait_until(begin + 60s));
    // A burst of three, then a tenth of the time, however busy this machine is.
    EXPECT_GE(now() - begin, 10 * (20 - 4) * each);
    // Many more on an idle machine; one for each where the pauses pass without us.
    EXPECT_GE(modest, greedy - 1);
}

TEST_F(LoopTest, descriptor_that_cannot_be_waited_for_is_refused) {
    const UniqueFd file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    const auto watched = loop.watch(file.get(), [] {});
    ASSERT_FALSE(watched);
    EXPECT_EQ(watched.error().errno_value, EPERM);
    loop.forget(file.get());
}

TEST_F(LoopTest, resting_descriptor_can_be_forgotten) {
    epoll_event event{.events = EPOLLIN, .data = {}};
    ASSERT_EQ(::epoll_ctl(inner.get(), EPOLL_CTL_ADD, always.get(), &event), 0);
    int calls = 0;
    ASSERT_TRUE(loop.watch(inner.get(),
                           [&] {
                               ++calls;
                               work_for(1ms);
                           },
                           {1, 0ms}));
    ASSERT_TRUE(loop.wait_until(Time::max()));
    loop.forget(inner.get());
    ASSERT_TRUE(loop.wait_until(now() + 150ms));
    EXPECT_EQ(calls, 1);
    ASSERT_TRUE(loop.watch(inner.get(), [&] {
        ++calls;
        loop.forget(inner.get());
    }));
    ASSERT_TRUE(loop.wait_until(now() + 1s));
    EXPECT_EQ(calls, 2);
}

} // namespace
