// SPDX-License-Identifier: MIT
// A HIP that brings packets past the hook: what the library says of it, and of one that doesn't.
//
// Run with FAKE_DRIVER=patched or FAKE_DRIVER=stock.
#include <xpreempt/xpreempt.h>

#include "fake/fake_rocm.hpp"
#include "unit/beside.hpp"

#include <cerrno>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string>

extern "C" {
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
}

namespace {

class BlindTest : public ::testing::Test {
protected:
    BlindTest() { fake_choose_driver(); }
    static void* new_stream(fake::Seam seam) {
        fake_hip()->seam = seam;
        void* stream = nullptr;
        EXPECT_EQ(0, hipStreamCreate(&stream));
        EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
        return stream;
    }
    static std::string reason_of_probe() {
        xp_probe_info probe{};
        probe.sz = sizeof probe;
        EXPECT_EQ(0, xp_probe(&probe));
        return probe.reason;
    }
    // Why it isn't mapped.
    static std::string detail_of(void* stream) {
        xp_stream_info info{};
        info.sz = sizeof info;
        EXPECT_EQ(-ENOENT, xp_stream_query(stream, &info));
        return xp_last_detail();
    }
    static bool has(const std::string& text, const char* part) {
        return text.find(part) != std::string::npos;
    }
};

TEST_F(BlindTest, full_tables_are_the_reason_of_a_stream_without_a_queue) {
    void* stream = nullptr;
    for (int i = 0; i <= 4096; ++i)
        stream = new_stream(fake::Seam::add);
    EXPECT_TRUE(has(detail_of(stream), "the hook's tables are full: 1 times")) << detail_of(stream);
}

TEST_F(BlindTest, packets_past_the_hook_are_named_with_the_fix) {
    void* stream = new_stream(fake::Seam::direct);
    for (const std::string& text : {reason_of_probe(), detail_of(stream)}) {
        EXPECT_TRUE(has(text, "the hook is blind: packets came past it into 1 of 1 KFD queues"))
            << text;
        EXPECT_TRUE(has(text, "preload libxpreempt-hook.so")) << text;
    }
}

TEST_F(BlindTest, an_xqueue_says_why_its_stream_is_only_blocked) {
    void* stream = new_stream(fake::Seam::direct);
    xp_xqueue_t xqueue{};
    ASSERT_EQ(0, xp_xqueue_create(stream, nullptr, &xqueue)) << xp_last_detail();
    xp_xqueue_state state{};
    state.sz = sizeof state;
    ASSERT_EQ(0, xp_xqueue_query(xqueue, &state));
    EXPECT_TRUE(has(state.reason, "the hook is blind")) << state.reason;
    EXPECT_TRUE(has(state.reason, "newer than the hook")) << state.reason; // not cut off
    EXPECT_EQ(0, xp_xqueue_destroy(xqueue));
}

TEST_F(BlindTest, a_hook_that_sees_packets_is_not) {
    for (const fake::Seam seam : {fake::Seam::add, fake::Seam::store, fake::Seam::doorbell})
        new_stream(seam);
    EXPECT_FALSE(has(reason_of_probe(), "blind")) << reason_of_probe();
    void* unused = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&unused));
    EXPECT_FALSE(has(detail_of(unused), "blind")) << xp_last_detail();
    EXPECT_TRUE(has(detail_of(unused), "call xp_stream_touch()")) << xp_last_detail();
    EXPECT_EQ(0, hipStreamDestroy(unused));
}

// A runtime that binds every call of its own to itself, as one opened with RTLD_DEEPBIND does.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they refuse that flag
TEST_F(BlindTest, a_hip_opened_with_deepbind_creates_queues_past_the_hook) {
    void* deep = dlopen(test::beside_program(DEEPBIND_RUNTIME).c_str(),
                        RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    ASSERT_NE(nullptr, deep) << dlerror();
    const auto create = reinterpret_cast<int (*)(void**)>(dlsym(deep, "hipStreamCreate"));
    const auto fill =
        reinterpret_cast<int (*)(void*, int, std::size_t, void*)>(dlsym(deep, "hipMemsetAsync"));
    ASSERT_NE(nullptr, fill);
    void* stream = nullptr;
    ASSERT_EQ(0, create(&stream));
    ASSERT_EQ(0, fill(nullptr, 0, 4, stream));
    EXPECT_TRUE(has(detail_of(stream), "the hook saw no KFD queue created")) << xp_last_detail();
}
#endif

TEST_F(BlindTest, a_queue_of_two_is_counted) {
    new_stream(fake::Seam::add);
    new_stream(fake::Seam::direct); // the pool's second queue
    EXPECT_TRUE(has(reason_of_probe(), "into 1 of 2 KFD queues")) << reason_of_probe();
}

} // namespace
