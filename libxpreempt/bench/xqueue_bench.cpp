// SPDX-License-Identifier: MIT
// Cost of the engine alone: an XQueue on hardware that takes no time.
#include "xqueue/xqueue.hpp"

#include "null_hw_queue.hpp"

#include <benchmark/benchmark.h>
#include <memory>

namespace {

using xpreempt::xqueue::LaunchConfig;
using xpreempt::xqueue::Level;
using xpreempt::xqueue::XQueue;

constexpr std::uint32_t many = 500000;

int nothing(void*, void*) {
    return 0;
}

std::unique_ptr<XQueue> make_queue(Level highest) {
    return std::make_unique<XQueue>(std::make_unique<bench::NullHwQueue>(),
                                    LaunchConfig{16, 8, many + 1}, highest);
}

// Launched by the thread that submits.
void submit_inline(benchmark::State& state) {
    const auto queue = make_queue(Level::block);
    for ([[maybe_unused]] auto step : state)
        benchmark::DoNotOptimize(queue->submit({nothing, nullptr}));
}
BENCHMARK(submit_inline);

// Into a suspended queue: the caller's share of a command that another thread launches.
void submit_queued(benchmark::State& state) {
    const auto queue = make_queue(Level::block);
    (void)queue->suspend({});
    for ([[maybe_unused]] auto step : state)
        benchmark::DoNotOptimize(queue->submit({nothing, nullptr}));
}
BENCHMARK(submit_queued)->Iterations(many);

// CPU time of all threads, from the submit to the completion, of commands that the worker launches.
void end_to_end_queued(benchmark::State& state) {
    const auto queue = make_queue(Level::block);
    for ([[maybe_unused]] auto step : state) {
        (void)queue->suspend({});
        for (std::uint32_t i = 0; i < many; ++i)
            (void)queue->submit({nothing, nullptr});
        (void)queue->resume();
        (void)queue->wait_all();
    }
    state.SetItemsProcessed(state.iterations() * many);
}
BENCHMARK(end_to_end_queued)->MeasureProcessCPUTime()->Unit(benchmark::kMillisecond);

void suspend_and_resume_idle(benchmark::State& state) {
    const auto queue = make_queue(Level::block);
    for ([[maybe_unused]] auto step : state) {
        (void)queue->suspend({});
        (void)queue->resume();
    }
}
BENCHMARK(suspend_and_resume_idle);

void wait_for_a_completed_ticket(benchmark::State& state) {
    const auto queue = make_queue(Level::block);
    const auto ticket = queue->submit({nothing, nullptr});
    (void)queue->wait(*ticket);
    for ([[maybe_unused]] auto step : state)
        benchmark::DoNotOptimize(queue->wait(*ticket));
}
BENCHMARK(wait_for_a_completed_ticket);

} // namespace

BENCHMARK_MAIN();
