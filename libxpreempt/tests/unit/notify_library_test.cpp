// SPDX-License-Identifier: MIT
// Notices, messages and policies of the built library, on both kinds of driver.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"
#include "unit/until.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <gtest/gtest.h>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/eventfd.h>
#include <unistd.h>
#include <vector>

extern "C" {
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
}

namespace {

using test::until;

int put_packet(void* stream, void*) {
    return hipMemsetAsync(nullptr, 0, 4, stream);
}

class NotifyLibraryTest : public ::testing::Test {
protected:
    NotifyLibraryTest() {
        fake_choose_driver();
        EXPECT_EQ(0, hipStreamCreate(&stream));
        EXPECT_EQ(0, put_packet(stream, nullptr));
        EXPECT_EQ(0, xp_xqueue_create(stream, nullptr, &xqueue)) << xp_last_detail();
    }
    ~NotifyLibraryTest() override { xp_xqueue_destroy(xqueue); }
    std::uint64_t submit() const {
        std::uint64_t ticket = 0;
        EXPECT_EQ(0, xp_xqueue_submit(xqueue, put_packet, nullptr, &ticket)) << xp_last_detail();
        return ticket;
    }

    void* stream = nullptr;
    xp_xqueue_t xqueue{};
};

TEST_F(NotifyLibraryTest, a_function_is_called_with_the_answer) {
    std::atomic<int> answer{1};
    const auto note = [](int status, void* argument) {
        *static_cast<std::atomic<int>*>(argument) = status;
    };
    ASSERT_EQ(0, xp_xqueue_notify(xqueue, submit(), note, &answer)) << xp_last_detail();
    until([&] { return answer == 0; });
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr));
    ASSERT_EQ(0, xp_xqueue_notify(xqueue, submit(), note, &answer));
    ASSERT_EQ(0, xp_xqueue_drop(xqueue, nullptr));
    EXPECT_EQ(-ECANCELED, answer);
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(-EINVAL, xp_xqueue_notify(xqueue, 1000, note, &answer));
    EXPECT_EQ(-EINVAL, xp_xqueue_notify(xqueue, 1, nullptr, nullptr));
    EXPECT_STREQ("complete is NULL", xp_last_detail());
    EXPECT_EQ(-EBADF, xp_xqueue_notify({7}, 1, note, &answer));
}

TEST_F(NotifyLibraryTest, an_exception_of_the_function_ends_nothing) {
    const std::uint64_t ticket = submit();
    ASSERT_EQ(0, xp_xqueue_wait(xqueue, ticket));
    EXPECT_EQ(0,
              xp_xqueue_notify(
                  xqueue, ticket, [](int, void*) { throw std::runtime_error("ours"); }, nullptr));
}

TEST_F(NotifyLibraryTest, an_eventfd_is_kept_until_the_command_completes) {
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr));
    const int event = eventfd(0, EFD_CLOEXEC);
    const int reader = dup(event);
    ASSERT_EQ(0, xp_xqueue_notify_fd(xqueue, submit(), event)) << xp_last_detail();
    close(event);
    pollfd ready{reader, POLLIN, 0};
    EXPECT_EQ(0, poll(&ready, 1, 1));
    ASSERT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(1, poll(&ready, 1, -1));
    eventfd_t count = 0;
    EXPECT_EQ(0, eventfd_read(reader, &count));
    EXPECT_EQ(1U, count);
    close(reader);
    int pipe_ends[2];
    ASSERT_EQ(0, pipe(pipe_ends));
    EXPECT_EQ(-EINVAL, xp_xqueue_notify_fd(xqueue, submit(), pipe_ends[1]));
    EXPECT_EQ(-EBADF, xp_xqueue_notify_fd(xqueue, submit(), -1));
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

TEST_F(NotifyLibraryTest, xqueue_and_stream_find_each_other) {
    void* found = nullptr;
    EXPECT_EQ(0, xp_xqueue_stream(xqueue, &found));
    EXPECT_EQ(stream, found);
    xp_xqueue_t owner{};
    EXPECT_EQ(0, xp_stream_xqueue(stream, &owner));
    EXPECT_EQ(xqueue.handle, owner.handle);
    void* other = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&other));
    EXPECT_EQ(-ENOENT, xp_stream_xqueue(other, &owner));
    EXPECT_STREQ("the stream has no xqueue", xp_last_detail());
    EXPECT_EQ(-EBADF, xp_xqueue_stream({7}, &found));
    EXPECT_EQ(0, xp_stream_destroy(other));
}

TEST_F(NotifyLibraryTest, messages_go_to_the_function) {
    struct Log {
        std::vector<std::string> lines;
        std::vector<std::uint32_t> levels;
    } log;
    const auto note = [](std::uint32_t level, const char* message, void* argument) {
        static_cast<Log*>(argument)->lines.emplace_back(message);
        static_cast<Log*>(argument)->levels.push_back(level);
    };
    EXPECT_EQ(-EINVAL, xp_set_log_fn(note, 5, &log));
    ASSERT_EQ(0, xp_set_log_fn(note, XP_LOG_WARNING, &log));
    EXPECT_EQ(-EBADF, xp_xqueue_resume({7})); // a message of XP_LOG_DEBUG
    EXPECT_TRUE(log.lines.empty());
    ASSERT_EQ(0, xp_set_log_fn(note, XP_LOG_DEBUG, &log));
    EXPECT_EQ(-EBADF, xp_xqueue_resume({7}));
    ASSERT_EQ(1U, log.lines.size());
    EXPECT_EQ(xp_last_detail(), log.lines.front());
    ASSERT_EQ(0, xp_set_log_fn(nullptr, XP_LOG_NONE, nullptr));
    EXPECT_EQ(-EBADF, xp_xqueue_resume({7}));
    EXPECT_EQ(1U, log.lines.size());
}

