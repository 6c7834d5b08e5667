// SPDX-License-Identifier: MIT
// A HIP stream as XSched's hardware queue with levels 2 and 3: XSched's own, whose KFD queue stops.
#pragma once

#include "xsched/hip/hal/hip_queue.h"
#include "xsched/types.h"

#include <atomic>
#include <xpreempt/queue.h>

namespace xpreempt::adapter {

// On AMD levels 2 and 3 are one: a queue is stopped by taking it off the hardware, which saves the
// waves that run. XSched calls Deactivate at both levels, so that is where it happens, and
// Reactivate undoes it. The command logs are not needed: nothing is lost, nothing launched again.
//
// XSched's verbs cannot fail; a stop that the driver refuses leaves the queue running, as level 1.
class StoppedHipQueue final : public xsched::hip::HipQueue {
public:
    explicit StoppedHipQueue(hipStream_t stream);
    ~StoppedHipQueue() override;
    StoppedHipQueue(const StoppedHipQueue&) = delete;
    StoppedHipQueue& operator=(const StoppedHipQueue&) = delete;

    // While the queue is stopped the stream cannot progress: XSched looks again after the resume.
    void Synchronize() override;
    void Deactivate() override;
    void Reactivate(const xsched::preempt::CommandLog& log) override;
    bool SupportDynamicLevel() override { return can_stop(); }
    XPreemptLevel GetMaxSupportedLevel() override {
        return can_stop() ? kPreemptLevelInterrupt : kPreemptLevelBlock;
    }

private:
    // Other streams may share the queue, or nothing here can stop one: xp_stream_query() tells why.
    bool can_stop() const { return queue_.handle != 0; }

    xp_queue_t queue_{};
    std::atomic<bool> stopped_{false};
};

} // namespace xpreempt::adapter

// As XSched's HipQueueCreate(); for programs and shims that want levels 2 and 3.
extern "C" XResult XPreemptHipQueueCreate(HwQueueHandle* hwq, hipStream_t stream);
