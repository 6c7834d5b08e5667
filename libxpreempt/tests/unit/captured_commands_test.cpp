// SPDX-License-Identifier: MIT
// Commands that are launched into a capture, beside those that are not.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include "unit/gates_fixture.hpp"
#include "unit/until.hpp"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <xpreempt/guardian.h>

namespace {

using namespace std::chrono_literals;

int put_packet(void* stream, void*) {
    return hipMemsetAsync(nullptr, 0, 4, stream);
}

int in_graph(void* stream) {
    int status = 0;
    EXPECT_EQ(0, hipStreamIsCapturing(stream, &status));
    return status != 0 ? 1 : 0;
}

std::atomic<bool> begun, goes_on;
std::atomic<int> launched, overs;

// Launches, and returns when the test says so.
int launch_slowly(void* stream, void*) {
    const int answer = put_packet(stream, nullptr);
    begun = true;
    test::until([] { return goes_on.load(); });
    return answer;
}

// Captures its own stream meanwhile, and launches the graph.
int launch_a_capture(void* stream, void*) {
    EXPECT_EQ(0, hipStreamBeginCapture(stream, 2));
    begun = true;
    test::until([] { return goes_on.load(); });
    EXPECT_EQ(0, hipStreamEndCapture(stream, nullptr));
    return put_packet(stream, nullptr);
}

class CapturedCommandsTest : public test::GatesTest {
protected:
    void SetUp() override {
        begun = goes_on = false;
        launched = overs = 0;
        GatesTest::SetUp();
    }
    static xp_xqueue_t xqueue_of(void* stream, std::uint32_t max_level = XP_LEVEL_BLOCK) {
        xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
        options.max_level = max_level;
        options.batch = 1;
        xp_xqueue_t xqueue{};
        EXPECT_EQ(0, xp_xqueue_create(stream, &options, &xqueue)) << xp_last_detail();
        return xqueue;
    }
    static std::uint64_t submit(xp_xqueue_t xqueue, xp_launch_fn launch, std::uint32_t flags = 0) {
        xp_command command = XP_COMMAND_INIT;
        command.flags = flags;
        command.launch = launch;
        command.over = [](void*) { ++overs; };
        std::uint64_t ticket = 0;
        EXPECT_EQ(0, xp_xqueue_submit_command(xqueue, &command, &ticket)) << xp_last_detail();
        return ticket;
    }
    static int count(void* stream, void*) {
        ++launched;
        return put_packet(stream, nullptr);
    }
    static void wait_for_turn() { std::this_thread::sleep_for(100ms); }
};

TEST_F(CapturedCommandsTest, one_behind_a_launch_that_captures_runs_and_is_waited_for) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    std::thread first([&] { submit(xqueue, launch_a_capture); });
    test::until([] { return begun.load(); });
    std::uint64_t ticket = 0;
    std::thread second([&] { ticket = submit(xqueue, count); });
    wait_for_turn();
    EXPECT_EQ(0, launched);
    goes_on = true;
    first.join();
    second.join();
    EXPECT_EQ(0, xp_xqueue_wait(xqueue, 1)) << xp_last_detail();
    fake_hip()->running[0] = other;
    EXPECT_EQ(-ETIMEDOUT, xp_xqueue_wait_for(xqueue, ticket, 50'000'000));
    fake_hip()->running[0] = nullptr;
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(CapturedCommandsTest, one_behind_a_launch_that_captures_is_suspended) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    std::thread first([&] { submit(xqueue, launch_a_capture); });
    test::until([] { return begun.load(); });
    std::thread suspends([&] { EXPECT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr)); });
    wait_for_turn();
    std::thread second([&] { submit(xqueue, count); });
    wait_for_turn();
    goes_on = true;
    first.join();
    suspends.join();
    second.join();
    EXPECT_EQ(0, launched);
    EXPECT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// A capture begins after a second, also while a launch is slow.
