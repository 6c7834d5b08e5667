// SPDX-License-Identifier: MIT
// Streams that no command was ever submitted to, on the fake ROCm: held, released, scheduled.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"
#include "unit/until.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string_view>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" {
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipStreamBeginCapture(void* stream, int mode);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipStreamEndCapture(void* stream, void** graph);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void* stream, void**, void**);
}

namespace {

using test::until;

int launch(void* stream) {
    return hipModuleLaunchKernel(nullptr, 1, 1, 1, 64, 1, 1, 0, stream, nullptr, nullptr);
}

int submitted(void* stream, void*) {
    return launch(stream);
}

// Launches at the end of its thread, after the destructors of what the thread used later.
struct LastLaunch {
    void* stream = nullptr;
    void* destroyed = nullptr;
    ~LastLaunch() {
        if (stream == nullptr)
            return;
        // Overwrite the memory that the thread has freed until now.
        std::vector<std::unique_ptr<unsigned char[]>> reused;
        for (std::size_t bytes = 16; bytes <= 1024; bytes += 16)
            for (int i = 0; i < 8; ++i) {
                reused.push_back(std::make_unique<unsigned char[]>(bytes));
                std::memset(reused.back().get(), 0xff, bytes);
            }
        EXPECT_EQ(0, launch(stream));
        EXPECT_EQ(0, hipStreamDestroy(destroyed)); // the next launch looks its stream up again
        EXPECT_EQ(0, launch(stream));
    }
};
thread_local LastLaunch last_launch;

class HookedStreamTest : public ::testing::Test {
protected:
    void SetUp() override {
        fake_choose_driver();
        for (void** stream : {&low, &high})
            create(*stream);
    }
    void TearDown() override { run(nullptr); }
    // Their work doesn't end until others run.
    static void run(void* one, void* another = nullptr) {
        fake_hip()->running[0] = one;
        fake_hip()->running[1] = another;
    }
    static xp_stream_info query(void* stream) {
        xp_stream_info info{};
        info.sz = sizeof info;
        EXPECT_EQ(0, xp_stream_query(stream, &info)) << xp_last_detail();
        return info;
    }
    static bool stopped(void* stream) {
        const fake::Queue& queue = fake_driver()->queues[query(stream).kfd_queue_id];
        return queue.is_stopped();
    }
    static void create(void*& stream) {
        ASSERT_EQ(0, hipStreamCreate(&stream));
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    }
    // The low one has a queue with another from here on, and so can't be stopped alone.
    void share_low() {
        create(other);
        ASSERT_EQ(2U, query(low).num_sharing);
    }
    // Returns when the thread waits before its call.
    [[nodiscard]] static std::thread launch_that_waits(void* stream) {
        std::thread thread([stream] { EXPECT_EQ(0, launch(stream)); });
        until([&] { return query(stream).waiters == 1; });
        return thread;
    }
    static void schedule() {
        ASSERT_EQ(0, xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST)) << xp_last_detail();
    }
    void give_priorities() const {
        ASSERT_EQ(0, xp_stream_set_priority(low, -1)) << xp_last_detail();
        ASSERT_EQ(0, xp_stream_set_priority(high, 1)) << xp_last_detail();
    }

    bool notified = false;
    void* low = nullptr;
    void* high = nullptr;
    void* other = nullptr;
};

TEST_F(HookedStreamTest, a_hold_stops_the_queue_until_as_many_releases) {
    std::uint32_t level = 0;
    ASSERT_EQ(0, xp_stream_hold(low, 0, &level)) << xp_last_detail();
    EXPECT_EQ(XP_LEVEL_INTERRUPT, level) << query(low).reason;
    ASSERT_EQ(0, xp_stream_hold(low, 0, nullptr));
    EXPECT_TRUE(stopped(low));
    EXPECT_FALSE(stopped(high));
    ASSERT_EQ(0, xp_stream_release(low));
    EXPECT_TRUE(stopped(low));
    ASSERT_EQ(0, xp_stream_release(low));
    EXPECT_FALSE(stopped(low));
    EXPECT_EQ(-ENOENT, xp_stream_release(low));
}

