// SPDX-License-Identifier: MIT
// Every call of the library into HIP, in any thread: none ends a capture of another thread, none
// is about a stream that HIP destroys, and each is made with the device of its stream.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"
#include "unit/until.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
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
int hipStreamSynchronize(void* stream);
}

namespace {

using test::until;

int put_packet(void* stream, void*) {
    return hipMemsetAsync(nullptr, 0, 4, stream);
}

void* new_stream() {
    void* stream = nullptr;
    EXPECT_EQ(0, hipStreamCreate(&stream));
    return stream;
}

void use_xqueue(void* stream, std::uint32_t max_level) {
    xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
    options.max_level = max_level;
    options.threshold = 4;
    options.batch = 2;
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(stream, &options, &xqueue)) << xp_last_detail();
    xp_command command{};
    command.sz = sizeof command;
    command.flags = XP_COMMAND_GUARDED;
    command.launch = put_packet;
    std::uint64_t ticket = 0;
    for (int i = 0; i < 9; ++i)
        ASSERT_EQ(0, xp_xqueue_submit_command(xqueue, &command, &ticket)) << xp_last_detail();
    std::atomic<bool> notified{false};
    ASSERT_EQ(0, xp_xqueue_notify(
                     xqueue, ticket,
                     [](int, void* told) { *static_cast<std::atomic<bool>*>(told) = true; },
                     &notified));
    until([&] { return notified.load(); });
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream)); // paced at level 1, and observed
    EXPECT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr));
    EXPECT_EQ(0, xp_xqueue_submit(xqueue, put_packet, nullptr, &ticket));
    EXPECT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(0, xp_xqueue_wait(xqueue, ticket)) << xp_last_detail();
    EXPECT_EQ(0, xp_xqueue_suspend(xqueue, XP_SUSPEND_FINISH_LAUNCHED, nullptr));
    EXPECT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(0, xp_xqueue_wait_all(xqueue)) << xp_last_detail();
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue)) << xp_last_detail();
}

void use_stream(void* stream) {
    EXPECT_EQ(0, xp_stream_touch(stream)) << xp_last_detail();
    EXPECT_EQ(0, xp_stream_set_priority(stream, 1)) << xp_last_detail();
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    std::uint32_t idle = 0;
    EXPECT_EQ(0, xp_stream_is_idle(stream, &idle)) << xp_last_detail();
    EXPECT_EQ(1U, idle);
    EXPECT_EQ(0, xp_stream_wait(stream)) << xp_last_detail();
    fake_hip()->unfinished = true; // then it waits
    EXPECT_EQ(0, xp_stream_wait(stream)) << xp_last_detail();
    fake_hip()->unfinished = false;
    EXPECT_EQ(0, xp_stream_hold(stream, 0, nullptr)) << xp_last_detail();
    EXPECT_EQ(0, xp_stream_release(stream)) << xp_last_detail();
}

// HIP ends the captures of all threads when another one waits for a stream.
TEST(CallsIntoHipTest, a_stream_is_touched_beside_a_capture) {
    fake_choose_driver();
    void* captured = new_stream();
    void* stream = new_stream();
    ASSERT_EQ(0, hipStreamBeginCapture(captured, 0));
    for (const int version : {60443484, 50221153}) {
        fake_hip()->version = version;
        std::thread([stream] { EXPECT_EQ(0, xp_stream_touch(stream)) << xp_last_detail(); }).join();
    }
    fake_hip()->version = 60443484;
    EXPECT_FALSE(fake_hip()->captures_ended.exchange(false));
    EXPECT_EQ(0, hipStreamEndCapture(captured, nullptr));
}

TEST(CallsIntoHipTest, none_ends_a_capture_or_has_another_device) {
    fake_choose_driver();
    ASSERT_EQ(0, hipSetDevice(1));
    void* captured = new_stream();
    void* streams[] = {new_stream(), new_stream(), new_stream()};
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST)) << xp_last_detail();
    ASSERT_EQ(0, hipStreamBeginCapture(captured, 0));
    for (const int version : {50221153, 60443484}) {
        fake_hip()->version = version;
        // The current device of a new thread is 0.
        std::thread([&] {
            use_xqueue(streams[0], XP_LEVEL_BLOCK);
            use_xqueue(streams[1], XP_LEVEL_INTERRUPT);
            use_stream(streams[2]);
        }).join();
        use_stream(nullptr); // of device 1
        use_xqueue(nullptr, XP_LEVEL_INTERRUPT);
        void* own = nullptr;
        EXPECT_EQ(0, xp_stream_create(&own)) << xp_last_detail();
        use_stream(own);
        EXPECT_EQ(0, xp_stream_destroy(own)) << xp_last_detail();
    }
    // Its work is in no queue.
    std::uint32_t idle = 0;
    EXPECT_EQ(0, xp_stream_is_idle(captured, &idle)) << xp_last_detail();
    EXPECT_EQ(1U, idle);
    EXPECT_EQ(0, xp_stream_wait(captured)) << xp_last_detail();
    EXPECT_EQ(-EBUSY, xp_stream_touch(captured));
    EXPECT_EQ(0, xp_sched_stop());
    EXPECT_EQ(0U, fake_hip()->wrong_devices);
    EXPECT_EQ(0U, fake_hip()->records_on[0]);
    EXPECT_FALSE(fake_hip()->captures_ended);
    EXPECT_EQ(0, hipStreamEndCapture(captured, nullptr));
}

