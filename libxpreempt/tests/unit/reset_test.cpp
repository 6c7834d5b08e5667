// SPDX-License-Identifier: MIT
// hipDeviceReset() with held and captured streams, on the fake ROCm with two devices.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"
#include "unit/until.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>

extern "C" {
int hipDeviceReset();
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipSetDevice(int device);
int hipStreamBeginCapture(void* stream, int mode);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipStreamEndCapture(void* stream, void** graph);
}

namespace {

using test::until;

int launch(void* stream) {
    return hipMemsetAsync(nullptr, 0, 4, stream);
}

void* new_stream() {
    void* stream = nullptr;
    EXPECT_EQ(0, hipStreamCreate(&stream));
    EXPECT_EQ(0, launch(stream));
    return stream;
}

xp_stream_info query(void* stream) {
    xp_stream_info info{};
    info.sz = sizeof info;
    EXPECT_EQ(0, xp_stream_query(stream, &info)) << xp_last_detail();
    return info;
}

const fake::Queue& queue_of(void* stream) {
    return fake_driver()->queues[query(stream).kfd_queue_id];
}

class ResetTest : public ::testing::Test {
protected:
    void SetUp() override {
        fake_choose_driver();
        low = new_stream();
    }
    void TearDown() override { EXPECT_EQ(0, hipStreamDestroy(low)); }
    // Returns a stream with the queue of `low`, which so can't be stopped alone.
    [[nodiscard]] void* share_low() const {
        void* others[] = {new_stream(), new_stream()};
        const bool first = query(others[0]).kfd_queue_id == query(low).kfd_queue_id;
        EXPECT_EQ(0, hipStreamDestroy(others[first ? 1 : 0]));
        EXPECT_EQ(2U, query(low).num_sharing);
        return others[first ? 0 : 1];
    }

    void* low = nullptr;
};

std::atomic<int> host_allocations{0};

xp_xqueue_t guarded_xqueue(void* stream) {
    xp_xqueue_t xqueue{};
    EXPECT_EQ(0, xp_xqueue_create(stream, nullptr, &xqueue)) << xp_last_detail();
    xp_command command{};
    command.sz = sizeof command;
    command.launch = [](void* on, void*) { return launch(on); };
    command.flags = XP_COMMAND_GUARDED;
    EXPECT_EQ(0, xp_xqueue_submit_command(xqueue, &command, nullptr)) << xp_last_detail();
    EXPECT_EQ(0, xp_xqueue_wait_all(xqueue)) << xp_last_detail();
    return xqueue;
}

// HIP frees the memory of the device, and that of the host if it has no other device.
TEST_F(ResetTest, guardians_are_not_in_memory_of_before) {
    fake_hip()->in_host_malloc = [] { ++host_allocations; };
    void* const other = new_stream();
    const xp_xqueue_t in_use = guarded_xqueue(low);
    EXPECT_EQ(0, xp_xqueue_destroy(guarded_xqueue(other)));
    EXPECT_EQ(0, xp_xqueue_destroy(guarded_xqueue(other)));
    EXPECT_EQ(2, host_allocations);
    ASSERT_EQ(0, hipDeviceReset());
    EXPECT_EQ(0, xp_xqueue_destroy(in_use));
    void* const after = new_stream();
    EXPECT_EQ(0, xp_xqueue_destroy(guarded_xqueue(after)));
    EXPECT_EQ(3, host_allocations);
    EXPECT_EQ(0, xp_xqueue_destroy(guarded_xqueue(after)));
    EXPECT_EQ(3, host_allocations);
    for (void* stream : {other, after}) // the fake's reset has kept it
        EXPECT_EQ(0, hipStreamDestroy(stream));
}

// HIP destroys the streams of the current device.
TEST_F(ResetTest, a_reset_leaves_what_is_held_on_another_device) {
    ASSERT_EQ(0, xp_stream_hold(low, 0, nullptr)) << xp_last_detail();
    ASSERT_EQ(0, hipSetDevice(1));
    void* there = new_stream();
    ASSERT_EQ(0, xp_stream_hold(there, 0, nullptr)) << xp_last_detail();
    const fake::Queue& reset = queue_of(there);
    ASSERT_EQ(0, hipDeviceReset());
    EXPECT_FALSE(reset.is_stopped());
    EXPECT_EQ(-ENOENT, xp_stream_release(there));
    EXPECT_TRUE(queue_of(low).is_stopped());
    EXPECT_EQ(0, xp_stream_release(low));
    EXPECT_FALSE(queue_of(low).is_stopped());
    EXPECT_EQ(0, hipStreamDestroy(there)); // the fake's reset has kept it
    ASSERT_EQ(0, hipSetDevice(0));
}

// HIP does not destroy it.
TEST_F(ResetTest, a_reset_leaves_the_null_stream_held) {
    ASSERT_EQ(0, launch(nullptr));
    ASSERT_EQ(0, xp_stream_hold(nullptr, 0, nullptr)) << xp_last_detail();
    ASSERT_EQ(0, hipDeviceReset());
    EXPECT_TRUE(queue_of(nullptr).is_stopped());
    EXPECT_EQ(0, xp_stream_release(nullptr));
    EXPECT_FALSE(queue_of(nullptr).is_stopped());
}

// Its event never passes.
TEST_F(ResetTest, work_ends_with_a_stream_that_a_reset_destroys) {
    void* const high = new_stream();
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST)) << xp_last_detail();
    ASSERT_EQ(0, xp_stream_set_priority(nullptr, -1)) << xp_last_detail();
    ASSERT_EQ(0, xp_stream_set_priority(high, 1)) << xp_last_detail();
    fake_hip()->running[0] = high;
    fake_hip()->running[1] = fake_stream(nullptr);
    ASSERT_EQ(0, launch(nullptr));
    ASSERT_EQ(0, launch(high));
    until([] { return queue_of(nullptr).is_stopped(); });
    // Usually no thread waits for the work yet. If one does, the reset waits for it.
    std::atomic<bool> reset = false;
    std::thread ends([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        if (!reset)
            fake_hip()->running[0] = nullptr;
    });
    ASSERT_EQ(0, hipDeviceReset());
    reset = true;
    until([] { return !queue_of(nullptr).is_stopped(); });
    ends.join();
    fake_hip()->running[0] = fake_hip()->running[1] = nullptr;
    EXPECT_EQ(0, xp_sched_stop());
    EXPECT_EQ(0, hipStreamDestroy(high)); // the fake's reset has kept it
}

