// SPDX-License-Identifier: MIT
// Queues of one process stopped and started together or one by one; and what that is predicted to
// cost. Prints TAP. usage: several_queues together|apart PAIRS
//
// The three kernels run until the host lets them, so that each stop finds waves on the GPU.
#include <xpreempt/xpreempt.h>

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace {

constexpr unsigned num_queues = 3;

__global__ void count_until(std::uint32_t* turns, const std::uint32_t* end) {
    std::uint32_t mine = 0;
    while (__hip_atomic_load(end, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) == 0)
        __hip_atomic_store(turns, ++mine, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    turns[1] = mine; // the same as turns[0], unless a turn was lost or done twice
}

int failures = 0;

void check(bool good, const char* what) {
    std::printf("%s - %s\n", good ? "ok" : "not ok", what);
    failures += good ? 0 : 1;
}

void must(int error, const char* call) {
    if (error == 0)
        return;
    std::printf("Bail out! %s: %d; %s\n", call, error, xp_last_detail());
    std::exit(1);
}

struct Work {
    hipStream_t stream = nullptr;
    std::uint32_t* words = nullptr; // turns, turns at the end, the host's word

    std::uint32_t turns() const { return __atomic_load_n(&words[0], __ATOMIC_ACQUIRE); }
    bool moves() const {
        const std::uint32_t before = turns();
        for (int ms = 0; ms < 30000; ++ms, usleep(1000))
            if (turns() != before)
                return true;
        return false;
    }
};

// Everything that HIP may wait for comes before the first kernel that doesn't end.
void prepare(Work& work) {
    void* stream = nullptr;
    must(xp_stream_create(&stream), "xp_stream_create");
    work.stream = static_cast<hipStream_t>(stream);
    must(hipHostMalloc(&work.words, 64, hipHostMallocCoherent), "hipHostMalloc");
    std::memset(work.words, 0, 64);
    // Touches the stream, so before a kernel runs.
    must(xp_stream_hold(stream, 0, nullptr), "xp_stream_hold");
    must(xp_stream_release(stream), "xp_stream_release");
}

void start(Work& work) {
    count_until<<<1, 1, 0, work.stream>>>(work.words, work.words + 2);
    must(hipGetLastError(), "launch");
    check(work.moves(), "the kernel runs");
}

void stop_and_start(Work (&work)[num_queues], bool together) {
    constexpr unsigned stop = XP_HOLD_LEAST(XP_LEVEL_INTERRUPT);
    void* streams[num_queues];
    for (unsigned i = 0; i < num_queues; ++i)
        streams[i] = work[i].stream;
    if (together) {
        must(xp_streams_hold(streams, num_queues, stop, nullptr), "xp_streams_hold");
    } else {
        for (void* stream : streams)
            must(xp_stream_hold(stream, stop, nullptr), "xp_stream_hold");
    }
    bool still = true;
    std::uint32_t turns[num_queues];
    for (unsigned i = 0; i < num_queues; ++i)
        turns[i] = work[i].turns();
    usleep(2000);
    for (unsigned i = 0; i < num_queues; ++i)
        still = still && work[i].turns() == turns[i];
    if (together) {
        must(xp_streams_release(streams, num_queues), "xp_streams_release");
    } else {
        for (void* stream : streams)
            must(xp_stream_release(stream), "xp_stream_release");
    }
    bool move = true;
    for (const Work& one : work)
        move = move && one.moves();
    if (!still || !move)
        check(false, still ? "all queues continue" : "all queues are stopped");
}

// The shape of the software GPU, as its topology says it.
void check_prediction(const Work& work) {
    xp_prediction cost{};
    cost.sz = sizeof cost;
    must(xp_stream_predict(work.stream, &cost), "xp_stream_predict");
    std::printf("# predicted: %u CUs on %u XCC, full %llu B, light %llu B; memory %u (%s), %llu MB/s; "
                "full %.1f to %.1f us, light %.1f us\n",
                cost.compute_units, cost.xccs, static_cast<unsigned long long>(cost.full_bytes),
                static_cast<unsigned long long>(cost.light_bytes), cost.memory, cost.memory_reason,
                static_cast<unsigned long long>(cost.memory_mbs), cost.full_us_least,
                cost.full_us_most, cost.light_us_most);
    xp_stream_info info{};
    info.sz = sizeof info;
    must(xp_stream_query(work.stream, &info), "xp_stream_query");
    std::printf("# ROCr's save area: %llu B for each XCC\n",
                static_cast<unsigned long long>(info.save_area_bytes));
    // Without what a debugger has in it, which isn't part of the area's size.
    check(cost.full_bytes > 0 && info.save_area_bytes * cost.xccs >= cost.full_bytes * 9 / 10,
          "the save area that ROCr made has room for what is predicted");
    check(cost.memory != XP_MEMORY_UNKNOWN, "it is known where the save area is");
    check(cost.memory_reason[0] != '\0', "it is said where the save area is, or why not");
}

} // namespace

int main(int argc, char** argv) {
    const bool together = argc == 3 && std::strcmp(argv[1], "together") == 0;
    if (argc != 3 || (!together && std::strcmp(argv[1], "apart") != 0)) {
        std::fprintf(stderr, "usage: several_queues together|apart PAIRS\n");
        return 2;
    }
    Work work[num_queues];
    for (Work& one : work)
        prepare(one);
    check_prediction(work[0]);
    for (Work& one : work)
        start(one);
    // Not counted: what the start cost.
    std::printf("# begin\n");
    std::fflush(stdout);
    for (unsigned long pairs = std::strtoul(argv[2], nullptr, 10); pairs > 0; --pairs)
        stop_and_start(work, together);
    std::printf("# end\n");
    std::fflush(stdout);
    for (Work& one : work) {
        __atomic_store_n(&one.words[2], 1U, __ATOMIC_RELEASE);
        must(hipStreamSynchronize(one.stream), "hipStreamSynchronize");
        check(one.words[0] == one.words[1] && one.words[1] > 0, "no turn was lost or done twice");
    }
    // At the end HIP would free memory of these queues and leave the queues on the GPU. Once all are idle, because
    // the end of a queue takes the others off the GPU, and the boot counts the saves.
    for (Work& one : work)
        must(xp_stream_destroy(one.stream), "xp_stream_destroy");
    return failures == 0 ? 0 : 1;
}
