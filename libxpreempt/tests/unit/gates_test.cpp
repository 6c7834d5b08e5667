// SPDX-License-Identifier: MIT
// HIP calls while a queue is held, on the fake ROCm: which of them wait outside of HIP, for whom.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"
#include "unit/gates_fixture.hpp"
#include "unit/until.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <thread>

namespace {

using test::GatesTest;

TEST_F(GatesTest, a_wait_for_the_held_stream_waits) {
    hold();
    EXPECT_EQ(0, hipStreamSynchronize(other));
    expect_waits([this] { return hipStreamSynchronize(held); });
}

TEST_F(GatesTest, a_wait_for_a_stream_that_is_done_does_not) {
    hold();
    fake_hip()->unfinished = false;
    EXPECT_EQ(0, hipStreamSynchronize(held));
}

TEST_F(GatesTest, the_null_stream_waits_for_blocking_ones) {
    hold();
    expect_waits([] { return hipStreamSynchronize(nullptr); });
}

TEST_F(GatesTest, the_null_stream_waits_for_no_stream_of_another_device) {
    ASSERT_EQ(0, hipSetDevice(1));
    ASSERT_EQ(0, hipMemset(nullptr, 0, 4)); // it has a queue
    hold();
    EXPECT_EQ(0, hipStreamSynchronize(nullptr));
    EXPECT_EQ(0, hipMemset(nullptr, 0, 4));
    EXPECT_EQ(0, xp_stream_release(held));
    ASSERT_EQ(0, hipSetDevice(0));
}

// The calling thread's device is known before it has a queue.
TEST_F(GatesTest, the_first_call_on_a_device_waits_for_no_stream_of_another) {
    const std::function<int()> calls[] = {[] { return hipDeviceSynchronize(); },
                                          [] { return hipMemset(nullptr, 0, 4); }};
    for (const auto& call : calls) {
        hold();
        expect_does_not_wait(1, call);
        expect_waits(call);
    }
}

// The current device does not matter.
TEST_F(GatesTest, a_stream_waits_for_the_null_stream_of_its_device_only) {
    void* there = nullptr;
    ASSERT_EQ(0, hipSetDevice(1));
    ASSERT_EQ(0, hipStreamCreate(&there));
    ASSERT_EQ(0, hipSetDevice(0));
    void* const here = held;
    held = nullptr; // the null stream
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, held));
    hold();
    expect_does_not_wait(0, [=] { return hipGraphLaunch(nullptr, there); });
    expect_waits([=] { return hipGraphLaunch(nullptr, here); });
    EXPECT_EQ(0, hipStreamDestroy(there));
}

TEST_F(GatesTest, a_fill_that_blocks_is_on_the_null_stream) {
    hold();
    expect_waits([] { return hipMemset(nullptr, 0, 4); });
}

// HIP waits for the kernel of the call, which would be in the held queue.
TEST_F(GatesTest, a_call_that_waits_for_its_own_kernel_waits_for_a_held_stream_without_work) {
    const std::function<int()> calls[] = {[] { return hipMemset(nullptr, 0, 4); },
                                          [] { return hipMemcpyDtoD(nullptr, nullptr, 4); }};
    held = nullptr; // the null stream
    for (const auto& call : calls) {
        ASSERT_EQ(0, call());
        complete_null_stream();
        hold();
        fake_hip()->unfinished = false;
        EXPECT_EQ(0, hipStreamSynchronize(nullptr));
        expect_waits(call);
    }
}

// HIP waits in each of them, in hipMemMap for what the null stream waits for.
TEST_F(GatesTest, a_call_that_frees_or_maps_memory_waits) {
    const std::function<int()> calls[] = {
        [] { return hipFree(nullptr); },
        [] { return hipIpcCloseMemHandle(nullptr); },
        [] { return hipMemMap(nullptr, 4, 0, nullptr, 0); },
        [] { return hipDestroySurfaceObject(nullptr); },
        [] { return hipDestroyTextureObject(nullptr); },
        [] { return hipTexObjectDestroy(nullptr); },
        [] { return hipUnbindTexture(nullptr); },
    };
    for (const auto& call : calls) {
        hold();
        expect_waits(call);
    }
}

TEST_F(GatesTest, a_mapping_does_not_wait_for_streams_that_the_null_stream_does_not) {
    fake_hip()->non_blocking = true;
    hold();
    EXPECT_EQ(0, hipMemMap(nullptr, 4, 0, nullptr, 0));
}

