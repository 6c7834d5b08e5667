// SPDX-License-Identifier: MIT
// Two streams of which one is held, and the calls of HIP that meet them.
#pragma once

#include "fake/fake_rocm.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <gtest/gtest.h>
#include <thread>
#include <xpreempt/xpreempt.h>

struct Dim3 {
    std::uint32_t x, y, z;
};
extern "C" {
void __hipUnregisterFatBinary(void** modules); // NOLINT(bugprone-reserved-identifier): its name
int hsa_amd_memory_async_copy(void* to, std::uint64_t to_agent, const void* from,
                              std::uint64_t from_agent, std::size_t bytes, std::uint32_t num_waits,
                              const std::uint64_t* waits, std::uint64_t completion);
int hipDeviceSynchronize();
int hipDestroySurfaceObject(void* surface);
int hipDestroyTextureObject(void* texture);
int hipEventCreateWithFlags(void** event, unsigned flags);
int hipEventDestroy(void* event);
int hipEventRecord(void* event, void* stream);
int hipEventSynchronize(void* event);
int hipExtLaunchKernel(const void* kernel, Dim3 grid, Dim3 block, void** arguments,
                       std::size_t bytes, void* stream, void* start, void* stop, int flags);
int hipFree(void* memory);
int hipGraphExecDestroy(void* graph);
int hipGraphLaunch(void* graph, void* stream);
int hipIpcCloseMemHandle(void* memory);
int hipMemcpyDtoD(void* to, void* from, std::size_t bytes);
int hipMemMap(void* to, std::size_t bytes, std::size_t offset, void* from, std::uint64_t flags);
int hipMemset(void* to, int value, std::size_t bytes);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipSetDevice(int device);
int hipStreamBeginCapture(void* stream, int mode);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipStreamEndCapture(void* stream, void** graph);
int hipStreamIsCapturing(void* stream, int* status);
int hipStreamSynchronize(void* stream);
int hipStreamWaitEvent(void* stream, void* event, unsigned flags);
int hipTexObjectDestroy(void* texture);
int hipThreadExchangeStreamCaptureMode(int* mode);
int hipUnbindTexture(const void* texture);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void* stream, void**, void**);
}

namespace test {

// Two streams with a queue each; the first is held, and has unfinished work.
class GatesTest : public ::testing::Test {
protected:
    void SetUp() override {
        fake_choose_driver();
        ASSERT_EQ(0, xp_start()); // sees the calls from here on
        for (void** stream : {&held, &other}) {
            ASSERT_EQ(0, hipStreamCreate(stream));
            ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, *stream));
        }
        ASSERT_EQ(0, hipEventCreateWithFlags(&event, 0));
    }
    void TearDown() override { EXPECT_EQ(0, hipEventDestroy(event)); }
    void hold() {
        ASSERT_EQ(0, xp_stream_hold(held, XP_HOLD_LEAST(XP_LEVEL_INTERRUPT), nullptr))
            << xp_last_detail();
        fake_hip()->unfinished = true;
    }
    // Returns a used stream in the queue of the first one, if there is a queue for each other one.
    [[nodiscard]] void* share_held() const {
        for (;;) {
            void* sharing = nullptr;
            EXPECT_EQ(0, hipStreamCreate(&sharing));
            EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, sharing));
            if (ring_of(sharing) == ring_of(held))
                return sharing;
            EXPECT_EQ(0, hipStreamDestroy(sharing));
        }
    }
    [[nodiscard]] std::uint32_t waiters() const {
        xp_stream_info info{};
        info.sz = sizeof info;
        EXPECT_EQ(0, xp_stream_query(held, &info)) << xp_last_detail();
        return info.waiters;
    }
    static const void* ring_of(void* stream) {
        xp_stream_info info{};
        info.sz = sizeof info;
        EXPECT_EQ(0, xp_stream_query(stream, &info)) << xp_last_detail();
        return reinterpret_cast<const void*>(fake_driver()->queues[info.kfd_queue_id].ring_base);
    }
    // The fake's queue is a page in front of its ring.
    static void complete_null_stream() {
        auto* const queue = static_cast<std::uint64_t*>(const_cast<void*>(ring_of(nullptr))) - 512;
        queue[0x80 / 8] = queue[0x38 / 8]; // read and write index
    }
    void expect_does_not_wait(int device, const std::function<int()>& call) const {
        std::atomic<bool> returned{false};
        std::thread thread([&] {
            EXPECT_EQ(0, hipSetDevice(device));
            EXPECT_EQ(0, call());
            returned = true;
        });
        while (waiters() == 0 && !returned)
            std::this_thread::yield();
        EXPECT_TRUE(returned);
        if (!returned) {
            EXPECT_EQ(0, xp_stream_release(held));
        }
        thread.join();
    }
    // It waits in the library, whatever happens meanwhile, and continues with the queue. Without
    // the wait the test would see the call return.
    void expect_waits(const std::function<int()>& call,
                      const std::function<void()>& meanwhile = nullptr) {
        std::atomic<bool> returned{false};
        std::thread thread([&] {
            EXPECT_EQ(0, call());
            returned = true;
        });
        while (waiters() == 0 && !returned)
            std::this_thread::yield();
        EXPECT_FALSE(returned);
        if (meanwhile)
            meanwhile();
        EXPECT_FALSE(returned);
        EXPECT_EQ(0, xp_stream_release(held));
        thread.join();
        EXPECT_EQ(0U, waiters());
    }

    void* held = nullptr;
    void* other = nullptr;
    void* event = nullptr;
};

} // namespace test
