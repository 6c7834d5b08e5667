// SPDX-License-Identifier: MIT
// A program that knows nothing of libxpreempt, with the hook, on the fake ROCm: what the
// environment asks for. Each test is a process of its own.
#include "fake/fake_rocm.hpp"
#include "unit/beside.hpp"
#include "unit/until.hpp"

#include <xpreempt/sched.h>
#include <xpreempt/stream.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>

extern "C" {
int hipDeviceReset();
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipMemsetAsync_spt(void* to, int value, std::size_t bytes, void* stream);
int hipSetDevice(int device);
}

// In front of the C library's: the hook asks by it before it loads the library.
static void (*at_question)() = nullptr;
extern "C" char* secure_getenv(const char* name) noexcept {
    if (auto* const call = std::exchange(at_question, nullptr); call != nullptr)
        call();
    return std::getenv(name);
}

static std::atomic<bool> is_in_constructor{false};
extern "C" void called_when_loaded() {
    is_in_constructor = true;
    EXPECT_EQ(0, hipSetDevice(0));
}

namespace {

namespace fs = std::filesystem;
using test::until;

class AutomaticTest : public ::testing::Test {
protected:
    AutomaticTest() { fake_driver()->patched = true; }

    static void* new_stream() {
        void* stream = nullptr;
        EXPECT_EQ(0, hipStreamCreate(&stream));
        return stream;
    }
    static void launch(void* stream) { EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream)); }
    static void* library() { return dlopen("libxpreempt.so.0", RTLD_NOW | RTLD_NOLOAD); }
    template <typename Function> static Function* symbol(const char* name) {
        void* found = dlsym(library(), name);
        EXPECT_NE(nullptr, found) << name;
        return reinterpret_cast<Function*>(found);
    }
    static xp_sched_state scheduler() {
        xp_sched_state state{};
        state.sz = sizeof state;
        EXPECT_EQ(0, symbol<decltype(xp_sched_query)>("xp_sched_query")(&state));
        return state;
    }
};

TEST_F(AutomaticTest, nothing_is_loaded_unless_something_asks_for_it) {
    setenv("XPREEMPT_CONTROL", "0", 1);
    setenv("XSCHED_AUTO_XQUEUE", "OFF", 1);
    setenv("XSCHED_SCHEDULER", "APP", 1);
    launch(new_stream());
    EXPECT_EQ(nullptr, library());
}

TEST_F(AutomaticTest, the_control_socket_opens_at_the_first_call_of_hip) {
    std::string runtime = (fs::temp_directory_path() / "xpreempt-auto-XXXXXX").string();
    ASSERT_NE(nullptr, mkdtemp(runtime.data()));
    setenv("XDG_RUNTIME_DIR", runtime.c_str(), 1);
    setenv("XPREEMPT_CONTROL", "1", 1);
    const fs::path sockets = fs::path(runtime) / "kfd-preempt";
    EXPECT_FALSE(fs::exists(sockets));
    void* stream = new_stream();
    EXPECT_FALSE(fs::is_empty(sockets));
    EXPECT_EQ(0, hipStreamDestroy(stream));
    EXPECT_EQ(0, symbol<int()>("xp_control_close")());
    fs::remove_all(runtime);
}

TEST_F(AutomaticTest, streams_get_priority_and_level_and_a_scheduler_knows_them) {
    setenv("XSCHED_AUTO_XQUEUE", "on", 1);
    setenv("XSCHED_AUTO_XQUEUE_PRIORITY", "7", 1);
    setenv("XSCHED_AUTO_XQUEUE_LEVEL", "3", 1);
    setenv("XSCHED_AUTO_XQUEUE_UTILIZATION", "75", 1);
    setenv("XSCHED_POLICY", "HPF", 1);
    setenv("XSCHED_SCHEDULER", "GLB", 1); // without effect, for there is a policy
    void* first = new_stream();
    void* second = new_stream();
    launch(first);
    EXPECT_EQ(1U, scheduler().num_xqueues);
    launch(second);
    launch(second);
    launch(nullptr);
    EXPECT_EQ(3U, scheduler().num_xqueues);
    EXPECT_EQ(1U, scheduler().policy);
    std::int32_t priority = 0;
    const auto get = symbol<decltype(xp_stream_get_priority)>("xp_stream_get_priority");
    EXPECT_EQ(0, get(second, &priority));
    EXPECT_EQ(7, priority);
    xp_sched_attributes attributes{};
    attributes.sz = sizeof attributes;
    EXPECT_EQ(0, symbol<decltype(xp_stream_get_attributes)>("xp_stream_get_attributes")(
                     second, &attributes));
    EXPECT_EQ(75U, attributes.utilization);
    std::uint32_t level = 0;
    const auto hold = symbol<decltype(xp_stream_hold)>("xp_stream_hold");
    EXPECT_EQ(0, hold(nullptr, 0, &level));
    EXPECT_EQ(3U, level);
    EXPECT_EQ(0, symbol<decltype(xp_stream_release)>("xp_stream_release")(nullptr));
    // The next stream of that address is another one.
    fake_hip()->reuse_handles = true;
    EXPECT_EQ(0, hipStreamDestroy(second));
    void* third = new_stream();
    ASSERT_EQ(second, third);
    launch(third);
    EXPECT_EQ(0, get(third, &priority));
    EXPECT_EQ(7, priority);
}