std::uint32_t waiters_of(void* stream) {
    xp_stream_info info{};
    info.sz = sizeof info;
    EXPECT_EQ(0, xp_stream_query(stream, &info)) << xp_last_detail();
    return info.waiters;
}

// Three new streams: the first is held and unfinished, and the third is in its queue.
void hold_first(void* (&streams)[3]) {
    fake_choose_driver();
    for (void*& stream : streams)
        stream = new_stream();
    for (void* stream : streams)
        ASSERT_EQ(0, put_packet(stream, nullptr));
    ASSERT_EQ(
        0, xp_stream_hold(streams[0], XP_HOLD_SHARED | XP_HOLD_LEAST(XP_LEVEL_INTERRUPT), nullptr))
        << xp_last_detail();
    fake_hip()->unfinished = true;
}

// The program may destroy a stream while others use it: a client of the control socket, the
// scheduler, a thread that waits for all streams.
TEST(CallsIntoHipTest, none_is_about_a_stream_that_hip_destroys) {
    void* streams[3]{};
    ASSERT_NO_FATAL_FAILURE(hold_first(streams));
    void* const held = streams[0];
    void* const dying = streams[2];
    fake_hip()->destroys_slowly = true;
    std::thread program([=] { EXPECT_EQ(0, hipStreamDestroy(dying)); });
    until([=] { return fake_hip()->dying == dying; });
    xp_xqueue_t xqueue{};
    std::uint32_t idle = 0;
    EXPECT_EQ(-EBUSY, xp_stream_touch(dying));
    EXPECT_EQ(-EBUSY, xp_stream_hold(dying, XP_HOLD_SHARED, nullptr));
    EXPECT_EQ(-EBUSY, xp_stream_set_priority(dying, 1));
    EXPECT_EQ(-EBUSY, xp_xqueue_create(dying, nullptr, &xqueue));
    EXPECT_EQ(0, xp_stream_is_idle(dying, &idle)) << xp_last_detail();
    EXPECT_EQ(0, xp_stream_wait(dying)) << xp_last_detail();
    std::thread waits_for_all([] { EXPECT_EQ(0, hipStreamSynchronize(nullptr)); });
    until([=] { return waiters_of(held) == 1; });
    EXPECT_EQ(0, xp_stream_release(held)) << xp_last_detail();
    waits_for_all.join();
    fake_hip()->destroys_slowly = false;
    program.join();
    EXPECT_EQ(0U, fake_hip()->used_dying);
    fake_hip()->unfinished = false;
    for (void* stream : {streams[0], streams[1]})
        EXPECT_EQ(0, hipStreamDestroy(stream));
}

std::atomic<bool> in_touch{false}, destroyed_in_touch{false};

// The destruction waits for the touch, but for no more than a second.
void wait_in_touch() {
    using namespace std::chrono_literals;
    const auto begin = std::chrono::steady_clock::now();
    const auto lasts = [=](auto time) { return std::chrono::steady_clock::now() < begin + time; };
    in_touch = true;
    while (lasts(200ms) && fake_hip()->dying == nullptr)
        std::this_thread::yield();
    destroyed_in_touch = fake_hip()->dying != nullptr && lasts(500ms);
}

TEST(CallsIntoHipTest, a_stream_is_destroyed_after_its_touch) {
    fake_choose_driver();
    ASSERT_EQ(0, xp_start()) << xp_last_detail();
    void* const stream = new_stream();
    fake_hip()->in_fill = wait_in_touch;
    fake_hip()->destroys_slowly = true;
    std::thread touches([=] { EXPECT_EQ(0, xp_stream_touch(stream)) << xp_last_detail(); });
    until([] { return in_touch.load(); });
    std::thread program([=] { EXPECT_EQ(0, hipStreamDestroy(stream)); });
    touches.join();
    EXPECT_FALSE(destroyed_in_touch);
    until([=] { return fake_hip()->dying == stream; });
    fake_hip()->in_fill = nullptr;
    fake_hip()->destroys_slowly = false;
    program.join();
}

// The thread is in hipEventSynchronize() until running[0] is null.
void wait_for_long_work(void*& stream, std::thread& waits) {
    fake_choose_driver();
    ASSERT_EQ(0, xp_start()) << xp_last_detail();
    stream = new_stream();
    ASSERT_EQ(0, put_packet(stream, nullptr));
    fake_hip()->unfinished = true;
    fake_hip()->running[0] = stream;
    waits = std::thread([on = stream] { EXPECT_EQ(0, xp_stream_wait(on)) << xp_last_detail(); });
    until([] { return fake_hip()->synchronizing != 0; });
}

