// SPDX-License-Identifier: MIT
// A driver that refuses a start, or confirms a stop late: a hold ends with its owner all the same.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"
#include "unit/until.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <functional>
#include <gtest/gtest.h>
#include <thread>

extern "C" {
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipStreamSynchronize(void* stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
}

namespace {

class RefusalsTest : public ::testing::Test {
protected:
    void SetUp() override {
        fake_choose_driver();
        ASSERT_EQ(0, hipStreamCreate(&stream));
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
        xp_stream_info info{};
        info.sz = sizeof info;
        ASSERT_EQ(0, xp_stream_query(stream, &info)) << xp_last_detail();
        id = info.kfd_queue_id;
    }
    [[nodiscard]] bool runs() const {
        const fake::Queue& queue = fake_driver()->queues[id];
        return !queue.held && queue.percentage == 100;
    }
    [[nodiscard]] xp_xqueue_t new_xqueue() const {
        xp_xqueue_t xqueue{};
        EXPECT_EQ(0, xp_xqueue_create(stream, nullptr, &xqueue)) << xp_last_detail();
        return xqueue;
    }

    void* stream = nullptr;
    std::uint32_t id = 0;
};

// The driver keeps the hold of a stop that it could not confirm in time.
TEST_F(RefusalsTest, a_stop_that_is_confirmed_late_ends_with_its_resume) {
    const xp_xqueue_t xqueue = new_xqueue();
    for (const bool resumed_early : {false, true}) {
        fake_driver()->late_stops = fake_driver()->patched ? 1 : 0;
        std::uint32_t level = 0;
        ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, &level)) << xp_last_detail();
        EXPECT_EQ(XP_LEVEL_INTERRUPT, level);
        EXPECT_FALSE(runs());
        if (resumed_early) {
            EXPECT_EQ(0, xp_xqueue_resume(xqueue)) << xp_last_detail();
        }
        fake_driver()->queues[id].pending = false; // its kernel has ended
        if (!resumed_early) {
            EXPECT_EQ(0, xp_xqueue_resume(xqueue)) << xp_last_detail();
        }
        test::until([this] { return runs(); });
    }
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// Its waves run until then. A resume by another thread ends the wait as well.
TEST_F(RefusalsTest, a_suspend_that_finishes_launched_work_waits_for_a_late_stop) {
    if (!fake_driver()->patched)
        return;
    const xp_xqueue_t xqueue = new_xqueue();
    for (const bool resumed : {false, true}) {
        fake_driver()->late_stops = 1;
        fake_driver()->late_answers = 0;
        std::atomic<bool> returned{false};
        std::thread suspending([&] {
            EXPECT_EQ(0, xp_xqueue_suspend(xqueue, XP_SUSPEND_FINISH_LAUNCHED, nullptr))
                << xp_last_detail();
            returned = true;
        });
        test::until([] { return fake_driver()->late_answers >= 3; });
        EXPECT_FALSE(returned);
        if (resumed)
            EXPECT_EQ(0, xp_xqueue_resume(xqueue)) << xp_last_detail();
        else
            fake_driver()->queues[id].pending = false; // its kernel has ended
        suspending.join();
        fake_driver()->queues[id].pending = false;
        EXPECT_EQ(resumed ? -ENOENT : 0, xp_xqueue_resume(xqueue));
        test::until([this] { return runs(); });
    }
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// Without a free slot, or during a reset of the GPU: for a moment, and its owner has gone.
TEST_F(RefusalsTest, a_queue_whose_start_is_refused_runs_later) {
    const std::function<void()> holds[] = {
        [this] {
            ASSERT_EQ(0, xp_stream_hold(stream, 0, nullptr)) << xp_last_detail();
            fake_driver()->refused_starts = 2;
            (void)xp_stream_release(stream);
        },
        [this] {
            const xp_xqueue_t xqueue = new_xqueue();
            ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr));
            fake_driver()->refused_starts = 2;
            EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
        },
        [this] {
            const xp_xqueue_t xqueue = new_xqueue();
            const xp_policy_fn none = [](const xp_sched_source*, std::size_t count, std::uint64_t,
                                         std::uint8_t* suspend, void*) {
                std::fill_n(suspend, count, std::uint8_t{1});
                return UINT64_MAX;
            };
            ASSERT_EQ(0, xp_sched_start_policy(none, nullptr)) << xp_last_detail();
            test::until([this] { return !runs(); });
            fake_driver()->refused_starts = 2;
            EXPECT_EQ(0, xp_sched_stop());
            EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
        },
    };
    for (const auto& hold : holds) {
        hold();
        test::until([this] { return runs(); });
        EXPECT_EQ(0U, fake_driver()->refused_starts);
    }
}

// At the limit of threads there is none that could repeat the start.
TEST_F(RefusalsTest, a_queue_whose_start_is_refused_runs_without_a_thread) {
    fake_hip()->threads_left = 0;
    for (const unsigned refused : {2U, 1000000U}) {
        ASSERT_EQ(0, xp_stream_hold(stream, 0, nullptr)) << xp_last_detail();
        fake_driver()->refused_starts = refused;
        EXPECT_EQ(0, xp_stream_release(stream)) << xp_last_detail();
        if (refused == 2) {
            test::until([this] { return runs(); });
        }
    }
    fake_driver()->refused_starts = 3;
    fake_hip()->unfinished = true;
    EXPECT_EQ(0, hipStreamSynchronize(stream)); // waits for the queue
    fake_hip()->unfinished = false;
    EXPECT_TRUE(runs());
    ASSERT_EQ(0, xp_stream_hold(stream, 0, nullptr)) << xp_last_detail();
    fake_driver()->refused_starts = 2;
    EXPECT_EQ(0, hipStreamDestroy(stream));
    EXPECT_FALSE(fake_hip()->destroyed_held);
    fake_hip()->threads_left = -1;
}

// HIP waits there for the stream's queue, and this thread is the only one.
TEST_F(RefusalsTest, a_stream_is_destroyed_although_its_start_is_refused) {
    ASSERT_EQ(0, xp_stream_hold(stream, 0, nullptr)) << xp_last_detail();
    fake_driver()->refused_starts = 2;
    EXPECT_EQ(0, hipStreamDestroy(stream));
    EXPECT_EQ(0U, fake_driver()->refused_starts);
    EXPECT_FALSE(fake_hip()->destroyed_held);
    EXPECT_TRUE(runs());
}

TEST_F(RefusalsTest, a_queue_is_held_again_although_its_stop_is_refused) {
    void* other = nullptr;
    void* sharing = nullptr; // has the queue of `stream`
    ASSERT_EQ(0, hipStreamCreate(&other));
    ASSERT_EQ(0, hipStreamCreate(&sharing));
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, sharing));
    ASSERT_EQ(0, xp_stream_hold(stream, XP_HOLD_SHARED, nullptr)) << xp_last_detail();
    ASSERT_FALSE(runs());
    fake_driver()->refused_stops = 1;
    EXPECT_EQ(0, hipStreamDestroy(sharing));
    EXPECT_EQ(0U, fake_driver()->refused_stops);
    for (int ms = 0; runs() && ms < 20000; ++ms)
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(runs());
    EXPECT_EQ(0, xp_stream_release(stream));
    EXPECT_TRUE(runs());
    EXPECT_EQ(0, hipStreamDestroy(other));
}

} // namespace