TEST_F(GatesTest, a_free_waits_for_streams_that_the_null_stream_does_not) {
    fake_hip()->non_blocking = true;
    hold();
    EXPECT_EQ(0, hipStreamSynchronize(nullptr));
    expect_waits([] { return hipFree(nullptr); });
}

// Its priority would lift the hold of the stream that the copy waits for.
TEST_F(GatesTest, a_copy_outside_of_hip_is_not_the_null_streams) {
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, nullptr));
    ASSERT_EQ(0, xp_stream_set_priority(held, 1)) << xp_last_detail();
    ASSERT_EQ(0, xp_stream_set_priority(nullptr, 2)) << xp_last_detail();
    xp_stream_info info{};
    info.sz = sizeof info;
    ASSERT_EQ(0, xp_stream_query(held, &info));
    using Signal = std::array<std::int64_t, 8>; // amd_signal_t: its kind, its value
    static Signal of_held{0, 1}, of_copy{0, 1};
    const std::uint64_t waits = reinterpret_cast<std::uintptr_t>(&of_held);
    constexpr std::size_t completion_at = 56; // of a packet
    std::memcpy(static_cast<char*>(const_cast<void*>(ring_of(held))) + completion_at, &waits,
                sizeof waits);
    hold();
    EXPECT_EQ(0, hsa_amd_memory_async_copy(nullptr, 0, nullptr, 0, 4, 1, &waits,
                                           reinterpret_cast<std::uintptr_t>(&of_copy)));
    EXPECT_EQ(0, hipStreamWaitEvent(other, event, 0)); // reads the rings
    EXPECT_TRUE(fake_driver()->queues[info.kfd_queue_id].is_stopped());
    of_held[1] = of_copy[1] = 0;
    EXPECT_EQ(0, xp_stream_release(held));
}

// HIP waits for the stream; then the hold concerns no stream any more.
TEST_F(GatesTest, a_stream_that_is_destroyed_runs_first_and_is_held_no_more) {
    xp_stream_info info{};
    info.sz = sizeof info;
    ASSERT_EQ(0, xp_stream_query(held, &info));
    hold();
    const fake::Queue& told = fake_driver()->queues[info.kfd_queue_id];
    ASSERT_TRUE(told.held || told.percentage == 0);
    EXPECT_EQ(0, hipStreamDestroy(held));
    EXPECT_FALSE(fake_hip()->destroyed_held);
    EXPECT_FALSE(told.held);
    EXPECT_EQ(100U, told.percentage);
}

// HIP waits for the stream that it destroys.
TEST_F(GatesTest, a_queue_runs_while_a_stream_of_it_is_destroyed) {
    void* const sharing = share_held();
    fake_hip()->destroys_slowly = true;
    std::thread program([=] { EXPECT_EQ(0, hipStreamDestroy(sharing)); });
    test::until([=] { return fake_hip()->dying == sharing; });
    EXPECT_EQ(0, xp_stream_hold(held, XP_HOLD_SHARED | XP_HOLD_LEAST(XP_LEVEL_INTERRUPT), nullptr))
        << xp_last_detail();
    EXPECT_FALSE(fake_any_held());
    fake_hip()->destroys_slowly = false;
    program.join();
    EXPECT_FALSE(fake_hip()->destroyed_held);
    EXPECT_TRUE(fake_any_held());
    EXPECT_EQ(0, xp_stream_release(held));
}

// Destroys a stream after the end of what the thread used later.
struct LastStream {
    void* stream = nullptr;
    ~LastStream() {
        if (stream != nullptr) {
            EXPECT_EQ(0, hipStreamDestroy(stream));
        }
    }
};
thread_local LastStream last_stream;

TEST_F(GatesTest, a_stream_is_destroyed_at_the_end_of_its_thread) {
    hold();
    void* const streams[] = {share_held(), share_held()};
    std::thread([=] {
        last_stream.stream = streams[0];
        EXPECT_EQ(0, hipStreamDestroy(streams[1]));
    }).join();
    EXPECT_FALSE(fake_hip()->destroyed_held);
    EXPECT_TRUE(fake_any_held());
    EXPECT_EQ(0, xp_stream_release(held));
}

