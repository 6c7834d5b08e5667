// SPDX-License-Identifier: MIT
// Captures beside what the library does with their streams: waits, commands and their markers,
// calls that it keeps back. Each call of the library into HIP leaves the capture alone, wherever
// the capture begins.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include "unit/gates_fixture.hpp"
#include "unit/until.hpp"

#include <cerrno>
#include <chrono>
#include <span>
#include <vector>

namespace {

using namespace std::chrono_literals;

int put_packet(void* stream, void*) {
    return hipMemsetAsync(nullptr, 0, 4, stream);
}

class BesideCapturesTest : public test::GatesTest {
protected:
    void TearDown() override {
        EXPECT_FALSE(fake_hip()->captures_ended);
        GatesTest::TearDown();
    }
    static void capture(void* stream) { ASSERT_EQ(0, hipStreamBeginCapture(stream, 0)); }
    static void end(void* stream) { ASSERT_EQ(0, hipStreamEndCapture(stream, nullptr)); }
    static xp_xqueue_t xqueue_of(void* stream, std::uint32_t max_level = XP_LEVEL_INTERRUPT) {
        xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
        options.max_level = max_level;
        options.threshold = 4;
        options.batch = 2;
        xp_xqueue_t xqueue{};
        EXPECT_EQ(0, xp_xqueue_create(stream, &options, &xqueue)) << xp_last_detail();
        return xqueue;
    }
    static std::uint64_t submit(xp_xqueue_t xqueue, std::uint32_t flags = 0) {
        xp_command command{};
        command.sz = sizeof command;
        command.flags = flags;
        command.launch = put_packet;
        std::uint64_t ticket = 0;
        EXPECT_EQ(0, xp_xqueue_submit_command(xqueue, &command, &ticket)) << xp_last_detail();
        return ticket;
    }
};

TEST_F(BesideCapturesTest, one_begins_on_a_stream_while_it_is_waited_for) {
    hold();
    fake_hip()->running[0] = held;
    std::atomic<bool> waits{false}, returned{false};
    std::thread thread([&] {
        waits = true;
        EXPECT_EQ(0, xp_stream_wait(held)) << xp_last_detail();
        returned = true;
    });
    test::until([&] { return waits && (waiters() != 0 || fake_hip()->synchronizing != 0); });
    EXPECT_FALSE(returned);
    capture(held);
    EXPECT_EQ(0, xp_stream_release(held)) << xp_last_detail();
    fake_hip()->unfinished = false;
    fake_hip()->running[0] = nullptr;
    thread.join();
    end(held);
}

int launch_in_graph(void* stream, void* in_graph) {
    int status = 0;
    EXPECT_EQ(0, hipStreamIsCapturing(stream, &status));
    *static_cast<unsigned*>(in_graph) += status != 0 ? 1 : 0;
    return put_packet(stream, nullptr);
}

// They run when the graph does, so neither a suspend nor a full queue keeps them out of it.
TEST_F(BesideCapturesTest, commands_in_one_are_launched_into_it) {
    xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
    for (const std::uint32_t flags : {0U, XP_DEFERRED}) {
        options.flags = flags;
        xp_xqueue_t xqueue{};
        ASSERT_EQ(0, xp_xqueue_create(other, &options, &xqueue)) << xp_last_detail();
        for (const bool suspended : {false, true}) {
            if (suspended) {
                ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr)) << xp_last_detail();
            }
            unsigned in_graph = 0;
            std::uint64_t ticket = 0;
            capture(other);
            for (int i = 0; i < 100; ++i)
                ASSERT_EQ(0, xp_xqueue_submit(xqueue, launch_in_graph, &in_graph, &ticket));
            EXPECT_EQ(100U, in_graph);
            EXPECT_EQ(0, xp_xqueue_wait(xqueue, ticket)) << xp_last_detail();
            end(other);
        }
        EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    }
}

