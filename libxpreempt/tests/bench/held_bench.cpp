// SPDX-License-Identifier: MIT
// Cost of a launch through the hook: hook and library as built, on the fake ROCm. A queue is
// emptied between the samples, as a GPU would do. By default while the queue of another stream is
// held; with XSCHED_AUTO_XQUEUE in the environment, of several threads whose streams are scheduled.
#include "fake/fake_rocm.hpp"
#include "hook/table.hpp"

#include <xpreempt/xpreempt.h>

#include <benchmark/benchmark.h>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <vector>

extern "C" {
int hipExtStreamCreateWithCUMask(void** stream, unsigned count, const unsigned* mask);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipModuleLaunchKernel(void* function, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, unsigned, void* stream, void**, void**);
}

namespace {

namespace hook = xpreempt::hook;

constexpr std::uint64_t write_dispatch_id = 0x38, read_dispatch_id = 0x80; // amd_queue_t

// The streams of all samples; each has a queue of its own. The first is the one that is held.
std::vector<void*> streams;

void* stream_of(std::size_t index) {
    const unsigned mask[2] = {~0U, 0x3f};
    while (streams.size() <= index) {
        void* stream = nullptr;
        if (hipExtStreamCreateWithCUMask(&stream, 2, mask) != 0 ||
            hipMemsetAsync(nullptr, 0, 4, stream) != 0)
            std::abort();
        streams.push_back(stream);
    }
    return streams[index];
}

void complete(void* stream) {
    hook::QueueRecord record{};
    if (xpreempt_hook_table()->stream_queue(stream, &record) != 0)
        std::abort();
    const auto index = [&](std::uint64_t offset) {
        return reinterpret_cast<volatile std::uint64_t*>(record.hsa_queue + offset);
    };
    *index(read_dispatch_id) = *index(write_dispatch_id);
}

// Arguments: queues that there are, and whether the first is held.
void launch(benchmark::State& state) {
    constexpr int launches = 20; // fewer than a queue may have while another is held
    if (state.thread_index() == 0) {
        (void)stream_of(static_cast<std::size_t>(state.range(0)) - 1);
        if (state.range(1) != 0 &&
            xp_stream_hold(stream_of(0), XP_HOLD_LEAST(XP_LEVEL_INTERRUPT), nullptr) != 0)
            state.SkipWithError(xp_last_detail());
    }
    void* stream = nullptr;
    for ([[maybe_unused]] auto step : state) {
        if (stream == nullptr)
            stream = streams[static_cast<std::size_t>(state.thread_index()) + 1];
        complete(stream);
        const auto begin = std::chrono::steady_clock::now();
        for (int i = 0; i < launches; ++i)
            hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
        const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
        state.SetIterationTime(took.count() / launches);
    }
    if (state.thread_index() == 0 && state.range(1) != 0)
        (void)xp_stream_release(stream_of(0));
}

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// CPU time of the calling thread: there are more threads than cores. Many launches, because to read
// that clock is a system call.
void launch_scheduled(benchmark::State& state) {
    constexpr int launches = 500;
    if (state.thread_index() == 0)
        (void)stream_of(static_cast<std::size_t>(state.threads()) - 1);
    void* stream = nullptr;
    for ([[maybe_unused]] auto step : state) {
        if (stream == nullptr)
            stream = streams[static_cast<std::size_t>(state.thread_index())];
        complete(stream);
        const double begin = cpu_seconds();
        for (int i = 0; i < launches; ++i)
            hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
        // The benchmark divides by the number of threads.
        state.SetIterationTime((cpu_seconds() - begin) / launches * state.threads());
    }
}

void register_benchmarks() {
    if (std::getenv("XSCHED_AUTO_XQUEUE") != nullptr)
        benchmark::RegisterBenchmark("launch_scheduled", launch_scheduled)
            ->UseManualTime()
            ->Iterations(20)
            ->Threads(1)
            ->Threads(4)
            ->Threads(16);
    else
        benchmark::RegisterBenchmark("launch", launch)
            ->ArgNames({"queues", "held"})
            ->ArgsProduct({{3, 10, 32}, {0, 1}})
            ->UseManualTime()
            ->Threads(1)
            ->Threads(2);
}

} // namespace

int main(int argc, char** argv) {
    fake_driver()->patched = true;
    register_benchmarks();
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
    std::fflush(stdout);
    std::_Exit(0); // the fake completes no work on its own, so an exit would wait
}