// HIP may give it the queue of a held stream.
TEST_F(GatesTest, a_stream_that_was_never_used_is_not_waited_for) {
    hold();
    fake_hip()->events_stand = true;
    void* unused[2]{}; // one for each queue
    std::atomic<bool> returned{false};
    for (void*& stream : unused)
        ASSERT_EQ(0, hipStreamCreate(&stream));
    std::thread thread([&] {
        for (void* stream : unused)
            EXPECT_EQ(0, xp_stream_set_priority(stream, 1)) << xp_last_detail();
        returned = true;
    });
    test::until([&] { return returned || waiters() == 1; });
    EXPECT_TRUE(returned);
    EXPECT_EQ(0, xp_stream_release(held));
    thread.join();
    for (void* stream : unused)
        EXPECT_EQ(0, hipStreamDestroy(stream));
}

// HIP may wait for all streams: to unload kernels, in dlclose() or at the exit, and to destroy the
// branches of a graph.
TEST_F(GatesTest, queues_run_while_kernels_are_unloaded) {
    const std::function<void()> calls[] = {[] { __hipUnregisterFatBinary(nullptr); },
                                           [] { EXPECT_EQ(0, hipGraphExecDestroy(nullptr)); }};
    hold();
    for (const auto& call : calls) {
        ASSERT_TRUE(fake_any_held());
        call();
        EXPECT_FALSE(fake_hip()->unloaded_held);
        EXPECT_TRUE(fake_any_held());
    }
    EXPECT_EQ(0, xp_stream_release(held));
}

TEST_F(GatesTest, a_graph_would_stand_in_other_queues) {
    hold();
    EXPECT_EQ(0, hipGraphLaunch(nullptr, other));
    expect_waits([this] { return hipGraphLaunch(nullptr, held); });
}

TEST_F(GatesTest, an_event_is_waited_for_where_it_was_recorded) {
    ASSERT_EQ(0, hipEventRecord(event, other));
    hold();
    EXPECT_EQ(0, hipEventSynchronize(event));
    ASSERT_EQ(0, hipEventRecord(event, held));
    expect_waits([this] { return hipEventSynchronize(event); });
}

TEST_F(GatesTest, an_event_of_a_launch_is_waited_for_on_its_stream) {
    hold();
    const auto launch = [this](void* stream) {
        EXPECT_EQ(0, hipExtLaunchKernel(nullptr, {1, 1, 1}, {1, 1, 1}, nullptr, 0, stream, nullptr,
                                        event, 0));
    };
    launch(other);
    std::atomic<bool> returned{false};
    std::thread thread([&] {
        EXPECT_EQ(0, hipEventSynchronize(event));
        returned = true;
    });
    test::until([&] { return returned || waiters() == 1; });
    EXPECT_TRUE(returned);
    launch(held);
    expect_waits([this] { return hipEventSynchronize(event); });
    thread.join();
}

// Nothing is put into queues, and a wait would be for what the program itself must end.
TEST_F(GatesTest, a_stream_that_is_captured_does_not_wait) {
    hold();
    ASSERT_EQ(0, hipStreamBeginCapture(held, 0));
    EXPECT_EQ(0, hipGraphLaunch(nullptr, held));
    EXPECT_EQ(0, hipStreamEndCapture(held, nullptr));
}

// Every 64 ms at least who waits asks HIP again, and in the global mode that is forbidden to every
// thread from before the begin returns.
TEST_F(GatesTest, who_waits_ends_no_capture) {
    ASSERT_EQ(0, hipEventRecord(event, held));
    fake_hip()->begin_us = 200'000;
    const std::function<int()> calls[] = {
        [this] { return hipStreamSynchronize(held); },
        [this] { return hipEventSynchronize(event); },
        [] { return hipFree(nullptr); },
    };
    for (void* captured : {other, held})
        for (const auto& call : calls) {
            hold();
            const unsigned asked = fake_hip()->asked;
            expect_waits(call, [captured] {
                EXPECT_EQ(0, hipStreamBeginCapture(captured, 0));
                EXPECT_EQ(0, hipStreamEndCapture(captured, nullptr));
            });
            EXPECT_LT(asked, fake_hip()->asked);
        }
    EXPECT_FALSE(fake_hip()->captures_ended);
}

