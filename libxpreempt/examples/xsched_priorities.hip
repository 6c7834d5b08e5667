// SPDX-License-Identifier: MIT
// Written for XSched: two streams, two priorities, the local scheduler. Links -lpreempt -lhalhip.
#include <hip/hip_runtime.h>

#include <xsched/hip/hal.h>
#include <xsched/xsched.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::uint32_t factor = 1664525, summand = 1013904223, lanes = 64;

__global__ void walk(std::uint32_t* words, std::uint32_t rounds, std::uint32_t* started) {
    __hip_atomic_store(started, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    std::uint32_t value = words[threadIdx.x];
    for (std::uint32_t round = 0; round < rounds; ++round)
        value = value * factor + summand;
    words[threadIdx.x] = value;
}

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
    std::uint32_t rounds = 0;
    std::uint32_t* words = nullptr;
    std::uint32_t* started = nullptr; // in host memory
    hipStream_t stream = nullptr;
    XQueueHandle xq = 0;

    Task(std::uint32_t rounds_, Priority priority) : rounds(rounds_) {
        must(hipMalloc(&words, lanes * sizeof *words), "hipMalloc");
        must(hipMemset(words, 0, lanes * sizeof *words), "hipMemset");
        must(hipHostMalloc(&started, sizeof *started, hipHostMallocCoherent), "hipHostMalloc");
        *started = 0;
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
        walk<<<dim3(1), dim3(lanes), 0, reinterpret_cast<hipStream_t>(hwq)>>>(
            task->words, task->rounds, task->started);
        return hipGetLastError() == hipSuccess ? kXSchedSuccess : kXSchedErrorHardware;
    }
    // The value of all lanes, which began with 0.
    [[nodiscard]] bool right(unsigned launches) const {
        std::uint32_t value = 0;
        for (std::uint64_t round = 0; round < std::uint64_t{rounds} * launches; ++round)
            value = value * factor + summand;
        std::vector<std::uint32_t> found(lanes);
        must(hipMemcpyAsync(found.data(), words, lanes * sizeof *words, hipMemcpyDeviceToHost,
                            stream),
             "hipMemcpyAsync");
        must(hipStreamSynchronize(stream), "hipStreamSynchronize");
        for (const std::uint32_t lane : found)
            if (lane != value)
                return false;
        return true;
    }
};

XQueueState state_of(const Task& task) {
    XQueueState state = kQueueStateUnknown;
    must(XQueueQuery(task.xq, &state), "XQueueQuery");
    return state;
}

} // namespace

int main() {
    must(XHintSetScheduler(kSchedulerLocal, kPolicyHighestPriorityFirst), "XHintSetScheduler");
    // Both are long against the time in which the scheduler reacts.
    Task low(4000000, PRIORITY_DEFAULT), high(200000, PRIORITY_DEFAULT + 1);

    const HwCommandHandle long_one = low.submit();
    while (__atomic_load_n(low.started, __ATOMIC_RELAXED) == 0) {
    }
    constexpr unsigned launches = 3;
    for (unsigned i = 0; i + 1 < launches; ++i)
        high.submit();
    must(XQueueWait(high.xq, high.submit()), "XQueueWait");
    check(state_of(low) == kQueueStateReady,
          "the high one is served while the low one is not done");
    must(XQueueWait(low.xq, long_one), "XQueueWait");
    check(state_of(low) == kQueueStateIdle, "then the low one ends");
    check(high.right(launches), "the high one's result is right");
    check(low.right(1), "the low one's result is right");
    must(XHintSetScheduler(kSchedulerAppManaged, kPolicyUnknown), "XHintSetScheduler");
    must(XQueueDestroy(high.xq), "XQueueDestroy");
    must(XQueueDestroy(low.xq), "XQueueDestroy");
    return failures != 0;
}
