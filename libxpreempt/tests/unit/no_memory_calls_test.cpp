// SPDX-License-Identifier: MIT
// Calls of the built library, calls of HIP through the hook, and the library's threads, each
// without memory at every place where it allocates: none ends the process, a call that fails can be
// made again, and no queue stays held. A program of its own, because it has a malloc() of its own.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include "fake/fake_rocm.hpp"
#include "unit/every_call.hpp"
#include "unit/failing_allocation.hpp"
#include "unit/until.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

extern "C" {
void* __libc_malloc(std::size_t bytes); // NOLINT: its name
int hipEventCreateWithFlags(void** event, unsigned flags);
int hipEventDestroy(void* event);
int hipEventRecord(void* event, void* stream);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void* stream, void**, void**);
int hipStreamBeginCapture(void* stream, int mode);
int hipStreamEndCapture(void* stream, void** graph);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipStreamSynchronize(void* stream);
int hipStreamWaitEvent(void* stream, void* event, unsigned flags);
}

namespace {

// The same of all threads of the library together, or of those with one name.
std::atomic<int> allocations_of_threads = -1;
std::atomic<const char*> failing_threads = "xpreempt-";

bool is_of_library() {
    char name[16] = "";
    return prctl(PR_GET_NAME, name) == 0 &&
           std::string_view(name).starts_with(failing_threads.load());
}

} // namespace

extern "C" void* malloc(std::size_t bytes) noexcept {
    if (test::allocation_fails() ||
        (allocations_of_threads >= 0 && is_of_library() && allocations_of_threads-- == 0)) {
        errno = ENOMEM;
        return nullptr;
    }
    return __libc_malloc(bytes);
}

namespace {

using test::FailingAllocation;
using test::until;

bool all_run() {
    return std::ranges::none_of(fake_driver()->queues, [](const fake::Queue& queue) {
        return queue.ring_base != 0 && queue.is_stopped();
    });
}

void* new_stream() {
    void* stream = nullptr;
    EXPECT_EQ(0, hipStreamCreate(&stream));
    EXPECT_EQ(0, test::put_packet(stream, nullptr));
    return stream;
}

class NoMemoryCallsTest : public ::testing::Test {
protected:
    void SetUp() override {
        fake_choose_driver();
        directory = ::testing::TempDir() + "xpreempt-memory-XXXXXX";
        ASSERT_NE(nullptr, ::mkdtemp(directory.data()));
        ::setenv("XDG_RUNTIME_DIR", directory.c_str(), 1);
        ::setenv("XPREEMPTD_SOCKET", "/nonexistent/xpreemptd.sock", 1);
    }
    void TearDown() override { std::filesystem::remove_all(directory); }
    std::string directory;
};

void make_each_call_again(bool all_fail) {
    bool failed = true;
    for (int number = 0; failed && !::testing::Test::HasFailure(); ++number) {
        failed = false;
        test::Objects objects;
        objects.plain = new_stream();
        for (const auto& [name, call, wanted] : test::every_call(objects)) {
            int answer = 0;
            errno = EXFULL;
            {
                const FailingAllocation allocation(number, all_fail);
                answer = call();
                failed |= FailingAllocation::has_failed();
            }
            EXPECT_EQ(EXFULL, errno) << name << ", allocation " << number;
            if (wanted == test::any_answer)
                continue;
            if (answer != wanted) {
                EXPECT_GT(0, answer) << name << ", allocation " << number;
                answer = call();
            }
            EXPECT_EQ(wanted, answer)
                << name << ", allocation " << number << ": " << xp_last_detail();
        }
        EXPECT_EQ(0, hipStreamDestroy(objects.plain));
        until(all_run);
    }
}

TEST_F(NoMemoryCallsTest, a_call_that_failed_can_be_made_again) {
    make_each_call_again(false);
}

TEST_F(NoMemoryCallsTest, a_call_that_found_no_memory_from_some_point_on_can_be_made_again) {
    make_each_call_again(true);
}

TEST_F(NoMemoryCallsTest, a_call_of_hip_is_made_beside_a_held_stream) {
    void* const held = new_stream();
    void* const other = new_stream();
    void* event = nullptr;
    ASSERT_EQ(0, hipEventCreateWithFlags(&event, 0));
    ASSERT_EQ(0, xp_stream_set_priority(other, 1)) << xp_last_detail();
    const std::vector<std::function<int()>> calls{
        [=] { return hipEventRecord(event, other); },
        [=] { return hipStreamWaitEvent(other, event, 0); },
        [=] {
            return hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, other, nullptr, nullptr);
        },
        [=] { return hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, held, nullptr, nullptr); },
        [=] { // the same without a packet, for which the fake changes errno
            fake_hip()->capturing = true;
            const int answer =
                hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, held, nullptr, nullptr);
            fake_hip()->capturing = false;
            return answer;
        },
        [=] { return hipStreamSynchronize(other); },
    };
    bool failed = true;
    for (int number = 0; failed; ++number) {
        failed = false;
        ASSERT_EQ(0, xp_stream_hold(held, 0, nullptr)) << xp_last_detail();
        for (const auto& call : calls) {
            {
                const FailingAllocation allocation(number);
                EXPECT_EQ(0, call()) << "allocation " << number;
                failed |= FailingAllocation::has_failed();
            }
            EXPECT_NE(ENOMEM, errno) << "allocation " << number;
        }
        ASSERT_EQ(0, xp_stream_release(held)) << xp_last_detail();
        until(all_run);
    }
    EXPECT_EQ(0, hipEventDestroy(event));
}

