// SPDX-License-Identifier: MIT
// Written for XSched: two streams, two priorities, the local scheduler. Links -lpreempt -lhalhip.
#include "walk.hpp"

#include <xsched/hip/hal.h>
#include <xsched/xsched.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

int failures = 0;

void check(bool good, const char* what) {
    std::printf("%s - %s\n", good ? "ok" : "not ok", what);
    failures += good ? 0 : 1;
}

void must(int error, const char* call) {
    if (error == 0)
        return;
    std::printf("Bail out! %s: %d\n", call, error);
    std::exit(1);
}

struct Task {
    Walk* work = nullptr;
    hipStream_t stream = nullptr;
    XQueueHandle xq = 0;

    explicit Task(Priority priority) {
        must(hipHostMalloc(&work, sizeof *work, hipHostMallocCoherent), "hipHostMalloc");
        *work = {};
        must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreateWithFlags");
        HwQueueHandle hwq = 0;
        must(HipQueueCreate(&hwq, stream), "HipQueueCreate");
        must(XQueueCreate(&xq, hwq, kPreemptLevelInterrupt, kQueueCreateFlagNone), "XQueueCreate");
        must(XQueueSetLaunchConfig(xq, 8, 4), "XQueueSetLaunchConfig");
        must(XHintPriority(xq, priority), "XHintPriority");
    }
    HwCommandHandle submit() {
        HwCommandHandle command = 0;
        must(HwCommandCreateCallback(&command, launch, this), "HwCommandCreateCallback");
        must(XQueueSubmit(xq, command), "XQueueSubmit");
        return command;
    }
    static XResult launch(HwQueueHandle hwq, void* data) {
        const auto* task = static_cast<const Task*>(data);
        walk<<<dim3(1), dim3(lanes), 0, reinterpret_cast<hipStream_t>(hwq)>>>(task->work);
        return hipGetLastError() == hipSuccess ? kXSchedSuccess : kXSchedErrorHardware;
    }
    // Ends the kernel.
    void end(HwCommandHandle command) const {
        __atomic_store_n(&work->end, 1, __ATOMIC_RELAXED);
        must(XQueueWait(xq, command), "XQueueWait");
    }
};

// Whether one makes no round while the other one makes many; they have a GPU for both.
bool stands_still(const Task& task, const Task& other) {
    constexpr std::uint32_t many = 200000;
    const std::uint32_t stood = rounds_of(*task.work), begin = rounds_of(*other.work);
    while (rounds_of(*other.work) - begin < many) {
    }
    return rounds_of(*task.work) == stood;
}

XQueueState state_of(const Task& task) {
    XQueueState state = kQueueStateUnknown;
    must(XQueueQuery(task.xq, &state), "XQueueQuery");
    return state;
}

} // namespace

int main() {
    must(XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst), "XHintSetScheduler");
    Task low(PRIORITY_DEFAULT), high(PRIORITY_DEFAULT + 1);

    const HwCommandHandle low_command = low.submit();
    while (rounds_of(*low.work) == 0) {
    }
    const HwCommandHandle high_command = high.submit();
    // The scheduler is a thread: it needs a moment.
    bool still = false;
    for (int i = 0; i < 100 && !still; ++i)
        still = stands_still(low, high);
    check(still, "the low one stands still while the high one is served");
    check(state_of(low) == kQueueStateReady, "and is not done");
    const std::uint32_t stood = rounds_of(*low.work);
    high.end(high_command);
    while (rounds_of(*low.work) == stood) {
    }
    low.end(low_command);
    check(state_of(low) == kQueueStateIdle, "then the low one continues and ends");
    check(is_right(*high.work), "the high one's result is right");
    check(is_right(*low.work), "the low one's result is right");
    must(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown), "XHintSetScheduler");
    must(XQueueDestroy(high.xq), "XQueueDestroy");
    must(XQueueDestroy(low.xq), "XQueueDestroy");
    return failures != 0;
}