TEST_F(HookedStreamTest, a_thread_launches_in_its_last_destructor) {
    schedule();
    give_priorities();
    for (int i = 0; i < 10; ++i)
        std::thread([&] {
            create(last_launch.destroyed);
            last_launch.stream = low;
            EXPECT_EQ(0, launch(low));
        }).join();
    EXPECT_EQ(0, launch(low));
    EXPECT_EQ(0, xp_sched_stop());
}

TEST_F(HookedStreamTest, attributes_put_a_stream_under_the_scheduler) {
    schedule();
    xp_sched_state state{};
    state.sz = sizeof state;
    ASSERT_EQ(0, xp_sched_query(&state));
    const std::uint32_t before = state.num_xqueues;
    xp_sched_attributes attributes{};
    attributes.sz = sizeof attributes;
    attributes.weight = 300;
    ASSERT_EQ(0, xp_stream_set_attributes(low, &attributes)) << xp_last_detail();
    ASSERT_EQ(0, xp_sched_query(&state));
    EXPECT_EQ(before + 1, state.num_xqueues);
    attributes.weight = 0;
    ASSERT_EQ(0, xp_stream_get_attributes(low, &attributes));
    EXPECT_EQ(300U, attributes.weight);
    ASSERT_EQ(0, xp_stream_get_attributes(high, &attributes)); // never set
    EXPECT_EQ(100U, attributes.weight);
    EXPECT_EQ(0, xp_sched_stop());
}

// One thread suspends, launches and resumes, as programs written for XSched may.
TEST_F(HookedStreamTest, a_launch_by_the_thread_that_suspended_stops_the_queue) {
    xp_xqueue_options options XP_XQUEUE_OPTIONS_INIT;
    options.max_level = XP_LEVEL_BLOCK;
    options.flags = XP_STOP_FOR_OWN_LAUNCH;
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(low, &options, &xqueue)) << xp_last_detail();
    std::uint32_t level = 0;
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, &level));
    EXPECT_EQ(XP_LEVEL_BLOCK, level);
    std::thread waiting = launch_that_waits(low);
    EXPECT_FALSE(stopped(low));
    EXPECT_EQ(0, launch(low));
    EXPECT_TRUE(stopped(low));
    waiting.join(); // nothing runs: its call can be made as well
    EXPECT_EQ(0, launch(low));
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_FALSE(stopped(low));
    // The next suspend begins anew.
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr));
    EXPECT_FALSE(stopped(low));
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(0, launch(low));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(HookedStreamTest, a_thread_that_waits_for_itself_is_warned_once) {
    share_low();
    xp_xqueue_options options XP_XQUEUE_OPTIONS_INIT;
    options.max_level = XP_LEVEL_BLOCK;
    options.flags = XP_STOP_FOR_OWN_LAUNCH;
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(low, &options, &xqueue)) << xp_last_detail();
    std::atomic<unsigned> warnings{0};
    const auto count = [](std::uint32_t, const char* message, void* argument) {
        if (std::string_view(message).find("waits in its own call") != std::string_view::npos)
            ++*static_cast<std::atomic<unsigned>*>(argument);
    };
    ASSERT_EQ(0, xp_set_log_fn(count, XP_LOG_WARNING, &warnings));
    std::thread suspends([&] {
        EXPECT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr));
        EXPECT_EQ(0, launch(low));
    });
    until([&] { return warnings != 0; });
    std::thread waiting([&] { EXPECT_EQ(0, launch(low)); }); // wakes the other when it comes
    until([&] { return query(low).waiters == 2; });
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    suspends.join();
    waiting.join();
    EXPECT_EQ(1U, warnings);
    ASSERT_EQ(0, xp_set_log_fn(nullptr, XP_LOG_NONE, nullptr));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(HookedStreamTest, where_the_queue_is_shared_callers_wait_before_their_call) {
    share_low();
    std::uint32_t level = 0;
    EXPECT_EQ(-EOPNOTSUPP, xp_stream_hold(low, XP_HOLD_LEAST(XP_LEVEL_DEACTIVATE), &level));
    EXPECT_EQ(-EOPNOTSUPP, xp_stream_hold(low, XP_HOLD_EXACT, &level));
    ASSERT_EQ(0, xp_stream_hold(low, 0, &level)) << xp_last_detail();
    EXPECT_EQ(XP_LEVEL_BLOCK, level);
    EXPECT_FALSE(stopped(low));
    EXPECT_EQ(0, launch(other)); // the queue isn't held
    std::thread waiting = launch_that_waits(low);
    ASSERT_EQ(0, xp_stream_release(low));
    waiting.join();
    EXPECT_EQ(0, launch(low));
}