// Its submit allocates for each few hundred commands.
TEST_F(NoMemoryCallsTest, a_deferred_submit_keeps_errno) {
    void* const stream = new_stream();
    xp_xqueue_options options XP_XQUEUE_OPTIONS_INIT;
    options.flags = XP_DEFERRED;
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(stream, &options, &xqueue)) << xp_last_detail();
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr)) << xp_last_detail();
    const auto submit = [=] {
        return xp_xqueue_submit(xqueue, test::put_packet, nullptr, nullptr);
    };
    int failures = 0;
    for (int i = 0; i < 1000; ++i) {
        int answer = 0;
        errno = EXFULL;
        {
            const FailingAllocation allocation(0);
            answer = submit();
        }
        ASSERT_EQ(EXFULL, errno) << i;
        if (answer != 0) {
            ++failures;
            ASSERT_EQ(0, submit()) << i;
        }
    }
    EXPECT_GT(failures, 1); // not only of the first, which waits
    EXPECT_EQ(0, xp_xqueue_drop(xqueue, nullptr));
    EXPECT_EQ(0, xp_xqueue_resume(xqueue));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

TEST_F(NoMemoryCallsTest, a_stream_stays_held_when_it_gets_no_xqueue) {
    bool failed = true;
    for (int number = 0; failed && !HasFailure(); ++number) {
        SCOPED_TRACE(number);
        void* const stream = new_stream();
        xp_xqueue_t xqueue{};
        xp_xqueue_options options = XP_XQUEUE_OPTIONS_INIT;
        options.flags = XP_ALLOW_SHARED;
        ASSERT_EQ(0, xp_stream_hold(stream, XP_HOLD_SHARED, nullptr)) << xp_last_detail();
        ASSERT_EQ(0, xp_stream_set_priority(stream, 5)) << xp_last_detail();
        {
            const FailingAllocation allocation(number);
            (void)xp_xqueue_create(stream, &options, &xqueue);
            failed = FailingAllocation::has_failed();
        }
        EXPECT_FALSE(all_run());
        std::int32_t priority = 0;
        EXPECT_EQ(0, xp_stream_get_priority(stream, &priority)) << xp_last_detail();
        EXPECT_EQ(5, priority);
        EXPECT_EQ(0, xp_stream_release(stream)) << xp_last_detail();
        EXPECT_TRUE(all_run());
        if (xqueue.handle == 0) {
            EXPECT_EQ(0, xp_xqueue_create(stream, &options, &xqueue)) << xp_last_detail();
        }
        EXPECT_EQ(0, xp_xqueue_destroy(xqueue)) << xp_last_detail();
        EXPECT_EQ(0, hipStreamDestroy(stream));
    }
}

// HIP waits for the stream that it destroys.
TEST_F(NoMemoryCallsTest, a_held_stream_is_destroyed) {
    void* const other = new_stream();
    for (const bool all_fail : {false, true}) {
        bool failed = true;
        for (int number = 0; failed && !HasFailure(); ++number) {
            SCOPED_TRACE(number);
            void* const stream = new_stream();
            for (void* each : {stream, other})
                ASSERT_EQ(0, xp_stream_hold(each, XP_HOLD_SHARED, nullptr)) << xp_last_detail();
            {
                const FailingAllocation allocation(number, all_fail);
                EXPECT_EQ(0, hipStreamDestroy(stream));
                failed = FailingAllocation::has_failed();
            }
            EXPECT_FALSE(fake_hip()->destroyed_held);
            until([] { return !all_run(); });
            EXPECT_EQ(0, xp_stream_release(other)) << xp_last_detail();
            until(all_run);
        }
    }
    EXPECT_EQ(0, hipStreamDestroy(other));
}

