// SPDX-License-Identifier: MIT
// Two streams, two priorities: the long kernel of the low one is stopped while the high one works.
//
//   two_priorities [--level block|deactivate|interrupt] [--own-queue] [--rounds N]
//
// The rule is the whole scheduler: high work suspends low work, and resumes it when it is done.
#include <xpreempt/xpreempt.h>

#include "sequence.hpp"

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>
#include <vector>

namespace {

constexpr unsigned lanes = 64;

__global__ void walk(std::uint32_t* words, std::uint32_t rounds, std::uint32_t* started) {
    const std::uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index == 0)
        __hip_atomic_store(started, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    std::uint32_t value = words[index];
    for (std::uint32_t round = 0; round < rounds; ++round)
        value = step(value);
    words[index] = value;
}

int failures = 0;

void check(bool good, const char* what) {
    std::printf("%s - %s\n", good ? "ok" : "not ok", what);
    failures += good ? 0 : 1;
}

void must(hipError_t error, const char* call) {
    if (error == hipSuccess)
        return;
    std::printf("Bail out! %s: %s\n", call, hipGetErrorString(error));
    std::exit(1);
}

void must(int error, const char* call) {
    if (error == 0)
        return;
    std::printf("Bail out! %s: %s; %s\n", call, std::strerror(-error), xp_last_detail());
    std::exit(1);
}

struct Job {
    std::vector<std::uint32_t> before;
    std::uint32_t* words = nullptr;
    std::uint32_t* started = nullptr; // in host memory
    std::uint32_t rounds = 0;
    hipStream_t stream = nullptr;
    xp_xqueue_t xqueue{};

    Job(unsigned blocks, std::uint32_t rounds_, bool own_queue, const xp_xqueue_options& options)
        : before(blocks * lanes), rounds(rounds_) {
        for (std::size_t i = 0; i < before.size(); ++i)
            before[i] = static_cast<std::uint32_t>(i * 2654435761U);
        const std::size_t bytes = before.size() * sizeof(std::uint32_t);
        must(hipMalloc(&words, bytes), "hipMalloc");
        must(hipHostMalloc(&started, sizeof *started, 0), "hipHostMalloc");
        *started = 0;
        must(hipMemcpy(words, before.data(), bytes, hipMemcpyHostToDevice), "hipMemcpy");
        if (own_queue)
            must(xp_stream_create(reinterpret_cast<void**>(&stream)), "xp_stream_create");
        else
            must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), "hipStreamCreate");
        must(xp_xqueue_create(stream, &options, &xqueue), "xp_xqueue_create");
    }

    static int launch(void* stream, void* argument) {
        auto* job = static_cast<Job*>(argument);
        walk<<<dim3(static_cast<unsigned>(job->before.size()) / lanes), dim3(lanes), 0,
               static_cast<hipStream_t>(stream)>>>(job->words, job->rounds, job->started);
        return hipGetLastError();
    }

    // At the end of a program HIP frees memory of the queues of xp_stream_create() and leaves the
    // queues themselves on the GPU, so the program destroys the streams before.
    void destroy() {
        must(xp_xqueue_destroy(xqueue), "xp_xqueue_destroy");
        must(hipStreamDestroy(stream), "hipStreamDestroy");
        must(hipHostFree(started), "hipHostFree");
        must(hipFree(words), "hipFree");
    }

    // On the job's own stream: hipMemcpy() is on the null stream, which waits for every stream that
    // was not created as non-blocking, also for one that is held.
    [[nodiscard]] bool right() const {
        std::vector<std::uint32_t> after(before.size());
        must(hipMemcpyAsync(after.data(), words, after.size() * sizeof after[0],
                            hipMemcpyDeviceToHost, stream),
             "hipMemcpyAsync");
        must(hipStreamSynchronize(stream), "hipStreamSynchronize");
        for (std::size_t i = 0; i < after.size(); ++i)
            if (after[i] != value_after(before[i], rounds))
                return false;
        return true;
    }
};