TEST_F(HookedStreamTest, a_stream_stays_held_when_one_of_its_queue_is_destroyed) {
    share_low();
    ASSERT_EQ(0, xp_stream_hold(low, XP_HOLD_SHARED, nullptr)) << xp_last_detail();
    ASSERT_TRUE(stopped(low));
    ASSERT_EQ(0, hipStreamDestroy(other));
    EXPECT_TRUE(stopped(low));
    EXPECT_EQ(0, xp_stream_release(low));
    EXPECT_FALSE(stopped(low));
}

TEST_F(HookedStreamTest, the_others_may_stop_with_it) {
    share_low();
    std::uint32_t level = 0;
    ASSERT_EQ(0, xp_stream_hold(low, XP_HOLD_SHARED, &level)) << xp_last_detail();
    EXPECT_EQ(XP_LEVEL_INTERRUPT, level);
    EXPECT_TRUE(stopped(other));
    ASSERT_EQ(0, xp_stream_release(low));
}

TEST_F(HookedStreamTest, a_captured_stream_takes_calls_in_while_it_is_held) {
    share_low();
    ASSERT_EQ(0, xp_stream_hold(low, 0, nullptr));
    ASSERT_EQ(0, hipStreamBeginCapture(low, 0));
    fake_hip()->capturing = true;
    EXPECT_EQ(0, launch(low));
    fake_hip()->capturing = false;
    ASSERT_EQ(0, hipStreamEndCapture(low, nullptr));
    std::thread waiting = launch_that_waits(low);
    ASSERT_EQ(0, xp_stream_release(low));
    waiting.join();
}

TEST_F(HookedStreamTest, who_waits_goes_on_when_the_stream_is_destroyed) {
    share_low();
    ASSERT_EQ(0, xp_stream_hold(low, 0, nullptr));
    std::thread waiting = launch_that_waits(low);
    fake_hip()->reuse_handles = true; // the launch into what is no more does no harm here
    EXPECT_EQ(0, hipStreamDestroy(low));
    waiting.join();
}

TEST_F(HookedStreamTest, direct_work_of_a_high_priority_stops_a_low_stream) {
    give_priorities();
    schedule();
    run(low, high);
    ASSERT_EQ(0, launch(low));
    ASSERT_EQ(0, launch(high));
    until([&] { return stopped(low); });
    EXPECT_FALSE(stopped(high));
    run(nullptr);
    until([&] { return !stopped(low); });
    EXPECT_EQ(0, xp_sched_stop());
}

TEST_F(HookedStreamTest, a_low_stream_launches_nothing_beside_a_high_one) {
    share_low();
    give_priorities();
    schedule();
    run(low, high);
    ASSERT_EQ(0, launch(high));
    std::atomic<bool> enough{false};
    std::thread launching([&] {
        while (!enough)
            EXPECT_EQ(0, launch(low));
    });
    until([&] { return query(low).waiters == 1; });
    enough = true;
    run(nullptr);
    launching.join();
    EXPECT_EQ(0, xp_sched_stop());
}