TEST_F(GatesTest, a_capture_may_begin_while_hip_is_asked) {
    hold();
    constexpr unsigned question_us = 20'000;
    fake_hip()->question_us = question_us;
    expect_waits([this] { return hipStreamSynchronize(held); },
                 [this] {
                     const unsigned asked = fake_hip()->asked;
                     while (fake_hip()->asked == asked)
                         std::this_thread::yield();
                     EXPECT_EQ(0, hipStreamBeginCapture(other, 0));
                     std::this_thread::sleep_for(std::chrono::microseconds(2 * question_us));
                     EXPECT_EQ(0, hipStreamEndCapture(other, nullptr));
                 });
    EXPECT_FALSE(fake_hip()->captures_ended);
}

// Neither a begin that failed nor a capture that ended keeps HIP from being asked.
TEST_F(GatesTest, hip_is_asked_again_after_a_capture) {
    hold();
    EXPECT_NE(0, hipStreamBeginCapture(held, -1));
    EXPECT_EQ(0, hipStreamBeginCapture(held, 0));
    EXPECT_EQ(0, hipStreamEndCapture(held, nullptr));
    fake_hip()->unfinished = false;
    EXPECT_EQ(0, hipStreamSynchronize(held));
}

// HIP rejects an end in another thread than that of the begin, for example, and captures on.
TEST_F(GatesTest, a_capture_goes_on_when_its_end_fails) {
    hold();
    ASSERT_EQ(0, hipStreamBeginCapture(held, 0));
    fake_hip()->fail_end = true;
    EXPECT_NE(0, hipStreamEndCapture(held, nullptr));
    expect_waits([] { return hipFree(nullptr); });
    EXPECT_FALSE(fake_hip()->captures_ended);
    fake_hip()->fail_end = false;
    EXPECT_EQ(0, hipStreamEndCapture(held, nullptr));
    fake_hip()->unfinished = false;
    EXPECT_EQ(0, hipFree(nullptr));
}

// The library asks for its own sake too, in any thread: of what it launched, and for memory.
TEST_F(GatesTest, an_xqueue_ends_no_capture) {
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(other, nullptr, &xqueue));
    ASSERT_EQ(0, hipStreamBeginCapture(held, 0));
    xp_command command{};
    command.sz = sizeof command;
    command.flags = XP_COMMAND_GUARDED;
    command.launch = [](void* stream, void*) { return hipMemsetAsync(nullptr, 0, 4, stream); };
    for (int i = 0; i < 100; ++i)
        ASSERT_EQ(0, xp_xqueue_submit_command(xqueue, &command, nullptr));
    EXPECT_EQ(0, xp_xqueue_wait_all(xqueue)) << xp_last_detail();
    EXPECT_FALSE(fake_hip()->captures_ended);
    EXPECT_EQ(0, hipStreamEndCapture(held, nullptr));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// Its commands are bounded by its threshold; and who suspends it must not wait for its launch.
TEST_F(GatesTest, an_xqueue_does_not_wait_for_its_own_stream) {
    xp_xqueue_options options{};
    options.sz = sizeof options;
    options.threshold = options.batch = 256;
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(held, &options, &xqueue));
    void* third = nullptr; // on the same queue
    ASSERT_EQ(0, hipStreamCreate(&third));
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, third));
    ASSERT_EQ(0, xp_stream_hold(third, XP_HOLD_LEAST(XP_LEVEL_INTERRUPT) | XP_HOLD_SHARED, nullptr))
        << xp_last_detail();
    fake_hip()->unfinished = true;
    const auto launch = [](void* stream, void*) { return hipMemsetAsync(nullptr, 0, 4, stream); };
    for (int i = 0; i < 128; ++i)
        ASSERT_EQ(0, xp_xqueue_submit(xqueue, launch, nullptr, nullptr));
    EXPECT_EQ(0U, waiters());
    fake_hip()->unfinished = false;
    EXPECT_EQ(0, xp_stream_release(third));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// 64 packets are the bound that libxpreempt(7) tells. One is there from the beginning.
TEST_F(GatesTest, launches_fill_the_queue_up_to_a_bound) {
    hold();
    for (int i = 1; i < 64; ++i)
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, held));
    ASSERT_EQ(0U, waiters());
    for (int i = 0; i < 128; ++i)
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, other));
    expect_waits([this] { return hipMemsetAsync(nullptr, 0, 4, held); });
}

