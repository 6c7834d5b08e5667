// SPDX-License-Identifier: MIT
// Cost of the C interface, on a HIP runtime that does nothing.
#include <xpreempt/xpreempt.h>

#include <benchmark/benchmark.h>

namespace {

int nothing(void*, void*) {
    return 0;
}

xp_xqueue_t make_xqueue(benchmark::State& state) {
    xp_xqueue_options options{};
    options.sz = sizeof options;
    options.capacity = 1U << 20;
    options.max_level = XP_LEVEL_BLOCK;
    xp_xqueue_t xqueue{};
    int stream = 0; // the runtime looks at no handle
    if (xp_xqueue_create(&stream, &options, &xqueue) != 0)
        state.SkipWithError(xp_last_detail());
    return xqueue;
}

void submit_inline(benchmark::State& state) {
    const xp_xqueue_t xqueue = make_xqueue(state);
    for ([[maybe_unused]] auto step : state)
        benchmark::DoNotOptimize(xp_xqueue_submit(xqueue, nothing, nullptr, nullptr));
    xp_xqueue_destroy(xqueue);
}
BENCHMARK(submit_inline);

void submit_queued(benchmark::State& state) {
    const xp_xqueue_t xqueue = make_xqueue(state);
    xp_xqueue_suspend(xqueue, 0, nullptr);
    for ([[maybe_unused]] auto step : state)
        benchmark::DoNotOptimize(xp_xqueue_submit(xqueue, nothing, nullptr, nullptr));
    xp_xqueue_destroy(xqueue);
}
BENCHMARK(submit_queued)->Iterations(500000);

void suspend_and_resume_idle(benchmark::State& state) {
    const xp_xqueue_t xqueue = make_xqueue(state);
    for ([[maybe_unused]] auto step : state) {
        xp_xqueue_suspend(xqueue, 0, nullptr);
        xp_xqueue_resume(xqueue);
    }
    xp_xqueue_destroy(xqueue);
}
BENCHMARK(suspend_and_resume_idle);

} // namespace

BENCHMARK_MAIN();
