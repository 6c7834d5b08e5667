// SPDX-License-Identifier: MIT
// A HIP stream as XSched's hardware queue with levels 2 and 3: XSched's own, and its KFD queue.
#pragma once

#include "queue_hold.hpp"

#include "xsched/hip/hal/hip_queue.h"
#include "xsched/types.h"

namespace xpreempt::adapter {

// On AMD levels 2 and 3 are one: a queue is stopped by taking it off the hardware, which saves the
// waves that run. XSched calls Deactivate at both levels, so that is where it happens, and
// Reactivate undoes it. The command logs are not needed: nothing is lost, nothing launched again.
//
// XSched's verbs return nothing. A stop that is refused is reported, and the queue keeps running,
// as at level 1. libxpreempt retries a refused start.
class KfdHipQueue final : public xsched::hip::HipQueue {
public:
    // The stream should be mapped: xp_stream_touch().
    explicit KfdHipQueue(hipStream_t stream);

    // Returns at once while the queue is stopped, as its kernels cannot complete. If the stop was
    // refused, waits for the kernels, as at level 1; Deactivate has reported that.
    void Synchronize() override;
    void Deactivate() override;
    void Reactivate(const xsched::preempt::CommandLog& log) override;
    bool SupportDynamicLevel() override { return true; }
    XPreemptLevel GetMaxSupportedLevel() override;
    // XSched accepts any level when it creates an XQueue: reports one that cannot be reached.
    void OnPreemptLevelChange(XPreemptLevel level) override;

private:
    QueueHold hold_;
};

} // namespace xpreempt::adapter
