// SPDX-License-Identifier: MIT
// A stream with level 1: it is waited for, and cannot be stopped.
#pragma once

#include "xsched/hip/hal/hip.h"
#include "xsched/preempt/hal/hw_queue.h"

namespace xsched::hip {

class HipQueue : public preempt::HwQueue {
public:
    explicit HipQueue(hipStream_t stream) : kStream(stream) {}
    void Synchronize() override;

protected:
    const hipStream_t kStream;
};

} // namespace xsched::hip
