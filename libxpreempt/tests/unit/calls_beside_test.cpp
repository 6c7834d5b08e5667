// SPDX-License-Identifier: MIT
// Two calls beside each other: in each allocation of the one, another thread makes the other one
// until it returns or blocks. In the program with the malloc() of no_memory_calls_test.cpp.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"
#include "unit/failing_allocation.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

extern "C" {
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
}

namespace {

using Call = std::function<void()>;

bool sleeps(pid_t thread) {
    std::string stat;
    std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/stat"), stat);
    const auto name_end = stat.rfind(") ");
    return name_end != std::string::npos && stat[name_end + 2] == 'S';
}

// If the thread only waits for a moment, the calls are beside each other all the same.
bool is_blocked(pid_t thread) {
    for (int i = 0; i < 20; ++i) {
        if (!sleeps(thread))
            return false;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

// Returns false if the first call has no allocation with that number, and then makes it alone.
bool make_beside(int number, const Call& first, const Call& second) {
    std::atomic<pid_t> id{0};
    std::atomic<bool> returned{false};
    std::thread thread;
    {
        const test::CallInAllocation here(number, [&] {
            thread = std::thread([&] {
                id = ::gettid();
                second();
                returned = true;
            });
            while (!returned && (id == 0 || !is_blocked(id)))
                std::this_thread::yield();
        });
        first();
    }
    if (!thread.joinable())
        return false;
    thread.join();
    return true;
}

class CallsBesideTest : public ::testing::Test {
protected:
    void SetUp() override {
        fake_choose_driver();
        ASSERT_EQ(0, xp_start()) << xp_last_detail();
    }
    void create_stream() {
        ASSERT_EQ(0, hipStreamCreate(&stream));
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    }
    [[nodiscard]] int hold() const { return xp_stream_hold(stream, XP_HOLD_SHARED, nullptr); }
    void create_xqueue(std::size_t which) {
        xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
        options.flags = XP_ALLOW_SHARED;
        answers[which] = xp_xqueue_create(stream, &options, &xqueues[which]);
    }
    // Makes the calls beside each other on a new stream for each allocation of the first one.
    void make_all_beside(const Call& prepare, const Call& first, const Call& second,
                         const Call& check) {
        bool reached = true;
        for (int number = 0; reached && !HasFailure(); ++number) {
            SCOPED_TRACE(number);
            create_stream();
            prepare();
            reached = make_beside(number, first, second);
            if (reached)
                check();
            for (xp_xqueue_t& xqueue : xqueues)
                if (const xp_xqueue_t made = std::exchange(xqueue, {}); made.handle != 0) {
                    EXPECT_EQ(0, xp_xqueue_destroy(made)) << xp_last_detail();
                }
            EXPECT_EQ(0, hipStreamDestroy(stream));
            EXPECT_FALSE(fake_any_held());
        }
    }
    void expect_one_hold() const {
        EXPECT_TRUE(fake_any_held());
        EXPECT_EQ(0, xp_stream_release(stream)) << xp_last_detail();
        EXPECT_FALSE(fake_any_held());
        EXPECT_EQ(-ENOENT, xp_stream_release(stream));
    }

    void* stream = nullptr;
    std::array<xp_xqueue_t, 2> xqueues{};
    std::array<int, 2> answers{};
};

// It is the stream's or the xqueue's, and the release finds it.
TEST_F(CallsBesideTest, a_hold_is_kept_while_the_stream_gets_an_xqueue) {
    const Call holds = [this] { EXPECT_EQ(0, hold()) << xp_last_detail(); };
    const Call creates = [this] { create_xqueue(0); };
    const auto check = [this] {
        EXPECT_EQ(0, answers[0]);
        expect_one_hold();
    };
    make_all_beside([] {}, creates, holds, check);
    make_all_beside([] {}, holds, creates, check);
}

TEST_F(CallsBesideTest, one_of_two_xqueues_gets_the_hold_of_the_stream) {
    make_all_beside([this] { EXPECT_EQ(0, hold()) << xp_last_detail(); },
                    [this] { create_xqueue(0); }, [this] { create_xqueue(1); },
                    [this] {
                        EXPECT_EQ((std::set{0, -EBUSY}), (std::set{answers[0], answers[1]}));
                        expect_one_hold();
                    });
}

// One of them is scheduled for the stream, with the new priority.
TEST_F(CallsBesideTest, a_priority_is_set_while_the_stream_gets_an_xqueue) {
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST)) << xp_last_detail();
    const Call ranks = [this] {
        EXPECT_EQ(0, xp_stream_set_priority(stream, 5)) << xp_last_detail();
    };
    const Call creates = [this] { create_xqueue(0); };
    const auto check = [this] {
        std::int32_t priority = 0;
        EXPECT_EQ(0, xp_xqueue_get_priority(xqueues[0], &priority)) << xp_last_detail();
        EXPECT_EQ(5, priority);
        xp_sched_state scheduler{};
        scheduler.sz = sizeof scheduler;
        EXPECT_EQ(0, xp_sched_query(&scheduler)) << xp_last_detail();
        EXPECT_EQ(1U, scheduler.num_xqueues);
    };
    make_all_beside([] {}, creates, ranks, check);
    make_all_beside([] {}, ranks, creates, check);
    EXPECT_EQ(0, xp_sched_stop());
}

// HIP often gives the next stream its address.
TEST_F(CallsBesideTest, a_hold_is_not_the_next_streams) {
    fake_hip()->reuse_handles = true;
    const auto replace = [this] {
        void* next = nullptr;
        EXPECT_EQ(0, hipStreamDestroy(stream));
        EXPECT_EQ(0, hipStreamCreate(&next));
        EXPECT_EQ(stream, next);
        EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, next));
    };
    for (const bool used : {true, false})
        make_all_beside(
            [&] {
                if (!used) {
                    EXPECT_EQ(0, hipStreamDestroy(stream));
                    EXPECT_EQ(0, hipStreamCreate(&stream));
                }
            },
            [this] { (void)hold(); }, replace,
            [this] {
                EXPECT_FALSE(fake_hip()->destroyed_held);
                EXPECT_FALSE(fake_any_held());
                EXPECT_EQ(-ENOENT, xp_stream_release(stream));
            });
}

} // namespace