TEST_F(HookedStreamTest, direct_work_of_an_xqueues_stream_is_the_xqueues) {
    xp_xqueue_t low_queue{}, high_queue{};
    ASSERT_EQ(0, xp_xqueue_create(low, nullptr, &low_queue)) << xp_last_detail();
    ASSERT_EQ(0, xp_xqueue_create(high, nullptr, &high_queue)) << xp_last_detail();
    ASSERT_EQ(0, xp_xqueue_set_priority(high_queue, 1));
    schedule();
    run(low, high);
    ASSERT_EQ(0, launch(high)); // not a command
    ASSERT_EQ(0, xp_xqueue_submit(low_queue, submitted, nullptr, nullptr));
    until([&] { return stopped(low); });
    run(nullptr);
    until([&] { return !stopped(low); });
    EXPECT_EQ(0, xp_sched_stop());
    EXPECT_EQ(0, xp_xqueue_destroy(low_queue));
    EXPECT_EQ(0, xp_xqueue_destroy(high_queue));
}

// As a program does that is written for XSched's shim: the xqueue is there, and the launches go
// past it.
TEST_F(HookedStreamTest, a_suspended_xqueue_keeps_direct_launches_back) {
    xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
    options.max_level = XP_LEVEL_BLOCK;
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(low, &options, &xqueue)) << xp_last_detail();
    std::uint32_t level = 0;
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, &level));
    EXPECT_EQ(XP_LEVEL_BLOCK, level);
    std::thread waiting = launch_that_waits(low);
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    waiting.join();
    ASSERT_EQ(0, xp_xqueue_submit(xqueue, submitted, nullptr, nullptr)); // and its own never waits
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// Else a suspend at this level would find a thousand kernels launched ahead.
TEST_F(HookedStreamTest, few_direct_launches_are_under_way_where_nothing_launched_can_be_stopped) {
    xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
    options.max_level = XP_LEVEL_BLOCK;
    options.threshold = 4;
    options.batch = 2;
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(low, &options, &xqueue)) << xp_last_detail();
    run(low);
    std::atomic<int> launches{0};
    std::thread launching([&] {
        for (; launches < 20; ++launches)
            EXPECT_EQ(0, launch(low));
    });
    until([&] { return query(low).waiters == 1; });
    EXPECT_EQ(4, launches);
    run(nullptr);
    launching.join();
    run(low);
    ASSERT_EQ(0, xp_xqueue_set_max_level(xqueue, XP_LEVEL_INTERRUPT));
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(0, launch(low));
    run(nullptr);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// The second of two plug-ins of one program, say.