TEST_F(CapturedCommandsTest, those_from_before_stay_out_of_it) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr)) << xp_last_detail();
    submit(xqueue, [](void*, void*) {
        begun = true;
        test::until([] { return goes_on.load(); });
        return 0;
    });
    for (int i = 0; i < 8; ++i)
        submit(xqueue, [](void* stream, void*) {
            launched += in_graph(stream);
            return put_packet(stream, nullptr);
        });
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    test::until([] { return begun.load(); });
    ASSERT_EQ(0, hipStreamBeginCapture(other, 0));
    goes_on = true;
    wait_for_turn();
    ASSERT_EQ(0, hipStreamEndCapture(other, nullptr));
    EXPECT_EQ(0, xp_xqueue_wait_all(xqueue)) << xp_last_detail();
    EXPECT_EQ(0, launched);
    EXPECT_EQ(9, overs);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

int count_in_graph(void* stream, void*) {
    begun = true;
    test::until([] { return goes_on.load(); });
    launched += in_graph(stream);
    return put_packet(stream, nullptr);
}

// A begin waits for a second for what was submitted before, and for another one for the launch.
TEST_F(CapturedCommandsTest, one_being_launched_as_a_capture_begins_stays_out_of_it) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    std::thread submits([&] { submit(xqueue, count_in_graph); });
    test::until([] { return begun.load(); });
    std::thread goes([] {
        std::this_thread::sleep_for(1300ms);
        goes_on = true;
    });
    ASSERT_EQ(0, hipStreamBeginCapture(other, 0));
    submits.join();
    ASSERT_EQ(0, hipStreamEndCapture(other, nullptr));
    goes.join();
    EXPECT_EQ(0, launched);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(CapturedCommandsTest, none_is_launched_while_one_begins) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr)) << xp_last_detail();
    submit(xqueue, count);
    fake_hip()->in_begin = [] {
        begun = true;
        test::until([] { return goes_on.load(); });
    };
    std::thread captures([&] { ASSERT_EQ(0, hipStreamBeginCapture(other, 0)); });
    test::until([] { return begun.load(); });
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    submit(xqueue, count);
    wait_for_turn();
    EXPECT_EQ(0, launched);
    goes_on = true;
    captures.join();
    ASSERT_EQ(0, hipStreamEndCapture(other, nullptr));
    EXPECT_EQ(0, xp_xqueue_wait_all(xqueue)) << xp_last_detail();
    EXPECT_EQ(2, launched);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(CapturedCommandsTest, a_capture_begins_behind_an_xqueue_that_is_being_destroyed) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    fake_hip()->running[0] = other;
    submit(xqueue, count);
    std::atomic<bool> destroyed = false;
    std::thread destroys([&] {
        EXPECT_EQ(0, xp_xqueue_destroy(xqueue)) << xp_last_detail();
        destroyed = true;
    });
    test::until([=] { return xp_xqueue_resume(xqueue) == -EBADF; });
    std::thread ends([] {
        wait_for_turn();
        fake_hip()->running[0] = nullptr;
    });
    ASSERT_EQ(0, hipStreamBeginCapture(other, 0));
    EXPECT_EQ(1, overs);
    ASSERT_EQ(0, hipStreamEndCapture(other, nullptr));
    destroys.join();
    ends.join();
}

// The edge waits for the touch. No capture has to do with either stream.
TEST_F(CapturedCommandsTest, an_edge_of_no_capture_keeps_no_command_and_no_wait_back) {
    static std::atomic<bool> touches;
    void* third = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&third));
    const xp_launch_fn launch = [](void* stream, void*) {
        ++launched;
        return hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
    };
    const xp_xqueue_t xqueue = [&] {
        xp_xqueue_t made{};
        EXPECT_EQ(0, xp_xqueue_create(other, nullptr, &made)) << xp_last_detail();
        return made;
    }();
    ASSERT_EQ(0, hipEventRecord(event, held));
    const std::uint64_t ticket = submit(xqueue, launch); // no marker is behind it
    ASSERT_EQ(0, hipStreamBeginCapture(third, 2));
    touches = false;
    fake_hip()->in_fill = [] {
        touches = true;
        test::until([] { return !touches.load(); });
    };
    std::thread touch([&] { EXPECT_EQ(0, xp_stream_touch(other)) << xp_last_detail(); });
    test::until([] { return touches.load(); });
    std::thread edge([&] { EXPECT_EQ(0, hipStreamWaitEvent(other, event, 0)); });
    wait_for_turn();
    submit(xqueue, launch);
    EXPECT_EQ(2, launched);
    std::thread waits([&] { EXPECT_EQ(0, xp_xqueue_wait(xqueue, ticket)) << xp_last_detail(); });
    wait_for_turn();
    touches = false;
    for (std::thread* thread : {&touch, &edge, &waits})
        thread->join();
    fake_hip()->in_fill = nullptr;
    ASSERT_EQ(0, hipStreamEndCapture(third, nullptr));
    EXPECT_EQ(0, xp_xqueue_wait_all(xqueue)) << xp_last_detail();
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    EXPECT_EQ(0, hipStreamDestroy(third));
}