// The ring of a queue, whose reader dies.
class Unreadable {
public:
    explicit Unreadable(const void* ring) : ring_(const_cast<void*>(ring)) {
        EXPECT_EQ(0, mprotect(ring_, bytes, PROT_NONE));
    }
    ~Unreadable() { EXPECT_EQ(0, mprotect(ring_, bytes, PROT_READ | PROT_WRITE)); }
    Unreadable(const Unreadable&) = delete;
    Unreadable& operator=(const Unreadable&) = delete;
    Unreadable(Unreadable&&) = delete;
    Unreadable& operator=(Unreadable&&) = delete;

private:
    static constexpr std::size_t bytes = 1024 * 64;
    void* ring_;
};

// Rings can be in VRAM, where a read takes a microsecond, and have 1024 packets.
TEST_F(GatesTest, a_launch_on_a_free_stream_reads_no_ring) {
    const void* ring = ring_of(held);
    hold();
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, other)); // now it is known to be free
    {
        const Unreadable unreadable(ring);
        for (int i = 0; i < 200; ++i)
            ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, other));
    }
    EXPECT_EQ(0, xp_stream_release(held));
}

TEST_F(GatesTest, nor_does_one_on_the_held_stream) {
    const void* ring = ring_of(other);
    hold();
    {
        const Unreadable unreadable(ring);
        for (int i = 1; i < 64; ++i)
            ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, held));
    }
    expect_waits([this] { return hipMemsetAsync(nullptr, 0, 4, held); });
}

TEST_F(GatesTest, an_event_record_on_a_free_stream_reads_its_own_ring_only) {
    const void* ring = ring_of(held);
    hold();
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, other));
    {
        const Unreadable unreadable(ring);
        for (int i = 0; i < 200; ++i)
            ASSERT_EQ(0, hipEventRecord(event, other));
    }
    EXPECT_EQ(0, xp_stream_release(held));
}

// HIP makes the barrier of an event wait for a copy of the stream, and copies may wait for
// anything.
TEST_F(GatesTest, an_event_record_that_waits_is_an_edge) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const std::int64_t signal[] = {0, 1, 0, 0, 0, 0, 0, 0}; // amd_signal_t, its value 1
    const void* ring = ring_of(held);
    hold();
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, other));
    EXPECT_DEATH(
        {
            fake_hip()->waits_for = reinterpret_cast<std::uintptr_t>(signal);
            const Unreadable unreadable(ring);
            hipEventRecord(event, other);
        },
        "");
    EXPECT_EQ(0, xp_stream_release(held));
}

// A wait for an event may have made it a stopped one.
TEST_F(GatesTest, after_an_edge_the_rings_are_read_again) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const void* ring = ring_of(held);
    hold();
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, other));
    EXPECT_DEATH(
        {
            const Unreadable unreadable(ring);
            hipStreamWaitEvent(other, event, 0);
        },
        "");
    EXPECT_DEATH(
        {
            fake_hip()->null_marker = true; // HIP waits for the null stream by itself
            const Unreadable unreadable(ring);
            hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, other, nullptr, nullptr);
        },
        "");
    EXPECT_DEATH(
        {
            fake_hip()->seam = fake::Seam::doorbell; // a barrier before the kernel goes unseen
            const Unreadable unreadable(ring);
            hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, other, nullptr, nullptr);
        },
        "");
    EXPECT_EQ(0, xp_stream_release(held));
}

// A stream that is idle may get another queue, which may be the held one.
TEST_F(GatesTest, a_stream_that_moves_to_the_held_queue_is_noticed) {
    hold();
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, other));
    fake_hip()->move_to = held;
    for (int i = 1; i < 64; ++i)
        ASSERT_EQ(0, hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, other, nullptr, nullptr));
    expect_waits([this] { return hipMemsetAsync(nullptr, 0, 4, other); });
}

// Calls that wait here are made during the exit, and HIP goes down after it.
TEST_F(GatesTest, no_thread_that_waited_is_in_hip_when_the_process_ends) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            hold();
            fake_hip()->goes_down_slowly = true;
            std::thread([this] { (void)hipStreamSynchronize(held); }).detach();
            while (waiters() == 0)
                std::this_thread::yield();
            std::exit(0);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(GatesTest, the_process_ends_although_a_call_never_returns) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            hold();
            EXPECT_EQ(0, hipEventRecord(event, held));
            fake_hip()->running[0] = held;
            fake_hip()->falls = false;
            std::thread([this] { (void)hipEventSynchronize(event); }).detach();
            while (waiters() == 0)
                std::this_thread::yield();
            std::exit(0);
        },
        ::testing::ExitedWithCode(0), "");
}

} // namespace