// XSCHED_AUTO_XQUEUE gives a stream its priority, and to the scheduler, at its first call or later.
TEST_F(NoMemoryCallsTest, a_stream_is_scheduled_from_a_later_call_on) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    ::setenv("XSCHED_AUTO_XQUEUE_PRIORITY", "7", 1);
    ::setenv("XSCHED_POLICY", "HPF", 1);
    EXPECT_EXIT(
        {
            bool failed = true;
            for (unsigned number = 0; failed; ++number) {
                void* stream = nullptr;
                std::int32_t priority = 0;
                xp_sched_state scheduler{};
                scheduler.sz = sizeof scheduler;
                (void)hipStreamCreate(&stream);
                {
                    const FailingAllocation allocation(static_cast<int>(number));
                    (void)test::put_packet(stream, nullptr);
                    failed = FailingAllocation::has_failed();
                }
                (void)test::put_packet(stream, nullptr);
                if (xp_stream_get_priority(stream, &priority) != 0 || priority != 7 ||
                    xp_sched_query(&scheduler) != 0 || scheduler.num_xqueues != number + 1)
                    _exit(1);
            }
            _exit(0);
        },
        ::testing::ExitedWithCode(0), "");
}

// A capture may have many of them.
TEST_F(NoMemoryCallsTest, a_call_into_a_captured_stream_looks_for_no_queue) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    ::setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    EXPECT_EXIT(
        {
            void* stream = nullptr;
            (void)hipStreamCreate(&stream);
            (void)hipStreamBeginCapture(stream, 0);
            fake_hip()->capturing = true;
            const auto launch = [=] {
                return hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr,
                                             nullptr);
            };
            (void)launch(); // the first of the thread
            const FailingAllocation allocation(0);
            _exit(launch() == 0 && !FailingAllocation::has_failed() ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

std::ptrdiff_t num_threads() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

TEST_F(NoMemoryCallsTest, a_refused_start_is_repeated) {
    void* const stream = new_stream();
    bool failed = true;
    for (int number = 0; failed; ++number) {
        ASSERT_EQ(0, xp_stream_hold(stream, XP_HOLD_SHARED, nullptr)) << xp_last_detail();
        until([] { return num_threads() == 1; }); // the one that repeats calls has ended
        fake_driver()->refused_starts = 1;
        int answer = 0;
        {
            const FailingAllocation allocation(number);
            answer = xp_stream_release(stream);
            failed = FailingAllocation::has_failed();
        }
        if (answer != 0)
            answer = xp_stream_release(stream);
        ASSERT_EQ(0, answer) << xp_last_detail();
        until(all_run);
    }
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

// Uses the library so that each of its threads works.
void use_threads(void* low, void* high) {
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(high, nullptr, &xqueue)) << xp_last_detail();
    ASSERT_EQ(0, xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST)) << xp_last_detail();
    ASSERT_EQ(0, xp_stream_set_priority(low, -1)) << xp_last_detail();
    ASSERT_EQ(0, xp_xqueue_set_priority(xqueue, 1)) << xp_last_detail();
    ASSERT_EQ(0, xp_control_open(nullptr)) << xp_last_detail();
    std::atomic<bool> notified{false};
    std::uint64_t ticket = 0;
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr)) << xp_last_detail();
    for (int i = 0; i < 20; ++i) // by the xqueue's thread
        ASSERT_EQ(0, xp_xqueue_submit(xqueue, test::put_packet, nullptr, &ticket));
    ASSERT_EQ(0, xp_xqueue_notify(
                     xqueue, ticket,
                     [](int, void* told) { *static_cast<std::atomic<bool>*>(told) = true; },
                     &notified))
        << xp_last_detail();
    ASSERT_EQ(0, xp_xqueue_resume(xqueue)) << xp_last_detail();
    for (int i = 0; i < 20; ++i) // observed
        EXPECT_EQ(0, test::put_packet(i % 2 == 0 ? low : high, nullptr));
    until([&] { return notified.load(); });
    ASSERT_EQ(0, xp_stream_hold(low, XP_HOLD_SHARED, nullptr)) << xp_last_detail();
    fake_driver()->refused_starts = 2;
    ASSERT_EQ(0, xp_stream_release(low)) << xp_last_detail();
    (void)xp_xqueue_wait_all(xqueue); // a marker may have found no memory
    EXPECT_EQ(0, xp_control_close());
    EXPECT_EQ(0, xp_sched_stop()) << xp_last_detail();
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue)) << xp_last_detail();
    until(all_run);
}