// A suspend waits for the end of each launch.
TEST_F(BesideCapturesTest, a_command_that_fails_in_one_keeps_no_suspend_back) {
    static std::atomic<bool> launches, fails;
    launches = fails = false;
    const xp_xqueue_t xqueue = xqueue_of(other, XP_LEVEL_BLOCK);
    capture(other);
    std::thread suspends([xqueue] {
        test::until([] { return launches.load(); });
        std::thread([] {
            std::this_thread::sleep_for(20ms); // the suspend waits by then
            fails = true;
        }).detach();
        EXPECT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr)) << xp_last_detail();
    });
    EXPECT_EQ(-EIO, xp_xqueue_submit(
                        xqueue,
                        [](void*, void*) {
                            launches = true;
                            test::until([] { return fails.load(); });
                            return -EIO;
                        },
                        nullptr, nullptr));
    suspends.join();
    EXPECT_EQ(0, xp_xqueue_resume(xqueue));
    end(other);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(BesideCapturesTest, commands_in_one_are_complete_at_once) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    capture(other);
    const unsigned allocated = fake_hip()->allocated;
    for (int i = 0; i < 100; ++i)
        EXPECT_EQ(0, xp_xqueue_wait(xqueue, submit(xqueue, XP_COMMAND_GUARDED)))
            << xp_last_detail();
    EXPECT_EQ(0, xp_xqueue_wait_all(xqueue)) << xp_last_detail();
    EXPECT_EQ(0U, fake_hip()->captured_records);
    EXPECT_EQ(allocated, fake_hip()->allocated) << "the graph would have a fill of ours";
    end(other);
    EXPECT_EQ(0, xp_xqueue_wait(xqueue, submit(xqueue))) << xp_last_detail();
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// HIP would end the capture for the question. The thread that must end it is told so.
TEST_F(BesideCapturesTest, commands_from_before_one_complete_behind_it) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    fake_hip()->running[0] = other;
    const std::uint64_t first = submit(xqueue);
    const std::uint64_t second = submit(xqueue);
    std::atomic<int> notified{0};
    capture(other);
    EXPECT_EQ(0, xp_xqueue_notify(
                     xqueue, first,
                     [](int, void* told) { ++*static_cast<std::atomic<int>*>(told); }, &notified));
    EXPECT_EQ(-ETIMEDOUT, xp_xqueue_wait_for(xqueue, first, 0));
    EXPECT_EQ(-ETIMEDOUT, xp_xqueue_wait_for(xqueue, second, 20'000'000));
    EXPECT_EQ(-EBUSY, xp_xqueue_wait(xqueue, second));
    EXPECT_EQ(-EBUSY, xp_xqueue_wait(xqueue, submit(xqueue))) << "behind them";
    EXPECT_EQ(-EBUSY, xp_xqueue_destroy(xqueue));
    std::atomic<bool> returned{false};
    std::thread thread([&] {
        EXPECT_EQ(0, xp_xqueue_wait(xqueue, second)) << xp_last_detail();
        returned = true;
    });
    fake_hip()->running[0] = nullptr;
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(returned);
    EXPECT_EQ(0, notified);
    end(other);
    thread.join();
    test::until([&] { return notified == 1; });
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// One begins when what was submitted before has ended; but it is never kept back for long.
TEST_F(BesideCapturesTest, commands_that_wait_for_room_come_before_one) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    fake_hip()->running[0] = other;
    static std::atomic<unsigned> launched, captured;
    for (int i = 0; i < 10; ++i)
        ASSERT_EQ(0, xp_xqueue_submit(
                         xqueue,
                         [](void* stream, void*) {
                             int status = 0;
                             EXPECT_EQ(0, hipStreamIsCapturing(stream, &status));
                             captured += status != 0 ? 1 : 0;
                             ++launched;
                             return put_packet(stream, nullptr);
                         },
                         nullptr, nullptr));
    EXPECT_GT(10U, launched);
    std::thread ends_work([] {
        std::this_thread::sleep_for(20ms);
        fake_hip()->running[0] = nullptr;
    });
    capture(other);
    EXPECT_EQ(10U, launched);
    EXPECT_EQ(0U, captured);
    EXPECT_EQ(0, xp_xqueue_wait_all(xqueue)) << xp_last_detail();
    ends_work.join();
    end(other);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(BesideCapturesTest, a_stream_joins_one_behind_its_commands) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    fake_hip()->running[0] = other;
    const std::uint64_t ticket = submit(xqueue); // no marker is behind it
    capture(held);
    ASSERT_EQ(0, hipEventRecord(event, held));
    std::thread ends_work([] {
        std::this_thread::sleep_for(20ms);
        fake_hip()->running[0] = nullptr;
    });
    EXPECT_EQ(0, hipStreamWaitEvent(other, event, 0));
    EXPECT_EQ(nullptr, fake_hip()->running[0]);
    EXPECT_EQ(0, xp_xqueue_wait(xqueue, ticket)) << xp_last_detail();
    ends_work.join();
    end(held);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// One in the relaxed mode may end in any thread, and this one ends when the wait is over.