// A begin waits for commands from before it. The stream is in the capture already.
TEST_F(CapturedCommandsTest, streams_fork_and_join_in_one_at_once) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    void* side = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&side));
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr)) << xp_last_detail();
    submit(xqueue, count);
    ASSERT_EQ(0, hipStreamBeginCapture(other, 0));
    std::thread submits([&] { submit(xqueue, launch_slowly); });
    test::until([] { return begun.load(); });
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 4; ++i) {
        ASSERT_EQ(0, hipEventRecord(event, other));
        ASSERT_EQ(0, hipStreamWaitEvent(side, event, 0));
        ASSERT_EQ(0, hipEventRecord(event, side));
        ASSERT_EQ(0, hipStreamWaitEvent(other, event, 0));
    }
    EXPECT_GT(500ms, std::chrono::steady_clock::now() - begin);
    goes_on = true;
    submits.join();
    ASSERT_EQ(0, hipStreamEndCapture(other, nullptr));
    EXPECT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    EXPECT_EQ(0, hipStreamDestroy(side));
}

// In the relaxed mode any thread may end it, also before the begin has returned.
TEST_F(CapturedCommandsTest, those_behind_one_that_another_thread_ended_at_once_run) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    fake_hip()->begin_us = 200'000;
    std::thread begins([&] { EXPECT_EQ(0, hipStreamBeginCapture(other, 2)); });
    test::until([&] { return in_graph(other) != 0; });
    ASSERT_EQ(0, hipStreamEndCapture(other, nullptr));
    begins.join();
    EXPECT_EQ(0, xp_xqueue_wait_for(xqueue, submit(xqueue, count), 2'000'000'000))
        << xp_last_detail();
    EXPECT_EQ(1, launched);
    ASSERT_EQ(0, hipStreamBeginCapture(other, 2)); // else the destroy never returns
    ASSERT_EQ(0, hipStreamEndCapture(other, nullptr));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// The first thread's id is free when it has ended.
TEST_F(CapturedCommandsTest, a_later_thread_with_the_same_id_waits_for_the_capture) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    fake_hip()->running[0] = other;
    const std::uint64_t ticket = submit(xqueue, count);
    std::thread ends([&] { // before the others, or it would get the id
        test::until([] { return begun.load(); });
        wait_for_turn();
        EXPECT_EQ(0, hipStreamEndCapture(other, nullptr));
    });
    std::thread::id captures;
    std::thread([&] {
        captures = std::this_thread::get_id();
        EXPECT_EQ(0, hipStreamBeginCapture(other, 2));
    }).join();
    fake_hip()->running[0] = nullptr;
    for (bool waited = false; !waited;)
        std::thread([&] {
            if (std::this_thread::get_id() != captures)
                return;
            waited = begun = true;
            EXPECT_EQ(0, xp_xqueue_wait(xqueue, ticket)) << xp_last_detail();
        }).join();
    ends.join();
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(CapturedCommandsTest, a_drop_leaves_them) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr)) << xp_last_detail();
    const std::uint64_t before = submit(xqueue, count);
    ASSERT_EQ(0, hipStreamBeginCapture(other, 0));
    const std::uint64_t in_graph = submit(xqueue, count);
    ASSERT_EQ(0, hipStreamEndCapture(other, nullptr));
    const std::uint64_t behind = submit(xqueue, count);
    EXPECT_EQ(1, launched);
    std::uint64_t dropped = 0;
    EXPECT_EQ(0, xp_xqueue_drop(xqueue, &dropped));
    EXPECT_EQ(2U, dropped);
    EXPECT_EQ(-ECANCELED, xp_xqueue_wait(xqueue, before));
    EXPECT_EQ(0, xp_xqueue_wait(xqueue, in_graph)) << xp_last_detail();
    EXPECT_EQ(-ECANCELED, xp_xqueue_wait(xqueue, behind));
    EXPECT_EQ(3, overs);
    EXPECT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    EXPECT_EQ(3, overs);
}

