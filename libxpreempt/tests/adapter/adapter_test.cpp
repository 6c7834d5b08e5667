// SPDX-License-Identifier: MIT
// XSched itself with the adapter in front of its libhalhip, on the fake ROCm.
#include "fake/fake_rocm.hpp"

#include <xsched/xsched.h>

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <string_view>
#include <thread>
#include <utility>
#include <xpreempt/stream.h>

extern "C" {
int hipExtStreamCreateWithCUMask(void** stream, unsigned words, const unsigned* mask);
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
XResult HipQueueCreate(HwQueueHandle* hwq, void* stream);
XResult XPreemptHipQueueCreate(HwQueueHandle* hwq, void* stream);
}

namespace {

XResult launch(HwQueueHandle hwq, void*) {
    return hipMemsetAsync(nullptr, 0, 4, reinterpret_cast<void*>(hwq)) == 0 ? kXSchedSuccess
                                                                            : kXSchedErrorHardware;
}

class XSchedAdapter : public testing::Test {
protected:
    XSchedAdapter() {
        fake_choose_driver();
        const unsigned mask[2] = {~0U, 0x3f};
        EXPECT_EQ(0, hipExtStreamCreateWithCUMask(&stream_, 2, mask));
    }
    void TearDown() override { EXPECT_EQ(0, hipStreamDestroy(stream_)); }
    void create(XPreemptLevel level) {
        ASSERT_EQ(kXSchedSuccess, HipQueueCreate(&hwq_, stream_));
        ASSERT_EQ(kXSchedSuccess, XQueueCreate(&xqueue_, hwq_, level, kQueueCreateFlagNone));
        HwCommandHandle command = 0;
        ASSERT_EQ(kXSchedSuccess, HwCommandCreateCallback(&command, launch, nullptr));
        ASSERT_EQ(kXSchedSuccess, XQueueSubmit(xqueue_, command));
    }
    void destroy() {
        EXPECT_EQ(kXSchedSuccess, XQueueWaitAll(xqueue_));
        EXPECT_EQ(kXSchedSuccess, XQueueDestroy(xqueue_));
        EXPECT_EQ(kXSchedSuccess, HwQueueDestroy(hwq_));
    }
    bool is_stopped() {
        xp_stream_info info{};
        info.sz = sizeof info;
        EXPECT_EQ(0, xp_stream_query(stream_, &info)) << xp_last_detail();
        const fake::Queue& queue = fake_driver()->queues[info.kfd_queue_id];
        return queue.held || queue.percentage == 0;
    }

    void* stream_ = nullptr;
    HwQueueHandle hwq_ = 0;
    XQueueHandle xqueue_ = 0;
};

TEST_F(XSchedAdapter, stands_in_front_of_libhalhip) {
    Dl_info info{};
    ASSERT_NE(0, dladdr(dlsym(RTLD_DEFAULT, "HipQueueCreate"), &info));
    EXPECT_TRUE(std::string_view(info.dli_fname).ends_with("libxpreempt_xsched_adapter.so"))
        << info.dli_fname;
    EXPECT_EQ(kXSchedErrorInvalidValue, HipQueueCreate(nullptr, stream_));
    EXPECT_EQ(kXSchedErrorNotSupported, HipQueueCreate(&hwq_, nullptr));
    EXPECT_EQ(kXSchedSuccess, XPreemptHipQueueCreate(&hwq_, stream_));
    EXPECT_EQ(reinterpret_cast<HwQueueHandle>(stream_), hwq_);
    EXPECT_EQ(kXSchedSuccess, HipQueueCreate(&hwq_, stream_)) << "a second call changes nothing";
    EXPECT_EQ(kXSchedSuccess, HwQueueDestroy(hwq_));
}

TEST_F(XSchedAdapter, level_1_does_not_stop_the_queue) {
    create(kPreemptLevelBlock);
    EXPECT_EQ(kXSchedSuccess, XQueueSuspend(xqueue_, kQueueSuspendFlagSyncHwQueue));
    EXPECT_FALSE(is_stopped());
    EXPECT_EQ(kXSchedSuccess, XQueueResume(xqueue_, kQueueResumeFlagNone));
    destroy();
}

TEST_F(XSchedAdapter, levels_2_and_3_stop_and_start_the_queue) {
    for (const XPreemptLevel level : {kPreemptLevelDeactivate, kPreemptLevelInterrupt}) {
        create(level);
        for (const auto flags : {kQueueSuspendFlagNone, kQueueSuspendFlagSyncHwQueue}) {
            EXPECT_EQ(kXSchedSuccess, XQueueSuspend(xqueue_, flags));
            EXPECT_TRUE(is_stopped());
            EXPECT_EQ(kXSchedSuccess, XQueueResume(xqueue_, kQueueResumeFlagNone));
            EXPECT_FALSE(is_stopped());
        }
        destroy();
    }
}

TEST_F(XSchedAdapter, the_level_of_an_xqueue_can_be_changed) {
    create(kPreemptLevelBlock);
    EXPECT_EQ(kXSchedSuccess, XQueueSetPreemptLevel(xqueue_, kPreemptLevelInterrupt));
    EXPECT_EQ(kXSchedSuccess, XQueueSuspend(xqueue_, kQueueSuspendFlagNone));
    EXPECT_TRUE(is_stopped());
    EXPECT_EQ(kXSchedSuccess, XQueueResume(xqueue_, kQueueResumeFlagNone));
    destroy();
}

TEST_F(XSchedAdapter, an_xqueue_that_is_destroyed_leaves_its_queue_running) {
    create(kPreemptLevelInterrupt);
    EXPECT_EQ(kXSchedSuccess, XQueueSuspend(xqueue_, kQueueSuspendFlagNone));
    EXPECT_TRUE(is_stopped());
    EXPECT_EQ(kXSchedSuccess, XQueueDestroy(xqueue_));
    EXPECT_FALSE(is_stopped());
    EXPECT_EQ(kXSchedSuccess, HwQueueDestroy(hwq_));
}

TEST_F(XSchedAdapter, a_queue_that_another_stream_came_to_share_is_not_stopped) {
    void* others[3] = {};
    for (void*& other : others) // two queues for three streams
        ASSERT_EQ(0, hipStreamCreate(&other));
    EXPECT_EQ(0, hipStreamDestroy(std::exchange(stream_, others[0])));
    create(kPreemptLevelInterrupt);
    EXPECT_EQ(kXSchedSuccess, XQueueSuspend(xqueue_, kQueueSuspendFlagNone));
    EXPECT_TRUE(is_stopped());
    EXPECT_EQ(kXSchedSuccess, XQueueResume(xqueue_, kQueueResumeFlagNone));
    ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, others[2]));
    testing::internal::CaptureStderr();
    EXPECT_EQ(kXSchedSuccess, XQueueSuspend(xqueue_, kQueueSuspendFlagSyncHwQueue));
    EXPECT_FALSE(is_stopped());
    EXPECT_NE(std::string::npos,
              testing::internal::GetCapturedStderr().find("suspended at level 1"));
    EXPECT_EQ(kXSchedSuccess, XQueueResume(xqueue_, kQueueResumeFlagNone));
    destroy();
    EXPECT_EQ(0, hipStreamDestroy(others[1]));
    EXPECT_EQ(0, hipStreamDestroy(others[2]));
}

} // namespace