TEST_F(NotifyLibraryTest, an_owner_hears_of_a_lost_queue_once) {
    struct Lost {
        int count = 0;
        xp_lost_queue queue{};
    } lost;
    ASSERT_EQ(0, xp_set_lost_fn(
                     [](const xp_lost_queue* queue, void* argument) {
                         auto* const told = static_cast<Lost*>(argument);
                         ++told->count;
                         told->queue = *queue;
                     },
                     &lost));
    xp_stream_info info{};
    info.sz = sizeof info;
    ASSERT_EQ(0, xp_stream_query(stream, &info));
    ASSERT_EQ(0, xp_stream_hold(stream, 0, nullptr));
    fake_driver()->lost = true; // and everything on it
    (void)xp_stream_release(stream);
    EXPECT_NE(0, xp_stream_hold(stream, XP_HOLD_EXACT, nullptr));
    EXPECT_EQ(1, lost.count);
    EXPECT_EQ(info.kfd_queue_id, lost.queue.kfd_queue_id);
    EXPECT_EQ(info.gpu_id, lost.queue.gpu_id);
    EXPECT_EQ(fake_driver()->patched ? -EIO : -EACCES, lost.queue.status);
    ASSERT_EQ(0, xp_set_lost_fn(nullptr, nullptr));
    fake_driver()->lost = false;
}

TEST_F(NotifyLibraryTest, a_log_function_may_throw) {
    ASSERT_EQ(0, xp_set_log_fn([](std::uint32_t, const char*, void*) { throw 1; }, XP_LOG_DEBUG,
                               nullptr));
    ASSERT_EQ(0, xp_stream_hold(stream, 0, nullptr)) << xp_last_detail();
    fake_driver()->refused_starts = 1; // a message of the call, and of the thread that tries again
    EXPECT_EQ(0, xp_stream_release(stream)) << xp_last_detail();
    test::until([] { return !fake_any_held(); });
    ASSERT_EQ(0, xp_set_log_fn(nullptr, XP_LOG_NONE, nullptr));
}

// HIP waits for the held streams when the process ends, so the holds end first.
TEST_F(NotifyLibraryTest, a_function_for_lost_queues_may_end_the_process) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    for (int (*ends)(void*) : {xp_stream_release, hipStreamDestroy})
        EXPECT_EXIT(
            {
                alarm(20); // the failure is a process that never ends
                xp_set_lost_fn([](const xp_lost_queue*, void*) { std::exit(7); }, nullptr);
                xp_stream_hold(stream, 0, nullptr);
                fake_driver()->lost = true;
                ends(stream);
            },
            ::testing::ExitedWithCode(7), "");
}

// The higher handle runs.
std::uint64_t newest_first(const xp_sched_source* sources, std::size_t count, std::uint64_t,
                           std::uint8_t* suspend, void* argument) {
    std::size_t newest = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (sources[i].xqueue.handle > sources[newest].xqueue.handle)
            newest = i;
    for (std::size_t i = 0; i < count; ++i)
        suspend[i] = i == newest ? 0 : 1;
    auto* const runs = static_cast<std::atomic<const void*>*>(argument); // calls come from threads
    *runs = count > 0 ? sources[newest].stream : nullptr;
    return UINT64_MAX;
}

TEST_F(NotifyLibraryTest, a_policy_of_the_program_decides) {
    void* other = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&other));
    xp_xqueue_t newest{};
    ASSERT_EQ(0, xp_xqueue_create(other, nullptr, &newest));
    std::atomic<const void*> runs{nullptr};
    EXPECT_EQ(-EINVAL, xp_sched_start_policy(nullptr, nullptr));
    ASSERT_EQ(0, xp_sched_start_policy(newest_first, &runs)) << xp_last_detail();
    EXPECT_EQ(other, runs.load());
    xp_sched_state state{};
    state.sz = sizeof state;
    ASSERT_EQ(0, xp_sched_query(&state));
    EXPECT_EQ(XP_POLICY_PROGRAM, static_cast<int>(state.policy));
    xp_xqueue_state held{};
    held.sz = sizeof held;
    ASSERT_EQ(0, xp_xqueue_query(xqueue, &held));
    EXPECT_EQ(1U, held.suspends);
    ASSERT_EQ(0, xp_sched_stop());
    ASSERT_EQ(0, xp_xqueue_query(xqueue, &held));
    EXPECT_EQ(0U, held.suspends);
    ASSERT_EQ(0, xp_xqueue_destroy(newest));
}

TEST_F(NotifyLibraryTest, a_policy_that_throws_lets_everything_run) {
    ASSERT_EQ(0, xp_sched_start_policy(
                     [](const xp_sched_source*, std::size_t, std::uint64_t, std::uint8_t* suspend,
                        void*) -> std::uint64_t {
                         suspend[0] = 1;
                         throw std::runtime_error("ours");
                     },
                     nullptr));
    xp_xqueue_state state{};
    state.sz = sizeof state;
    ASSERT_EQ(0, xp_xqueue_query(xqueue, &state));
    EXPECT_EQ(0U, state.suspends);
    ASSERT_EQ(0, xp_sched_stop());
}

} // namespace
