// SPDX-License-Identifier: MIT
// A call of the library leaves its thread and the memory of the device as they were, and holds no
// lock over a call of HIP.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"

#include <atomic>
#include <cerrno>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <pthread.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

extern "C" {
int hipDeviceReset();
int hipEventCreateWithFlags(void** event, unsigned flags);
int hipEventDestroy(void* event);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void* stream, void**, void**);
int hipSetDevice(int device);
int hipStreamBeginCapture(void* stream, int mode);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipStreamEndCapture(void* stream, void** graph);
int hipStreamSynchronize(void* stream);
int hipStreamWaitEvent(void* stream, void* event, unsigned flags);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
}

namespace {

class CallerTest : public ::testing::Test {
protected:
    void SetUp() override {
        fake_choose_driver();
        ASSERT_EQ(0, hipStreamCreate(&stream));
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    }
    void create(const xp_xqueue_options* options = nullptr) {
        ASSERT_EQ(0, xp_xqueue_create(stream, options, &xqueue)) << xp_last_detail();
    }

    void* stream = nullptr;
    xp_xqueue_t xqueue{};
};

int put_packet(void* stream, void*) {
    return hipMemsetAsync(nullptr, 0, 4, stream);
}

int launch(void* stream) {
    return hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}

xp_xqueue_t queried{};

// As a call of HIP that waits for a lock whose owner waits for one of the library's.
void query_in_another_thread() {
    std::thread([] {
        xp_xqueue_state state{};
        state.sz = sizeof state;
        EXPECT_EQ(0, xp_xqueue_query(queried, &state));
    }).join();
}

TEST_F(CallerTest, no_event_is_destroyed_with_a_lock) {
    xp_xqueue_options options XP_XQUEUE_OPTIONS_INIT;
    options.max_level = XP_LEVEL_BLOCK;
    options.threshold = 16;
    options.batch = 1;
    create(&options);
    queried = xqueue;
    fake_hip()->in_event_destroy = query_in_another_thread;
    for (int i = 0; i < 10; ++i)
        ASSERT_EQ(0, xp_xqueue_submit(xqueue, put_packet, nullptr, nullptr));
    EXPECT_EQ(0, xp_xqueue_wait_all(xqueue));
    // The program's own calls are paced by markers as well.
    for (int i = 0; i < 20; ++i)
        ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    fake_hip()->in_event_destroy = nullptr;
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(CallerTest, no_guardians_are_allocated_with_a_lock) {
    xp_xqueue_options options XP_XQUEUE_OPTIONS_INIT;
    options.max_level = XP_LEVEL_DEACTIVATE; // its choice asks for the guardians
    create(&options);
    queried = xqueue;
    fake_hip()->in_host_malloc = query_in_another_thread;
    const xp_command command{sizeof command, put_packet, nullptr, XP_COMMAND_GUARDED, 0, nullptr};
    ASSERT_EQ(0, xp_xqueue_submit_command(xqueue, &command, nullptr));
    fake_hip()->in_host_malloc = nullptr;
    EXPECT_EQ(0, xp_xqueue_wait_all(xqueue));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// One call in a thread of its own, which is cancelled meanwhile.
class CancelledCall {
public:
    explicit CancelledCall(std::function<int()> call) : call_(std::move(call)) {
        EXPECT_EQ(0, pthread_create(&thread_, nullptr, run, this));
    }
    void cancel_asleep() const {
        while (id_ == 0 || !sleeps())
            std::this_thread::yield();
        EXPECT_EQ(0, pthread_cancel(thread_));
    }
    // Returns the answer of the call. The thread ends after it.
    [[nodiscard]] int join() {
        void* ended = nullptr;
        EXPECT_EQ(0, pthread_join(thread_, &ended));
        EXPECT_EQ(PTHREAD_CANCELED, ended);
        return answer_;
    }

private:
    static void* run(void* argument) {
        auto& self = *static_cast<CancelledCall*>(argument);
        self.id_ = gettid();
        self.answer_ = self.call_();
        pthread_testcancel();
        return nullptr;
    }
    [[nodiscard]] bool sleeps() const {
        std::ifstream file("/proc/self/task/" + std::to_string(id_) + "/stat");
        std::string word;
        while (file >> word && word.back() != ')') {
        }
        return file >> word && word == "S";
    }

    const std::function<int()> call_;
    std::atomic<pid_t> id_{0};
    pthread_t thread_{};
    int answer_ = 1;
};

TEST_F(CallerTest, no_call_is_a_cancellation_point) {
    create();
    std::uint64_t ticket = 0;
    struct Blocked {
        xp_level level; // of the suspend that blocks it
        std::function<int()> call;
    };
    const Blocked calls[] = {
        {XP_LEVEL_INTERRUPT, [&] { return xp_xqueue_wait(xqueue, ticket); }},
        {XP_LEVEL_INTERRUPT, [&] { return xp_xqueue_wait_all(xqueue); }},
        {XP_LEVEL_INTERRUPT, [&] { return hipStreamSynchronize(stream); }},
        {XP_LEVEL_INTERRUPT, [&] { return launch(stream); }},
        {XP_LEVEL_BLOCK, [&] { return put_packet(stream, nullptr); }},
        {XP_LEVEL_BLOCK, [&] { return launch(stream); }},
    };
    for (int i = 0; i < 64; ++i) // as many as a held queue takes
        ASSERT_EQ(0, launch(stream));
    for (const auto& [level, call] : calls) {
        ASSERT_EQ(0, xp_xqueue_set_max_level(xqueue, level));
        ASSERT_EQ(0, xp_xqueue_suspend(xqueue, 0, nullptr));
        ASSERT_EQ(0, xp_xqueue_submit(xqueue, put_packet, nullptr, &ticket));
        fake_hip()->unfinished = true;
        CancelledCall cancelled(call);
        cancelled.cancel_asleep();
        fake_hip()->unfinished = false;
        ASSERT_EQ(0, xp_xqueue_resume(xqueue));
        EXPECT_EQ(0, cancelled.join());
    }
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

std::atomic<bool> in_touch{false};

void wait_in_touch() {
    in_touch = true;
    while (in_touch)
        std::this_thread::yield();
}

// A touch of another thread is a question about the stream: these calls wait for its end.
TEST_F(CallerTest, no_call_beside_a_question_is_a_cancellation_point) {
    void* event = nullptr;
    void* other = nullptr;
    ASSERT_EQ(0, hipEventCreateWithFlags(&event, 0));
    ASSERT_EQ(0, hipStreamCreate(&other));
    const std::pair<void*, std::function<int()>> calls[] = {
        {stream, [&] { return hipStreamBeginCapture(stream, 0); }},
        {other, [&] { return hipStreamWaitEvent(other, event, 0); }},
        {other, [&] { return hipStreamDestroy(other); }},
    };
    fake_hip()->in_fill = wait_in_touch;
    for (const auto& [touched, call] : calls) {
        std::thread touch([of = touched] { EXPECT_EQ(0, xp_stream_touch(of)); });
        while (!in_touch)
            std::this_thread::yield();
        CancelledCall cancelled(call);
        cancelled.cancel_asleep();
        in_touch = false;
        touch.join();
        EXPECT_EQ(0, cancelled.join());
    }
    fake_hip()->in_fill = nullptr;
    EXPECT_EQ(0, hipStreamEndCapture(stream, nullptr));
    EXPECT_EQ(0, hipEventDestroy(event));
}

// Where it waits for the launch of another thread, or launches.
TEST_F(CallerTest, no_submit_into_a_capture_is_a_cancellation_point) {
    static std::atomic<bool> launches, goes_on;
    launches = goes_on = false;
    create();
    ASSERT_EQ(0, hipStreamBeginCapture(stream, 2));
    const xp_launch_fn sleep_and_launch = [](void* captured, void*) {
        errno = EIO;
        launches = true;
        while (!goes_on)
            usleep(1000);
        return put_packet(captured, nullptr);
    };
    const auto call = [&] {
        errno = ENOTTY;
        const int answer = xp_xqueue_submit(xqueue, sleep_and_launch, nullptr, nullptr);
        EXPECT_EQ(ENOTTY, errno);
        return answer;
    };
    CancelledCall first(call);
    while (!launches)
        std::this_thread::yield();
    CancelledCall second(call);
    second.cancel_asleep();
    first.cancel_asleep();
    goes_on = true;
    EXPECT_EQ(0, first.join());
    EXPECT_EQ(0, second.join());
    EXPECT_EQ(0, hipStreamEndCapture(stream, nullptr));
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

// Nor is one that writes a message, which a function of the program takes.
TEST_F(CallerTest, no_message_is_a_cancellation_point) {
    const xp_log_fn log = [](std::uint32_t, const char*, void*) { pthread_testcancel(); };
    ASSERT_EQ(0, xp_set_log_fn(log, XP_LOG_DEBUG, nullptr));
    CancelledCall cancelled([] {
        pthread_cancel(pthread_self());
        return xp_xqueue_submit(xp_xqueue_t{}, put_packet, nullptr, nullptr);
    });
    EXPECT_EQ(-EBADF, cancelled.join());
    ASSERT_EQ(0, xp_set_log_fn(nullptr, XP_LOG_NONE, nullptr));
}

TEST_F(CallerTest, touches_on_hip_5_2_keep_one_word_of_a_device) {
    fake_hip()->version = 50221153;
    const unsigned before = fake_hip()->allocated;
    for (int device = 0; device < 2; ++device) {
        ASSERT_EQ(0, hipSetDevice(device));
        void* touched = nullptr;
        ASSERT_EQ(0, hipStreamCreate(&touched));
        for (int i = 0; i < 1000; ++i)
            ASSERT_EQ(0, xp_stream_touch(touched));
    }
    EXPECT_GE(before + 2, fake_hip()->allocated);
    ASSERT_EQ(0, hipSetDevice(0));
    fake_hip()->version = 60443484;
}

// The reset frees the word, and its address may be that of the program's next memory.
TEST_F(CallerTest, a_touch_after_a_reset_fills_another_word) {
    fake_hip()->version = 50221153;
    ASSERT_EQ(0, xp_stream_touch(stream));
    ASSERT_EQ(0, hipDeviceReset());
    const unsigned before = fake_hip()->allocated;
    void* touched = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&touched));
    ASSERT_EQ(0, xp_stream_touch(touched));
    EXPECT_EQ(before + 1, fake_hip()->allocated);
    fake_hip()->version = 60443484;
    EXPECT_EQ(0, hipStreamDestroy(stream)); // the fake's reset has kept it
}

} // namespace