TEST_F(HookedStreamTest, a_refused_second_xqueue_leaves_the_first_as_it_was) {
    xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
    options.max_level = XP_LEVEL_BLOCK;
    options.threshold = 2;
    options.batch = 1;
    xp_xqueue_t xqueue{}, second{};
    ASSERT_EQ(0, xp_xqueue_create(low, &options, &xqueue)) << xp_last_detail();
    schedule();
    EXPECT_EQ(-EBUSY, xp_xqueue_create(low, nullptr, &second));
    run(low);
    std::atomic<int> launches{0};
    std::thread launching([&] {
        for (; launches < 4; ++launches)
            EXPECT_EQ(0, launch(low));
    });
    until([&] { return query(low).waiters == 1 || launches == 4; });
    EXPECT_EQ(2, launches); // paced
    run(nullptr);
    launching.join();
    // Observed: its direct work stops a lower stream.
    ASSERT_EQ(0, xp_xqueue_set_max_level(xqueue, XP_LEVEL_INTERRUPT)); // not paced
    ASSERT_EQ(0, xp_xqueue_set_priority(xqueue, 1));
    ASSERT_EQ(0, xp_stream_set_priority(high, -1));
    run(low, high);
    ASSERT_EQ(0, launch(high));
    ASSERT_EQ(0, launch(low));
    until([&] { return stopped(high); });
    run(nullptr);
    EXPECT_EQ(0, xp_sched_stop());
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// HIP ends the capture of a stream that is destroyed, as the destructor of a program does when the
// capture throws; and the next stream often gets its address.
TEST_F(HookedStreamTest, a_capture_ends_with_its_stream) {
    EXPECT_FALSE(stopped(high)); // the library sees what begins from here on
    create(other);               // so that the next stream gets the queue of high
    ASSERT_EQ(0, hipStreamDestroy(other));
    fake_hip()->reuse_handles = true;
    void* captured = high;
    ASSERT_EQ(0, hipStreamBeginCapture(captured, 0));
    ASSERT_EQ(0, hipStreamDestroy(captured));
    create(high);
    ASSERT_EQ(captured, high);
    give_priorities();
    schedule();
    run(low, high);
    ASSERT_EQ(0, launch(low));
    ASSERT_EQ(0, launch(high));
    until([&] { return stopped(low) && fake_hip()->synchronizing >= 1; });
    run(nullptr);
    until([&] { return !stopped(low); });
    EXPECT_EQ(0, xp_sched_stop());
}

TEST_F(HookedStreamTest, what_was_held_as_a_stream_is_held_as_an_xqueue) {
    ASSERT_EQ(0, xp_stream_set_priority(low, 7));
    ASSERT_EQ(0, xp_stream_hold(low, 0, nullptr));
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(low, nullptr, &xqueue)) << xp_last_detail();
    EXPECT_TRUE(stopped(low));
    std::int32_t priority = 0;
    EXPECT_EQ(0, xp_xqueue_get_priority(xqueue, &priority));
    EXPECT_EQ(7, priority);
    EXPECT_EQ(0, xp_stream_release(low));
    EXPECT_FALSE(stopped(low));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(HookedStreamTest, a_stream_that_is_destroyed_is_scheduled_no_more) {
    give_priorities();
    schedule();
    run(low, high);
    ASSERT_EQ(0, launch(low));
    ASSERT_EQ(0, launch(high));
    run(nullptr); // HIP waits for the work of what it destroys
    ASSERT_EQ(0, hipStreamDestroy(high));
    until([&] { return !stopped(low); });
    std::int32_t priority = 0;
    EXPECT_EQ(0, xp_stream_get_priority(high, &priority));
    EXPECT_EQ(0, priority);
    EXPECT_EQ(0, xp_sched_stop());
}

// Each marker is a barrier between two kernels.
TEST_F(HookedStreamTest, a_stream_that_is_always_busy_gets_few_markers) {
    give_priorities();
    schedule();
    const auto begin = std::chrono::steady_clock::now();
    const unsigned before = fake_hip()->records;
    for (int i = 0; i < 200; ++i) {
        ASSERT_EQ(0, launch(high));
        usleep(10); // or no other thread gets to run
    }
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(
                        std::chrono::steady_clock::now() - begin)
                        .count();
    EXPECT_LE(fake_hip()->records - before, us / 200 + 4);
    EXPECT_EQ(0, xp_sched_stop());
}

// HIP goes down in the exit: no thread may be in it then.
TEST_F(HookedStreamTest, the_process_ends_while_work_is_waited_for) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            give_priorities();
            schedule();
            run(low, high);
            launch(low);
            launch(high);
            while (fake_hip()->synchronizing == 0)
                std::this_thread::yield();
            std::thread([] {
                usleep(20000); // the work ends while the process does
                run(nullptr);
            }).detach();
            std::exit(0);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(HookedStreamTest, a_launch_function_may_exit) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EXIT(
        {
            xp_xqueue_t xqueue{};
            (void)xp_xqueue_create(low, nullptr, &xqueue);
            (void)xp_xqueue_submit(
                xqueue, [](void*, void*) -> int { std::exit(0); }, nullptr, nullptr);
        },
        ::testing::ExitedWithCode(0), "");
    EXPECT_GT(std::chrono::seconds(4),
              std::chrono::steady_clock::now() - begin); // half of it may be the machine's
}