// HIP goes down then, and a thread waits for the end of the work, as the reset does.
TEST_F(ResetTest, no_thread_is_in_hip_when_the_process_ends) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            void* const high = new_stream();
            xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST);
            xp_stream_set_priority(high, 1);
            fake_hip()->running[0] = high;
            launch(high);
            until([] { return fake_hip()->synchronizing != 0; });
            std::thread([] {
                std::this_thread::sleep_for(std::chrono::milliseconds(200));
                fake_hip()->running[0] = nullptr;
            }).detach();
            hipDeviceReset();
            std::exit(0);
        },
        ::testing::ExitedWithCode(0), "");
}

int launch_command(void* stream, void*) {
    return launch(stream);
}

void exit_beside_a_full_xqueue(void* stream) {
    xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
    options.threshold = options.batch = 1;
    xp_xqueue_t xqueue{};
    EXPECT_EQ(0, xp_xqueue_create(stream, &options, &xqueue));
    fake_hip()->running[0] = stream;
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(0, xp_xqueue_submit(xqueue, launch_command, nullptr, nullptr));
    until([] { return fake_hip()->synchronizing != 0; });
    std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        fake_hip()->running[0] = nullptr;
    }).detach();
    std::exit(0);
}

// An xqueue's thread waits for room.
TEST_F(ResetTest, no_thread_of_an_xqueue_is_in_hip_when_the_process_ends) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(exit_beside_a_full_xqueue(low), ::testing::ExitedWithCode(0), "");
}

// HIP waits for no stream of another device.
TEST_F(ResetTest, a_reset_starts_no_queue_of_another_device) {
    ASSERT_EQ(0, xp_stream_hold(low, 0, nullptr)) << xp_last_detail();
    const fake::Queue& held = queue_of(low);
    const std::uint32_t stops = held.preempts, updates = held.updates;
    ASSERT_EQ(0, hipSetDevice(1));
    ASSERT_EQ(0, hipDeviceReset());
    EXPECT_TRUE(held.is_stopped());
    EXPECT_EQ(stops, held.preempts);
    EXPECT_EQ(updates, held.updates);
    ASSERT_EQ(0, hipSetDevice(0));
    EXPECT_EQ(0, xp_stream_release(low));
}

TEST_F(ResetTest, a_reset_admits_no_launch_on_another_device) {
    void* sharing = share_low();
    ASSERT_EQ(0, xp_stream_hold(low, 0, nullptr)) << xp_last_detail();
    std::atomic<bool> launched{false};
    std::thread waiting([&] {
        EXPECT_EQ(0, launch(low));
        launched = true;
    });
    until([&] { return query(low).waiters == 1; });
    ASSERT_EQ(0, hipSetDevice(1));
    for (int i = 0; i < 1000; ++i) {
        ASSERT_EQ(0, hipDeviceReset());
        std::this_thread::yield();
    }
    ASSERT_EQ(0, hipSetDevice(0));
    EXPECT_FALSE(launched);
    EXPECT_EQ(1U, query(low).waiters);
    EXPECT_EQ(0, xp_stream_release(low));
    waiting.join();
    EXPECT_EQ(0, hipStreamDestroy(sharing));
}

// A captured stream takes calls in, also while it is held.
TEST_F(ResetTest, a_reset_ends_no_capture_on_another_device) {
    void* sharing = share_low();
    ASSERT_EQ(0, hipStreamBeginCapture(low, 0));
    ASSERT_EQ(0, xp_stream_hold(low, 0, nullptr)) << xp_last_detail();
    ASSERT_EQ(0, hipSetDevice(1));
    ASSERT_EQ(0, hipDeviceReset());
    ASSERT_EQ(0, hipSetDevice(0));
    std::atomic<bool> launched{false};
    std::thread launching([&] {
        EXPECT_EQ(0, launch(low));
        launched = true;
    });
    until([&] { return launched || query(low).waiters == 1; });
    EXPECT_TRUE(launched);
    EXPECT_EQ(0, xp_stream_release(low));
    launching.join();
    EXPECT_EQ(0, hipStreamEndCapture(low, nullptr));
    EXPECT_EQ(0, hipStreamDestroy(sharing));
}

} // namespace