TEST_F(NoMemoryCallsTest, the_process_ends_with_nothing_held) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    void* const low = new_stream();
    void* const high = new_stream();
    for (int number = 0; number < 16; ++number)
        EXPECT_EXIT(
            {
                std::atexit([] { // the first that is registered runs last
                    if (!all_run())
                        _exit(2);
                });
                xp_xqueue_t xqueue{};
                (void)xp_xqueue_create(high, nullptr, &xqueue);
                (void)xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST);
                (void)xp_stream_hold(low, XP_HOLD_SHARED, nullptr);
                (void)xp_xqueue_suspend(xqueue, 0, nullptr);
                (void)xp_xqueue_submit(xqueue, test::put_packet, nullptr, nullptr);
                if (all_run())
                    std::exit(1);
                test::allocations_left = number;
                allocations_of_threads = number;
                std::exit(0);
            },
            ::testing::ExitedWithCode(0), "")
            << number;
}

TEST_F(NoMemoryCallsTest, a_thread_of_the_library_lives_on) {
    void* const low = new_stream();
    void* const high = new_stream();
    for (int number = 0; number < 200 && !HasFailure(); ++number) {
        SCOPED_TRACE(number);
        allocations_of_threads = number;
        use_threads(low, high);
    }
    allocations_of_threads = -1;
}

// Its thread waits for a command whose queue is stopped.
TEST_F(NoMemoryCallsTest, a_notice_comes) {
    void* const stream = new_stream();
    xp_xqueue_t xqueue{};
    std::uint64_t ticket = 0;
    std::atomic<int> answer{1};
    ASSERT_EQ(0, xp_xqueue_create(stream, nullptr, &xqueue)) << xp_last_detail();
    fake_hip()->running[0] = stream;
    ASSERT_EQ(0, xp_xqueue_submit(xqueue, test::put_packet, nullptr, &ticket));
    ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr)) << xp_last_detail();
    failing_threads = "xpreempt-watch";
    allocations_of_threads = 0;
    ASSERT_EQ(0, xp_xqueue_notify(
                     xqueue, ticket,
                     [](int error, void* told) { *static_cast<std::atomic<int>*>(told) = error; },
                     &answer))
        << xp_last_detail();
    until([] { return allocations_of_threads < 0; });
    fake_hip()->running[0] = nullptr;
    ASSERT_EQ(0, xp_xqueue_resume(xqueue)) << xp_last_detail();
    until([&] { return answer != 1; });
    EXPECT_EQ(0, answer);
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue)) << xp_last_detail();
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

// A command that was launched counts, and one that was not leaves no gap.
TEST_F(NoMemoryCallsTest, a_command_is_launched_into_a_capture_with_its_ticket_or_not_at_all) {
    for (int number = 0; number < 3; ++number) {
        void* const stream = new_stream();
        xp_xqueue_t xqueue{};
        ASSERT_EQ(0, xp_xqueue_create(stream, nullptr, &xqueue)) << xp_last_detail();
        ASSERT_EQ(0, hipStreamBeginCapture(stream, 0));
        bool launched = false;
        const auto launch = [](void*, void* was) {
            *static_cast<bool*>(was) = true;
            return 0;
        };
        int answer = 0;
        {
            const FailingAllocation allocation(number);
            answer = xp_xqueue_submit(xqueue, launch, &launched, nullptr);
        }
        EXPECT_EQ(answer == 0, launched);
        ASSERT_EQ(0, hipStreamEndCapture(stream, nullptr));
        EXPECT_EQ(0, xp_xqueue_wait_all(xqueue)) << xp_last_detail();
        EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
    }
}

// The order thread tries it again, and reads the rings because of the other stream.
TEST_F(NoMemoryCallsTest, a_start_that_was_refused_is_made_beside_a_held_stream) {
    void* const stream = new_stream();
    void* const held = new_stream();
    ASSERT_EQ(0, xp_stream_hold(held, 0, nullptr)) << xp_last_detail();
    failing_threads = "xpreempt-order";
    for (int number = 0; allocations_of_threads < 0 && !HasFailure(); ++number) {
        SCOPED_TRACE(number);
        allocations_of_threads = number;
        ASSERT_EQ(0, xp_stream_hold(stream, 0, nullptr)) << xp_last_detail();
        xp_stream_info info{};
        info.sz = sizeof info;
        ASSERT_EQ(0, xp_stream_query(stream, &info)) << xp_last_detail();
        fake_driver()->refused_starts = 2;
        ASSERT_EQ(0, xp_stream_release(stream)) << xp_last_detail();
        until([&] { return !fake_driver()->queues[info.kfd_queue_id].is_stopped(); });
    }
    allocations_of_threads = -1;
    ASSERT_EQ(0, xp_stream_release(held)) << xp_last_detail();
    until(all_run);
    for (void* each : {stream, held})
        EXPECT_EQ(0, hipStreamDestroy(each));
}

} // namespace
