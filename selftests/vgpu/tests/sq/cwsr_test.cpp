// SPDX-License-Identifier: MIT
// Stop at any instruction, save by the driver's trap handler, forget, restore, go on.
#include "tests/sq/cwsr_kernels.hpp"
#include "tests/sq/support/assembler.hpp"
#include "tests/sq/support/gpu.hpp"

#include <gtest/gtest.h>

#include <random>

namespace vgpu::test {

namespace {

constexpr unsigned workgroups = 3;
constexpr std::size_t output_bytes = workgroups * 128 * 4;

// One run of the exchange kernel, ready to start.
class Exchange {
public:
    explicit Exchange(std::uint32_t iterations, ShaderArray::Config config = {}) : gpu(config) {
        static const std::vector<std::uint32_t> code = assemble(exchange_kernel());
        Kernel kernel;
        kernel.code = code;
        gpu.load_trap_handler();
        const std::uint64_t object = gpu.load_kernel(kernel);
        gpu.memory.set_word(Gpu::kernarg_va, static_cast<std::uint32_t>(Gpu::data_va));
        gpu.memory.set_word(Gpu::kernarg_va + 4, static_cast<std::uint32_t>(Gpu::data_va >> 32));
        gpu.memory.set_word(Gpu::kernarg_va + 8, iterations);
        gpu.array().bind(gpu.queue());
        Grid grid;
        grid.x = workgroups * 128;
        grid.group_x = 128;
        grid.lds_bytes = 512;
        EXPECT_TRUE(gpu.array().dispatch(0, gpu.packet(grid, object, 5)));
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
};

struct Reference {
    std::vector<std::byte> output;
    std::uint64_t instructions;
};

Reference undisturbed(std::uint32_t iterations) {
    Exchange run(iterations);
    const std::uint64_t instructions = run.gpu.run_all();
    run.expect_clean_end();
    return {run.output(), instructions};
}

} // namespace

TEST(Cwsr, kernel_computes_what_the_host_computes) {
    constexpr std::uint32_t iterations = 4;
    Exchange run(iterations);
    run.gpu.run_all();
    run.expect_clean_end();
    for (unsigned group = 0; group < workgroups; ++group) {
        std::vector<std::uint32_t> v3(128), v31(128), a3(128);
        for (std::uint32_t lane = 0; lane < 128; ++lane) {
            v3[lane] = a3[lane] = lane + 7;
        }
        std::uint32_t s40 = 0;
        std::uint32_t s90 = 0x12345678;
        for (std::uint32_t s18 = iterations; s18 != 0; --s18) {
            std::vector<std::uint32_t> lds(128);
            for (std::uint32_t lane = 0; lane < 128; ++lane) {
                lds[lane] = s18 + v3[lane];
            }
            for (std::uint32_t lane = 0; lane < 128; ++lane) {
                const std::uint32_t v5 = lds[lane ^ 64];
                const bool vcc = 20 < lane;
                if (vcc) {
                    v31[lane] += v5;
                    a3[lane] += v31[lane];
                }
                v3[lane] = v3[lane] * (vcc ? v5 : 3) + s90 + lane;
            }
            const std::uint64_t sum = std::uint64_t{s90} + s18;
            s90 = static_cast<std::uint32_t>(sum);
            s40 += 0x77 + static_cast<std::uint32_t>(sum >> 32);
        }
        for (std::uint32_t lane = 0; lane < 128; ++lane) {
            const std::uint32_t expected =
                (((a3[lane] ^ s40) + lane + 0x77) + v31[lane]) ^ v3[lane];
            ASSERT_EQ(run.gpu.memory.word(Gpu::data_va + (group * 128 + lane) * 4), expected)
                << "group " << group << " lane " << lane;
        }
    }
}

// Registers, LDS and hardware state travel through memory, by code that is not ours.
TEST(Cwsr, save_runs_the_trap_handler_of_the_driver) {
    Exchange run(2);
    run.gpu.array().run(150);
    const SavedQueue saved = run.gpu.save();
    EXPECT_EQ(saved.waves, 6U);
    EXPECT_GT(saved.handler_instructions, 6U * 300);
    // 48 VGPRs, 112 SGPRs and 128 bytes for each wave, 512 bytes of LDS for each workgroup.
    EXPECT_EQ(saved.wave_state_bytes, 6U * (48 * 256 + 112 * 4 + 128) + 3 * 512);
    EXPECT_FALSE(saved.control_stack.empty());
    EXPECT_TRUE(run.gpu.completed.empty());
}

TEST(Cwsr, every_instruction_of_a_short_kernel_can_be_the_last_before_a_save) {
    const Reference reference = undisturbed(2);
    for (std::uint64_t k = 0; k <= reference.instructions; ++k) {
        Exchange run(2);
        ASSERT_EQ(run.gpu.array().run(k), k);
        ASSERT_TRUE(run.gpu.save_and_restore()) << "after instruction " << k;
        run.gpu.run_all();
        run.expect_clean_end();
        ASSERT_EQ(run.output(), reference.output) << "after instruction " << k;
    }
}

} // namespace vgpu::test