#ifndef __SANITIZE_THREAD__ // whose pthread_create comes before the fake one
// All that needs a thread, from none to be had on: errors at most.
TEST_F(HookedStreamTest, at_the_limit_of_threads_nothing_stays_held_or_busy) {
    for (int left = 0; left <= 6; ++left) {
        fake_hip()->threads_left = left;
        xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
        xp_xqueue_t xqueue{};
        (void)xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST);
        (void)xp_stream_set_priority(low, -1);
        (void)xp_xqueue_create(high, &options, &xqueue);
        if (xqueue.handle != 0)
            (void)xp_xqueue_set_priority(xqueue, 1);
        std::uint64_t ticket = 0;
        bool accepted = false;
        notified = false;
        run(high); // else it is told at once
        if (xqueue.handle != 0 && xp_xqueue_submit(xqueue, submitted, nullptr, &ticket) == 0)
            accepted =
                xp_xqueue_notify(
                    xqueue, ticket, [](int, void* told) { *static_cast<bool*>(told) = true; },
                    &notified) == 0;
        run(nullptr);
        EXPECT_EQ(0, launch(low));
        EXPECT_EQ(0, launch(high));
        if (xp_stream_hold(low, 0, nullptr) == 0) {
            EXPECT_EQ(0, xp_stream_release(low));
        }
        // Work whose end no thread could see keeps no lower stream from running.
        until([&] { return !stopped(low); });
        fake_driver()->refused_starts = 1;
        if (xp_stream_hold(low, 0, nullptr) == 0) {
            EXPECT_EQ(0, xp_stream_release(low));
        }
        // With threads again everything continues, at the next call at the latest.
        fake_hip()->threads_left = -1;
        EXPECT_EQ(0, launch(high));
        EXPECT_EQ(0, launch(low));
        until([&] { return !stopped(low) && !stopped(high); });
        if (xqueue.handle != 0) {
            EXPECT_EQ(0, xp_xqueue_submit(xqueue, submitted, nullptr, nullptr));
            EXPECT_EQ(0, xp_xqueue_wait_all(xqueue)) << xp_last_detail();
            EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
        }
        EXPECT_EQ(accepted, notified) << "of a notice that is refused the argument may be gone";
        ASSERT_EQ(0, xp_xqueue_create(high, &options, &xqueue)) << xp_last_detail();
        EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
        (void)xp_sched_stop();
        fake_driver()->refused_starts = 0;
        until([&] { return !stopped(low) && !stopped(high); });
    }
}

TEST_F(HookedStreamTest, the_process_ends_although_no_thread_could_be_started) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            schedule();
            fake_hip()->threads_left = 0;
            give_priorities();
            run(low, high);
            launch(low);
            launch(high);
            run(nullptr);
            alarm(30); // it would never end
            std::exit(0);
        },
        ::testing::ExitedWithCode(0), "");
}
#endif

TEST_F(HookedStreamTest, what_cannot_be_held_is_refused) {
    void* const per_thread = reinterpret_cast<void*>(2);
    EXPECT_EQ(-EOPNOTSUPP, xp_stream_hold(per_thread, 0, nullptr));
    EXPECT_EQ(-EOPNOTSUPP, xp_stream_set_priority(per_thread, 1));
    EXPECT_EQ(-EINVAL, xp_stream_hold(low, 0x10, nullptr));
    EXPECT_EQ(-EINVAL, xp_stream_set_priority(low, 256));
}

} // namespace
