// SPDX-License-Identifier: MIT
// The exchange kernel on a test GPU, and what it computes undisturbed.
#pragma once

#include "tests/sq/cwsr_kernels.hpp"
#include "tests/sq/support/assembler.hpp"
#include "tests/sq/support/gpu.hpp"

#include <gtest/gtest.h>

namespace vgpu::test {

inline constexpr unsigned workgroups = 3;
inline constexpr std::size_t output_bytes = workgroups * 128 * 4;

// One run of the exchange kernel, ready to start.
class Exchange {
public:
    explicit Exchange(std::uint32_t iterations, ShaderArray::Config config = {},
                      std::uint32_t lds_bytes = 512)
        : gpu(config) {
        static const std::vector<std::uint32_t> code = assemble(exchange_kernel());
        Kernel kernel;
        kernel.code = code;
        gpu.load_trap_handler();
        object_ = gpu.load_kernel(kernel);
        gpu.memory.set_word(Gpu::kernarg_va, static_cast<std::uint32_t>(Gpu::data_va));
        gpu.memory.set_word(Gpu::kernarg_va + 4, static_cast<std::uint32_t>(Gpu::data_va >> 32));
        gpu.memory.set_word(Gpu::kernarg_va + 8, iterations);
        gpu.array().bind(gpu.queue());
        grid_.x = workgroups * 128;
        grid_.group_x = 128;
        grid_.lds_bytes = lds_bytes;
        EXPECT_TRUE(gpu.array().dispatch(0, second_packet(5)));
    }
    // The same dispatch again, as another packet.
    AqlDispatch second_packet(std::uint64_t index) const {
        return gpu.packet(grid_, object_, index);
    }

    std::vector<std::byte> output() {
        const std::byte* from = gpu.memory.at(Gpu::data_va);
        return {from, from + output_bytes};
    }
    // Nothing odd happened, and the dispatch completed once.
    void expect_clean_end() {
        EXPECT_EQ(gpu.completed, std::vector<std::uint64_t>{5});
        EXPECT_EQ(gpu.failed_waves, 0U);
        EXPECT_TRUE(gpu.unmodelled_texts.empty())
            << (gpu.unmodelled_texts.empty() ? "" : gpu.unmodelled_texts[0]);
        EXPECT_EQ(gpu.memory.faults, 0U);
    }

    Gpu gpu;

private:
    Grid grid_;
    std::uint64_t object_ = 0;
};

struct Reference {
    std::vector<std::byte> output;
    std::uint64_t instructions;
};

inline Reference undisturbed(std::uint32_t iterations) {
    Exchange run(iterations);
    const std::uint64_t instructions = run.gpu.run_all();
    run.expect_clean_end();
    return {run.output(), instructions};
}

} // namespace vgpu::test