void describe(const char* name, const Job& job) {
    xp_stream_info info{};
    info.sz = sizeof info;
    if (xp_stream_query(job.stream, &info) != 0) {
        std::printf("# %s: %s\n", name, xp_last_detail());
        return;
    }
    std::printf("# %s: KFD queue %u of GPU %u, %u stream(s) on it, level %u %s\n", name,
                info.kfd_queue_id, info.gpu_id, info.num_sharing, info.level, info.reason);
}

xp_xqueue_stats statistics(const Job& job) {
    xp_xqueue_stats stats{};
    stats.sz = sizeof stats;
    must(xp_xqueue_get_stats(job.xqueue, &stats), "xp_xqueue_get_stats");
    return stats;
}

// The scheduling rule: no low work runs while there is high work. The caller resumes the low
// stream.
void run_high(Job& low, Job& high, std::uint32_t& level) {
    std::uint64_t ticket = 0;
    must(xp_xqueue_suspend(low.xqueue, XP_SUSPEND_EXACT, &level), "xp_xqueue_suspend");
    must(xp_xqueue_submit(high.xqueue, Job::launch, &high, &ticket), "xp_xqueue_submit");
    must(xp_xqueue_wait(high.xqueue, ticket), "xp_xqueue_wait");
}

std::uint32_t level_of(const char* name) {
    const char* names[] = {"block", "deactivate", "interrupt"};
    for (std::uint32_t i = 0; i < 3; ++i)
        if (std::strcmp(name, names[i]) == 0)
            return i + 1;
    std::fprintf(stderr, "two_priorities: --level %s: use block, deactivate or interrupt\n", name);
    std::exit(2);
}

} // namespace

int main(int argc, char** argv) {
    xp_xqueue_options options{};
    options.sz = sizeof options;
    options.max_level = XP_LEVEL_INTERRUPT;
    std::uint32_t rounds = 300000;
    bool own_queue = false;
    for (int i = 1; i < argc; ++i) {
        if (std::strcmp(argv[i], "--own-queue") == 0) {
            own_queue = true;
        } else if (std::strcmp(argv[i], "--level") == 0 && i + 1 < argc) {
            options.max_level = level_of(argv[++i]);
        } else if (std::strcmp(argv[i], "--rounds") == 0 && i + 1 < argc) {
            rounds = static_cast<std::uint32_t>(std::strtoul(argv[++i], nullptr, 0));
        } else {
            std::fprintf(stderr, "usage: two_priorities [--level LEVEL] [--own-queue] [--rounds N]\n");
            return 2;
        }
    }

    xp_probe_info probe{};
    probe.sz = sizeof probe;
    must(xp_probe(&probe), "xp_probe");
    std::printf("# transport %u, hook %s %s\n", probe.transport,
                probe.hook_loaded != 0 ? "loaded" : "missing", probe.reason);

    Job low(16, rounds, own_queue, options);
    Job high(1, 100, own_queue, options);
    describe("low", low);
    describe("high", high);

    std::uint64_t ticket = 0;
    must(xp_xqueue_submit(low.xqueue, Job::launch, &low, &ticket), "xp_xqueue_submit");
    while (__atomic_load_n(low.started, __ATOMIC_ACQUIRE) == 0)
        usleep(1000);

    std::uint32_t level = 0;
    run_high(low, high, level);
    check(high.right(), "the high kernel's result is right");
    check(level == options.max_level, "the low stream was suspended at the level wanted");
    if (level == XP_LEVEL_INTERRUPT)
        check(hipStreamQuery(low.stream) == hipErrorNotReady,
              "the low kernel is unfinished after the high one has finished");
    must(xp_xqueue_resume(low.xqueue), "xp_xqueue_resume");
    must(xp_xqueue_wait(low.xqueue, ticket), "xp_xqueue_wait");
    check(low.right(), "the low kernel's result is right");

    const xp_xqueue_stats stats = statistics(low);
    check(stats.hw_failures == 0, "no stop or start was refused");
    std::printf("# low: suspend took %.3f ms, resume %.3f ms of the caller's time\n",
                static_cast<double>(stats.last_suspend_ns) / 1e6,
                static_cast<double>(stats.last_resume_ns) / 1e6);
    low.destroy();
    high.destroy();
    std::printf("%s\n", failures == 0 ? "passed" : "failed");
    return failures == 0 ? 0 : 1;
}
