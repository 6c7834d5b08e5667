// SPDX-License-Identifier: MIT
// A program that knows nothing of XSched, with libshimhip, the adapter and the hook preloaded.
#include "fake/fake_rocm.hpp"

#include <xsched/types.h>

#include <algorithm>
#include <cerrno>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <iterator>

extern "C" {
int hipStreamCreate(void** stream);
int hipStreamSynchronize(void* stream);
int hipStreamDestroy(void* stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
}

namespace {

template <typename Function> Function* find(const char* name) {
    return reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
}

int num_stopped() {
    const auto& queues = fake_driver()->queues;
    return static_cast<int>(
        std::count_if(std::begin(queues), std::end(queues), [](const fake::Queue& queue) {
            return queue.held || (queue.updates > 0 && queue.percentage == 0);
        }));
}

TEST(XSchedTransparent, stops_the_queue_of_a_stream_that_the_program_made) {
    fake_choose_driver();
    const auto get = find<XResult(XQueueHandle*, HwQueueHandle)>("XQueueGet");
    const auto suspend = find<XResult(XQueueHandle, std::int64_t)>("XQueueSuspend");
    const auto resume = find<XResult(XQueueHandle, std::int64_t)>("XQueueResume");
    ASSERT_NE(nullptr, get) << "libshimhip is not preloaded";

    void* stream = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&stream));
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    XQueueHandle xqueue = 0;
    ASSERT_EQ(kXSchedSuccess, get(&xqueue, reinterpret_cast<HwQueueHandle>(stream)));
    EXPECT_EQ(0, num_stopped());
    EXPECT_EQ(kXSchedSuccess, suspend(xqueue, kQueueSuspendFlagSyncHwQueue));
    EXPECT_EQ(1, num_stopped());
    for (int i = 0; i < 20; ++i)
        EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    EXPECT_EQ(kXSchedSuccess, resume(xqueue, kQueueResumeFlagNone));
    EXPECT_EQ(0, num_stopped());
    EXPECT_EQ(0, hipStreamSynchronize(stream));
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

TEST(XSchedTransparent, starts_no_scheduler_of_ours_beside_that_of_xsched) {
    void* stream = nullptr;
    ASSERT_EQ(0, hipStreamCreate(&stream));
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, stream));
    const auto stop = find<int()>("xp_sched_stop");
    ASSERT_NE(nullptr, stop);
    EXPECT_EQ(-ENOENT, stop());
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

} // namespace
