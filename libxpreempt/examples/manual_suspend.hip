// SPDX-License-Identifier: MIT
// Suspend and resume by hand: a kernel stands still where it is, and ends right all the same.
#include <xpreempt/xpreempt.h>

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::uint32_t factor = 1664525, summand = 1013904223, lanes = 64, rounds = 2000000;

// started: in host memory. Every lane walks a sequence.
__global__ void walk(std::uint32_t* words, std::uint32_t* started) {
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

void must(bool good, const char* call) {
    if (good)
        return;
    std::printf("Bail out! %s: %s\n", call, xp_last_detail());
    std::exit(1);
}

struct Work {
    std::uint32_t* words = nullptr;
    std::uint32_t* started = nullptr;
};

int launch(void* stream, void* argument) {
    const auto* work = static_cast<const Work*>(argument);
    walk<<<dim3(1), dim3(lanes), 0, static_cast<hipStream_t>(stream)>>>(work->words, work->started);
    return hipGetLastError();
}

} // namespace

int main() {
    Work work;
    std::vector<std::uint32_t> before(lanes), after(lanes);
    for (std::uint32_t lane = 0; lane < lanes; ++lane)
        before[lane] = lane * 2654435761U;
    const std::size_t bytes = lanes * sizeof(std::uint32_t);
    must(hipMalloc(&work.words, bytes) == hipSuccess, "hipMalloc");
    must(hipHostMalloc(&work.started, sizeof *work.started, hipHostMallocCoherent) == hipSuccess,
         "hipHostMalloc");
    *work.started = 0;
    must(hipMemcpy(work.words, before.data(), bytes, hipMemcpyHostToDevice) == hipSuccess,
         "hipMemcpy");

    void* stream = nullptr; // with a queue of its own: nobody else stands still with it
    must(xp_stream_create(&stream) == 0, "xp_stream_create");
    xp_xqueue_t xqueue{};
    must(xp_xqueue_create(stream, nullptr, &xqueue) == 0, "xp_xqueue_create");
    std::uint64_t ticket = 0;
    must(xp_xqueue_submit(xqueue, launch, &work, &ticket) == 0, "xp_xqueue_submit");
    while (__atomic_load_n(work.started, __ATOMIC_RELAXED) == 0) {
    }
    must(xp_xqueue_suspend(xqueue, XP_SUSPEND_EXACT, nullptr) == 0, "xp_xqueue_suspend");
    check(hipStreamQuery(static_cast<hipStream_t>(stream)) == hipErrorNotReady,
          "the kernel has begun, and stands still");
    must(xp_xqueue_resume(xqueue) == 0, "xp_xqueue_resume");
    check(xp_xqueue_wait(xqueue, ticket) == 0, "resumed, it ends");
    check(xp_xqueue_destroy(xqueue) == 0, "the xqueue is destroyed");
    must(hipMemcpy(after.data(), work.words, bytes, hipMemcpyDeviceToHost) == hipSuccess,
         "hipMemcpy");
    bool right = true;
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        std::uint32_t value = before[lane];
        for (std::uint32_t round = 0; round < rounds; ++round)
            value = value * factor + summand;
        right = right && after[lane] == value;
    }
    check(right, "every lane has the right value");
    check(xp_stream_destroy(stream) == 0, "the stream is destroyed");
    return failures != 0;
}