TEST_F(BesideCapturesTest, one_of_another_thread_may_wait_for_who_waits_for_its_end) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    fake_hip()->running[0] = other;
    const std::uint64_t ticket = submit(xqueue);
    std::thread([this] { capture(other); }).join();
    fake_hip()->running[0] = nullptr;
    EXPECT_EQ(-EBUSY, xp_xqueue_wait(xqueue, ticket)) << xp_last_detail();
    end(other);
    EXPECT_EQ(0, xp_xqueue_wait(xqueue, ticket)) << xp_last_detail();
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// It puts no packet there.
TEST_F(BesideCapturesTest, one_begins_on_a_held_stream_without_room) {
    hold();
    for (int i = 1; i < 64; ++i)
        ASSERT_EQ(0, put_packet(held, nullptr));
    capture(held);
    end(held);
    EXPECT_EQ(0, xp_stream_release(held));
}

TEST_F(BesideCapturesTest, one_begins_soon_while_streams_are_waited_for) {
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST)) << xp_last_detail();
    ASSERT_EQ(0, xp_stream_set_priority(other, 1)) << xp_last_detail();
    fake_hip()->running[0] = other;
    ASSERT_EQ(0, put_packet(other, nullptr));
    test::until([] { return fake_hip()->synchronizing != 0; });
    std::vector<void*> streams{other};
    for (int i = 0; i < 64; ++i)
        ASSERT_EQ(0, hipStreamCreate(&streams.emplace_back()));
    for (void* stream : streams) {
        const auto begin = std::chrono::steady_clock::now();
        capture(stream);
        EXPECT_GT(500ms, std::chrono::steady_clock::now() - begin);
        end(stream);
    }
    fake_hip()->running[0] = nullptr;
    EXPECT_EQ(0, xp_sched_stop());
    for (void* stream : std::span(streams).subspan(1))
        EXPECT_EQ(0, hipStreamDestroy(stream));
}

// A hold makes a call wait that HIP would have let through before the capture began.
TEST_F(BesideCapturesTest, a_call_that_was_kept_back_ends_none_that_began_meanwhile) {
    for (void* captured : {other, held}) {
        hold();
        std::thread program;
        expect_waits([this] { return hipStreamSynchronize(held); },
                     [&] {
                         capture(captured);
                         program = std::thread([captured] {
                             test::until([] { return !fake_any_held(); });
                             std::this_thread::sleep_for(20ms);
                             end(captured);
                         });
                     });
        program.join();
    }
    // Its end may be long in coming, or wait for that call.
    hold();
    expect_waits([this] { return hipStreamSynchronize(held); }, [this] { capture(other); });
    end(other);
}

TEST_F(BesideCapturesTest, a_call_of_a_suspended_stream_ends_none_that_began_meanwhile) {
    const xp_xqueue_t xqueue = xqueue_of(nullptr, XP_LEVEL_BLOCK);
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr)) << xp_last_detail();
    std::atomic<bool> returned{false};
    std::thread thread([&] {
        EXPECT_EQ(0, hipMemcpyDtoD(nullptr, nullptr, 4));
        returned = true;
    });
    xp_stream_info info{};
    info.sz = sizeof info;
    do
        ASSERT_EQ(0, xp_stream_query(nullptr, &info)) << xp_last_detail();
    while (info.waiters == 0 && !returned);
    EXPECT_FALSE(returned);
    capture(other);
    EXPECT_EQ(0, xp_xqueue_resume(xqueue)) << xp_last_detail();
    thread.join();
    end(other);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// Its own capture can't end before it returns.
TEST_F(BesideCapturesTest, a_thread_that_captures_is_kept_back_by_no_other_capture) {
    hold();
    std::chrono::steady_clock::time_point released{};
    expect_waits(
        [&] {
            int relaxed = 2;
            EXPECT_EQ(0, hipThreadExchangeStreamCaptureMode(&relaxed));
            capture(other);
            const int answer = hipStreamSynchronize(held);
            EXPECT_GT(5s, std::chrono::steady_clock::now() - released);
            end(other);
            return answer;
        },
        [&] {
            void* third = nullptr;
            ASSERT_EQ(0, hipStreamCreate(&third));
            capture(third);
            end(third);
            EXPECT_EQ(0, hipStreamDestroy(third));
            released = std::chrono::steady_clock::now();
        });
}