// HIP looks at the stream of an event when it begins to wait for it.
TEST(CallsIntoHipTest, a_stream_is_destroyed_after_the_waits_for_it) {
    void* stream = nullptr;
    std::thread waits;
    ASSERT_NO_FATAL_FAILURE(wait_for_long_work(stream, waits));
    fake_hip()->destroys_slowly = true;
    std::thread program([=] { EXPECT_EQ(0, hipStreamDestroy(stream)); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(nullptr, fake_hip()->dying);
    fake_hip()->running[0] = nullptr;
    until([=] { return fake_hip()->dying == stream; });
    waits.join();
    fake_hip()->destroys_slowly = false;
    fake_hip()->unfinished = false;
    program.join();
    EXPECT_EQ(0U, fake_hip()->used_dying);
}

// HIP destroys the streams of a device that is reset.
TEST(CallsIntoHipTest, a_device_is_reset_after_the_waits_for_it) {
    void* stream = nullptr;
    std::thread waits;
    ASSERT_NO_FATAL_FAILURE(wait_for_long_work(stream, waits));
    std::atomic<bool> reset{false};
    std::thread program([&] {
        EXPECT_EQ(0, hipDeviceReset());
        reset = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_FALSE(reset);
    fake_hip()->running[0] = nullptr;
    waits.join();
    program.join();
    EXPECT_EQ(0U, fake_hip()->used_dying);
}

TEST(CallsIntoHipTest, none_is_about_a_marker_of_a_stream_that_is_gone) {
    fake_choose_driver();
    ASSERT_EQ(0, xp_start()) << xp_last_detail();
    for (int (*const end)(void*) : {hipStreamDestroy, +[](void*) { return hipDeviceReset(); }}) {
        void* const stream = new_stream();
        xp_xqueue_t xqueue{};
        ASSERT_EQ(0, xp_xqueue_create(stream, nullptr, &xqueue)) << xp_last_detail();
        std::uint64_t ticket = 0;
        ASSERT_EQ(0, xp_xqueue_submit(xqueue, put_packet, nullptr, &ticket)) << xp_last_detail();
        fake_hip()->unfinished = true;
        EXPECT_EQ(-ETIMEDOUT, xp_xqueue_wait_for(xqueue, ticket, 0));
        fake_hip()->unfinished = false;
        ASSERT_EQ(0, end(stream));
        EXPECT_EQ(0, xp_xqueue_wait_for(xqueue, ticket, 0)) << xp_last_detail();
        EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    }
    EXPECT_EQ(0U, fake_hip()->used_dying);
}

TEST(CallsIntoHipTest, streams_end_beside_touches_and_waits) {
    fake_choose_driver();
    ASSERT_EQ(0, xp_start()) << xp_last_detail();
    std::atomic<void*> shown{nullptr};
    std::atomic<bool> enough{false};
    std::atomic<unsigned> answers{0};
    std::thread uses([&] {
        while (!enough) {
            void* const stream = shown;
            answers += stream != nullptr && xp_stream_touch(stream) == 0 ? 1 : 0;
            answers += stream != nullptr && xp_stream_wait(stream) == 0 ? 1 : 0;
        }
    });
    for (unsigned round = 0; round < 3000; ++round) {
        void* const stream = new_stream();
        shown = stream;
        const unsigned before = answers;
        until([&] { return answers > before + round % 3; });
        EXPECT_EQ(0, hipStreamDestroy(stream));
    }
    enough = true;
    uses.join();
    EXPECT_EQ(0U, fake_hip()->used_dying);
}

void* read_slowly = nullptr;

void wait_in_get_flags(void* stream) {
    if (stream == read_slowly)
        wait_in_touch();
}

// A wait for the null stream asks about each stream in a held queue.
TEST(CallsIntoHipTest, a_stream_is_destroyed_after_its_flags_are_read) {
    void* streams[3]{};
    ASSERT_NO_FATAL_FAILURE(hold_first(streams));
    void* const held = streams[0];
    void* const dying = streams[2];
    read_slowly = dying;
    fake_hip()->in_get_flags = wait_in_get_flags;
    std::thread waits_for_all([] { EXPECT_EQ(0, hipStreamSynchronize(nullptr)); });
    until([] { return in_touch.load(); });
    fake_hip()->destroys_slowly = true;
    std::thread program([=] { EXPECT_EQ(0, hipStreamDestroy(dying)); });
    until([=] { return fake_hip()->dying == dying; });
    EXPECT_FALSE(destroyed_in_touch);
    fake_hip()->destroys_slowly = false;
    program.join();
    EXPECT_EQ(0, xp_stream_release(held)) << xp_last_detail();
    fake_hip()->unfinished = false;
    waits_for_all.join();
}

} // namespace
