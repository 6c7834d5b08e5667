// SPDX-License-Identifier: MIT
// HipQueueCreate() in front of XSched's, for programs that call it and for libshimhip, which does.
#include "hip_queue_create.hpp"

#include "kfd_hip_queue.hpp"

#include "xsched/hip/hal/hal.h"
#include "xsched/preempt/hal/hw_queue.h"
#include "xsched/utils/log.h"

#include <memory>
#include <xpreempt/stream.h>

using xsched::preempt::HwQueueManager;

XResult XPreemptHipQueueCreate(HwQueueHandle* hwq, hipStream_t stream) {
    if (hwq == nullptr) {
        XWARN("HipQueueCreate failed: hwq is null");
        return kXSchedErrorInvalidValue;
    }
    if (stream == nullptr) {
        XWARN("HipQueueCreate failed: the default stream's handle would be XSched's \"none\"");
        return kXSchedErrorNotSupported;
    }
    const HwQueueHandle handle = xsched::hip::GetHwQueueHandle(stream);
    // Before Add(), which holds XSched's table of queues: a touch calls HIP, and libshimhip looks
    // the stream up in that table. If it fails the stream has level 1, and XSched is told so.
    if (HwQueueManager::Get(handle) == nullptr)
        (void)xp_stream_touch(stream);
    const XResult added = HwQueueManager::Add(
        handle, [stream] { return std::make_shared<xpreempt::adapter::KfdHipQueue>(stream); });
    if (added == kXSchedSuccess)
        *hwq = handle;
    return added;
}

extern "C" __attribute__((visibility("default"))) XResult HipQueueCreate(HwQueueHandle* hwq,
                                                                         hipStream_t stream) {
    return XPreemptHipQueueCreate(hwq, stream);
}