// More events than are remembered, as PyTorch has them, and a capture of another stream.
TEST_F(BesideCapturesTest, who_waits_for_an_event_that_is_done_returns_during_one) {
    hold();
    fake_hip()->unfinished = false;
    fake_hip()->running[0] = held;
    std::vector<void*> events(4096);
    for (void*& recorded : events) {
        ASSERT_EQ(0, hipEventCreateWithFlags(&recorded, 0));
        ASSERT_EQ(0, hipEventRecord(recorded, other));
    }
    void* third = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&third));
    std::thread([third] { capture(third); }).join();
    for (std::size_t i = 0; i < events.size(); i += 256) {
        void* const recorded = events[i];
        // HIP in its global mode ends captures for the program's own call.
        int mode = 2;
        ASSERT_EQ(0, hipThreadExchangeStreamCaptureMode(&mode));
        expect_does_not_wait(0, [recorded] {
            int relaxed = 2;
            EXPECT_EQ(0, hipThreadExchangeStreamCaptureMode(&relaxed));
            return hipEventSynchronize(recorded);
        });
        ASSERT_EQ(0, hipThreadExchangeStreamCaptureMode(&mode));
        if (HasFailure())
            break;
    }
    end(third);
    for (void* recorded : events)
        EXPECT_EQ(0, hipEventDestroy(recorded));
    EXPECT_EQ(0, xp_stream_release(held));
    EXPECT_EQ(0, hipStreamDestroy(third));
}

TEST(BesideEarlierCapturesTest, one_that_begins_at_the_first_use_goes_on) {
    fake_choose_driver();
    void* stream = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&stream));
    ASSERT_EQ(0, put_packet(stream, nullptr));
    fake_hip()->in_begin = [] { std::this_thread::sleep_for(200ms); };
    std::thread program([stream] { ASSERT_EQ(0, hipStreamBeginCapture(stream, 0)); });
    std::this_thread::sleep_for(50ms);
    ASSERT_EQ(0, xp_start());
    program.join();
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(stream, nullptr, &xqueue)) << xp_last_detail();
    EXPECT_EQ(0, xp_xqueue_submit(xqueue, put_packet, nullptr, nullptr)) << xp_last_detail();
    EXPECT_EQ(0, xp_xqueue_wait_all(xqueue)) << xp_last_detail();
    EXPECT_EQ(0U, fake_hip()->captured_records);
    EXPECT_FALSE(fake_hip()->captures_ended);
    EXPECT_EQ(0, hipStreamEndCapture(stream, nullptr));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// The library sees no calls before its first use.
TEST(BesideEarlierCapturesTest, one_that_began_before_the_first_use_goes_on) {
    fake_choose_driver();
    void* streams[3]{};
    for (void*& stream : streams) {
        ASSERT_EQ(0, hipStreamCreate(&stream));
        ASSERT_EQ(0, put_packet(stream, nullptr));
    }
    void *const captured = streams[0], *const other = streams[1], *const held = streams[2];
    ASSERT_EQ(0, hipStreamBeginCapture(captured, 0));
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST)) << xp_last_detail();
    ASSERT_EQ(0, xp_stream_set_priority(captured, 1)) << xp_last_detail();
    ASSERT_EQ(0, xp_stream_hold(held, XP_HOLD_SHARED | XP_HOLD_LEAST(XP_LEVEL_INTERRUPT), nullptr))
        << xp_last_detail();
    fake_hip()->unfinished = true;
    for (int i = 0; i < 62; ++i) // the queue of both has no room for more
        ASSERT_EQ(0, put_packet(held, nullptr));
    EXPECT_EQ(0, put_packet(captured, nullptr));
    EXPECT_EQ(0, hipGraphLaunch(nullptr, captured));
    std::uint32_t idle = 0;
    EXPECT_EQ(0, xp_stream_is_idle(captured, &idle)) << xp_last_detail();
    EXPECT_EQ(1U, idle);
    EXPECT_EQ(-EBUSY, xp_stream_touch(captured));
    EXPECT_EQ(0, xp_stream_release(held)) << xp_last_detail();
    fake_hip()->unfinished = false;
    EXPECT_EQ(0U, fake_hip()->captured_records);
    EXPECT_FALSE(fake_hip()->captures_ended);
    EXPECT_EQ(0, hipStreamEndCapture(captured, nullptr));
    EXPECT_EQ(0, xp_stream_touch(captured)) << xp_last_detail();
    EXPECT_EQ(0, put_packet(other, nullptr));
    EXPECT_EQ(0, xp_sched_stop());
}

} // namespace
