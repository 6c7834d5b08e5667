// SPDX-License-Identifier: MIT
// How fast waves run: counts wave instructions per second of host time, no GPU figure.
#include "tests/sq/cwsr_kernels.hpp"
#include "tests/sq/support/assembler.hpp"
#include "tests/sq/support/gpu.hpp"

#include <benchmark/benchmark.h>

namespace vgpu::test {

namespace {

void run_kernel(benchmark::State& state, const std::string& text, const Grid& grid) {
    Gpu gpu;
    gpu.load_trap_handler();
    Kernel kernel;
    kernel.code = assemble(text);
    const std::uint64_t object = gpu.load_kernel(kernel);
    gpu.memory.set_word(Gpu::kernarg_va, static_cast<std::uint32_t>(Gpu::data_va));
    gpu.memory.set_word(Gpu::kernarg_va + 4, static_cast<std::uint32_t>(Gpu::data_va >> 32));
    gpu.memory.set_word(Gpu::kernarg_va + 8, 1000);
    gpu.array().bind(gpu.queue());
    std::int64_t instructions = 0;
    for ([[maybe_unused]] auto _ : state) {
        gpu.array().dispatch(0, gpu.packet(grid, object));
        instructions += static_cast<std::int64_t>(gpu.run_all());
    }
    if (!gpu.unmodelled_texts.empty()) {
        state.SkipWithError(gpu.unmodelled_texts[0].c_str());
    }
    state.counters["wave_instructions"] =
        benchmark::Counter(static_cast<double>(instructions), benchmark::Counter::kIsRate);
}

Grid small_grid() {
    Grid grid;
    grid.x = 512;
    grid.group_x = 128;
    grid.lds_bytes = 512;
    return grid;
}

void exchange(benchmark::State& state) {
    run_kernel(state, exchange_kernel(), small_grid());
}

void scalar_loop(benchmark::State& state) {
    run_kernel(state, R"(
        s_movk_i32 s10, 10000
    loop:
        s_sub_u32 s10, s10, 1
        s_cmp_lg_u32 s10, 0
        s_cbranch_scc1 loop
        s_endpgm)",
               small_grid());
}

void vector_alu(benchmark::State& state) {
    run_kernel(state, R"(
        s_movk_i32 s10, 1000
        v_mov_b32 v1, 3
    loop:
        v_add_u32 v2, v1, v0
        v_mul_lo_u32 v3, v2, v1
        v_xor_b32 v1, v3, v2
        v_lshl_add_u32 v4, v1, 3, v2
        s_sub_u32 s10, s10, 1
        s_cmp_lg_u32 s10, 0
        s_cbranch_scc1 loop
        s_endpgm)",
               small_grid());
}

void memory_round_trip(benchmark::State& state) {
    run_kernel(state, R"(
        s_load_dwordx2 s[16:17], s[0:1], 0x0
        s_movk_i32 s10, 1000
        v_lshlrev_b32 v1, 2, v0
    loop:
        global_load_dword v2, v1, s[16:17]
        v_add_u32 v2, 1, v2
        global_store_dword v1, v2, s[16:17]
        s_sub_u32 s10, s10, 1
        s_cmp_lg_u32 s10, 0
        s_cbranch_scc1 loop
        s_endpgm)",
               small_grid());
}

void save_and_restore(benchmark::State& state) {
    Gpu gpu;
    gpu.load_trap_handler();
    Kernel kernel;
    kernel.code = assemble("loop:\n s_branch loop");
    const std::uint64_t object = gpu.load_kernel(kernel);
    gpu.array().bind(gpu.queue());
    gpu.array().dispatch(0, gpu.packet(small_grid(), object));
    gpu.array().run(1000);
    std::int64_t handler = 0;
    for ([[maybe_unused]] auto _ : state) {
        const SavedQueue saved = gpu.save();
        handler += static_cast<std::int64_t>(saved.handler_instructions);
        gpu.array().unbind(0);
        if (!gpu.restore(saved)) {
            state.SkipWithError("restore refused");
            break;
        }
        gpu.array().run(10000);
    }
    state.counters["save_instructions"] =
        benchmark::Counter(static_cast<double>(handler), benchmark::Counter::kAvgIterations);
}

BENCHMARK(scalar_loop)->Unit(benchmark::kMillisecond);
BENCHMARK(vector_alu)->Unit(benchmark::kMillisecond);
BENCHMARK(memory_round_trip)->Unit(benchmark::kMillisecond);
BENCHMARK(exchange)->Unit(benchmark::kMillisecond);
BENCHMARK(save_and_restore)->Unit(benchmark::kMillisecond);

} // namespace

} // namespace vgpu::test

BENCHMARK_MAIN();