// HIP destroys its streams then, and a new one may get the address of one of them.
TEST_F(AutomaticTest, streams_after_a_reset_get_the_priority) {
    setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    setenv("XSCHED_AUTO_XQUEUE_PRIORITY", "7", 1);
    setenv("XSCHED_AUTO_XQUEUE_LEVEL", "3", 1);
    void* stream = new_stream();
    launch(stream);
    ASSERT_EQ(0, hipDeviceReset());
    fake_hip()->next_handle = stream;
    ASSERT_EQ(stream, new_stream());
    launch(stream);
    std::int32_t priority = 0;
    EXPECT_EQ(
        0, symbol<decltype(xp_stream_get_priority)>("xp_stream_get_priority")(stream, &priority));
    EXPECT_EQ(7, priority);
}

// Also where nothing else asks for the library.
TEST_F(AutomaticTest, a_variable_that_has_no_effect_is_named_once) {
    setenv("XSCHED_SCHED", "HPF", 1);
    testing::internal::CaptureStderr();
    launch(new_stream());
    launch(new_stream());
    EXPECT_EQ("libxpreempt-hook: XSCHED_SCHED has no effect: XSched has no such variable; use "
              "XSCHED_POLICY or another of xpreempt-xsched(7)\n",
              testing::internal::GetCapturedStderr());
    EXPECT_EQ(nullptr, library());
}

// XSched's default.
TEST_F(AutomaticTest, at_level_1_no_more_than_the_threshold_is_under_way) {
    setenv("XSCHED_AUTO_XQUEUE", "1", 1);
    setenv("XSCHED_AUTO_XQUEUE_THRESHOLD", "2", 1);
    setenv("XSCHED_AUTO_XQUEUE_BATCH_SIZE", "1", 1);
    void* stream = new_stream();
    launch(stream); // not counted: the stream is known from here on
    fake_hip()->running[0] = stream;
    std::atomic<int> launched{0};
    std::thread program([&] {
        for (int i = 0; i < 5; ++i) {
            launch(stream);
            ++launched;
        }
    });
    until([&] { return fake_hip()->synchronizing == 1; });
    EXPECT_EQ(2, launched);
    fake_hip()->running[0] = nullptr;
    program.join();
    EXPECT_EQ(5, launched);
}

// A rank of torchrun: its device isn't that of a new thread.
TEST_F(AutomaticTest, the_default_stream_is_watched_on_its_own_device) {
    setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    setenv("XSCHED_AUTO_XQUEUE_LEVEL", "3", 1);
    setenv("XSCHED_POLICY", "HPF", 1);
    ASSERT_EQ(0, hipSetDevice(1));
    void* low = new_stream();
    launch(low);
    launch(nullptr);
    ASSERT_EQ(0, symbol<decltype(xp_stream_set_priority)>("xp_stream_set_priority")(nullptr, 7));
    until([] { return fake_hip()->records_on[0] + fake_hip()->records_on[1] >= 2; });
    fake_hip()->running[0] = fake_stream(nullptr);
    fake_hip()->running[1] = low;
    launch(low);
    launch(nullptr);
    const auto query = symbol<decltype(xp_stream_query)>("xp_stream_query");
    const auto is_held = [&] {
        xp_stream_info info{};
        info.sz = sizeof info;
        EXPECT_EQ(0, query(low, &info));
        return info.held != 0;
    };
    until([&] { return is_held() || fake_hip()->records_on[0] != 0; });
    EXPECT_EQ(0U, fake_hip()->records_on[0]);
    fake_hip()->running[0] = nullptr;
    until([&] { return !is_held() || fake_hip()->records_on[0] != 0; });
    EXPECT_EQ(0U, fake_hip()->records_on[0]);
    fake_hip()->running[1] = nullptr;
}

// hipStreamPerThread names another stream in the thread that would watch it.
TEST_F(AutomaticTest, a_threads_own_stream_is_not_scheduled) {
    setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    setenv("XSCHED_POLICY", "HPF", 1);
    launch(reinterpret_cast<void*>(2));
    EXPECT_EQ(0U, scheduler().num_xqueues);
    EXPECT_EQ(0, hipMemsetAsync_spt(nullptr, 0, 4, nullptr));
    EXPECT_EQ(0U, scheduler().num_xqueues);
    launch(new_stream());
    EXPECT_EQ(1U, scheduler().num_xqueues);
}

// It has the linker's lock, which the thread that loads the library needs.
TEST_F(AutomaticTest, a_constructor_that_calls_hip_waits_for_no_other_thread) {
    alarm(120); // the failure is a process that never ends
    setenv("XSCHED_AUTO_XQUEUE", "ON", 1);
    static std::thread other;
    at_question = [] {
        other = std::thread([] {
            EXPECT_NE(nullptr, dlopen(test::beside_program(CALLS_WHEN_LOADED).c_str(), RTLD_NOW))
                << dlerror();
        });
        until([] { return is_in_constructor.load(); });
    };
    void* stream = new_stream();
    other.join();
    EXPECT_NE(nullptr, library());
    EXPECT_EQ(0, hipStreamDestroy(stream));
    alarm(0);
}

} // namespace
