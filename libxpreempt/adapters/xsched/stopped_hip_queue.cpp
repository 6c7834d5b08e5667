// SPDX-License-Identifier: MIT
// Stops and starts the KFD queue of a stream for XSched.
#include "stopped_hip_queue.hpp"

#include "xsched/preempt/hal/hw_queue.h"

#include <memory>
#include <xpreempt/stream.h>

namespace xpreempt::adapter {

StoppedHipQueue::StoppedHipQueue(hipStream_t stream) : HipQueue(stream) {
    // A stream that was never used is on no queue yet.
    if (xp_stream_touch(stream) == 0)
        (void)xp_queue_open(stream, 0, &queue_); // leaves it 0 when the queue cannot be stopped
}

StoppedHipQueue::~StoppedHipQueue() {
    if (can_stop())
        xp_queue_close(queue_); // what is stopped runs again
}

void StoppedHipQueue::Synchronize() {
    if (!stopped_)
        HipQueue::Synchronize();
}

void StoppedHipQueue::Deactivate() {
    if (can_stop() && xp_queue_preempt(queue_) == 0)
        stopped_ = true;
}

void StoppedHipQueue::Reactivate(const xsched::preempt::CommandLog&) {
    if (stopped_ && xp_queue_resume(queue_) == 0)
        stopped_ = false;
}

} // namespace xpreempt::adapter

XResult XPreemptHipQueueCreate(HwQueueHandle* hwq, hipStream_t stream) {
    if (hwq == nullptr)
        return kXSchedErrorInvalidValue;
    if (stream == nullptr)
        return kXSchedErrorNotSupported; // its handle would be XSched's "none"
    const HwQueueHandle handle = xsched::hip::GetHwQueueHandle(stream);
    const XResult added = xsched::preempt::HwQueueManager::Add(
        handle, [stream] { return std::make_shared<xpreempt::adapter::StoppedHipQueue>(stream); });
    if (added == kXSchedSuccess)
        *hwq = handle;
    return added;
}