// The end of the command can be seen after the capture only.
TEST_F(CapturedCommandsTest, a_destroy_waits_for_those_from_before) {
    const xp_xqueue_t xqueue = xqueue_of(other);
    fake_hip()->running[0] = other;
    std::thread submits([&] { submit(xqueue, launch_slowly); });
    test::until([] { return begun.load(); });
    std::atomic<bool> destroyed{false};
    std::thread destroys([&] {
        EXPECT_EQ(0, xp_xqueue_destroy(xqueue)) << xp_last_detail();
        destroyed = true;
    });
    wait_for_turn();
    ASSERT_EQ(0, hipStreamBeginCapture(other, 0));
    goes_on = true;
    submits.join();
    wait_for_turn();
    EXPECT_FALSE(destroyed);
    EXPECT_EQ(0, overs);
    ASSERT_EQ(0, hipStreamEndCapture(other, nullptr));
    fake_hip()->running[0] = nullptr;
    destroys.join();
    EXPECT_EQ(1, overs);
}

xp_xqueue_t inner;

int put_with_guardian(void* stream, void*) {
    xp_guardian_t guardian{};
    EXPECT_EQ(0, xp_guardian_of_launch(&guardian)) << xp_last_detail();
    EXPECT_EQ(nullptr, guardian.decision);
    return put_packet(stream, nullptr);
}

// A graph runs again and again, a guardian is that of one launch.
TEST_F(CapturedCommandsTest, they_have_no_guardian) {
    inner = xqueue_of(held, XP_LEVEL_DEACTIVATE);
    const xp_xqueue_t outer = xqueue_of(other, XP_LEVEL_DEACTIVATE);
    ASSERT_EQ(0, hipStreamBeginCapture(held, 2));
    submit(inner, put_with_guardian, XP_COMMAND_GUARDED);
    submit(
        outer,
        [](void* stream, void*) {
            EXPECT_EQ(0, xp_xqueue_submit(inner, put_with_guardian, nullptr, nullptr));
            return put_packet(stream, nullptr);
        },
        XP_COMMAND_GUARDED);
    ASSERT_EQ(0, hipStreamEndCapture(held, nullptr));
    EXPECT_EQ(0, xp_xqueue_destroy(inner));
    EXPECT_EQ(0, xp_xqueue_destroy(outer));
}

// Else a decision during the launch of one would hold others, and nothing would end that.
TEST_F(CapturedCommandsTest, they_are_no_work_to_the_scheduler) {
    const xp_xqueue_t high = xqueue_of(other), low = xqueue_of(held);
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST)) << xp_last_detail();
    ASSERT_EQ(0, xp_stream_set_priority(other, 1)) << xp_last_detail();
    ASSERT_EQ(0, hipStreamBeginCapture(other, 0));
    std::thread captures([&] { submit(high, launch_slowly); });
    test::until([] { return begun.load(); });
    const std::uint64_t ticket = submit(low, count);
    EXPECT_EQ(0, xp_xqueue_wait_for(low, ticket, 10'000'000'000)) << xp_last_detail();
    goes_on = true;
    captures.join();
    ASSERT_EQ(0, hipStreamEndCapture(other, nullptr));
    EXPECT_EQ(0, xp_sched_stop());
    EXPECT_EQ(0, xp_xqueue_destroy(low));
    EXPECT_EQ(0, xp_xqueue_destroy(high));
}

} // namespace
