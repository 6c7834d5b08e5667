// SPDX-License-Identifier: MIT
// Bad instructions and bad addresses: what the trap handler finds, and that the wave stays.
#include "tests/sq/support/assembler.hpp"
#include "tests/sq/support/gpu.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace vgpu::test {

namespace {

// SQ_WAVE_TRAPSTS of gc_9_4_3_sh_mask.h.
constexpr std::uint32_t mem_viol = 1U << 8;
constexpr std::uint32_t illegal_inst = 1U << 11;
constexpr std::uint32_t xnack_error = 1U << 28;

// As a runtime's second level does it: writes down why, tells the driver, halts the wave.
std::vector<std::uint32_t> halting_handler() {
    return assemble(R"(
        s_getreg_b32 ttmp2, hwreg(HW_REG_TRAPSTS)
        s_store_dword ttmp2, s[4:5], 0x0
        s_store_dwordx2 ttmp[0:1], s[4:5], 0x8
        s_mov_b32 ttmp3, m0
        s_movk_i32 m0, 0x123
        s_nop 0
        s_sendmsg sendmsg(MSG_INTERRUPT)
        s_mov_b32 m0, ttmp3
        s_bitset1_b32 ttmp12, 13
        s_and_b32 ttmp1, ttmp1, 0xffff
        s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
        s_rfe_b64 ttmp[0:1])");
}

class Failing {
public:
    explicit Failing(const std::string& text) {
        constexpr std::uint64_t second_level = Gpu::trap_va + 0x4000;
        const std::vector<std::uint32_t> handler = halting_handler();
        gpu.load_trap_handler();
        std::memcpy(gpu.memory.at(second_level), handler.data(), handler.size() * 4);
        set_pair(Gpu::tma_va, second_level);
        set_pair(Gpu::kernarg_va, Gpu::data_va);
        Kernel kernel;
        kernel.code = assemble("s_load_dwordx2 s[4:5], s[0:1], 0x0\n" + text + "\n s_endpgm");
        gpu.array().bind(gpu.queue());
        EXPECT_TRUE(gpu.array().dispatch(0, gpu.packet({}, gpu.load_kernel(kernel))));
        gpu.run_all();
    }
    std::uint32_t trapsts() { return gpu.memory.word(Gpu::data_va); }
    // From the kernel's first instruction.
    std::uint64_t pc() {
        const std::uint64_t high = gpu.memory.word(Gpu::data_va + 12) & 0xffff;
        return (gpu.memory.word(Gpu::data_va + 8) | high << 32) - (Gpu::code_va + 256);
    }
    Gpu gpu;

private:
    void set_pair(std::uint64_t va, std::uint64_t value) {
        gpu.memory.set_word(va, static_cast<std::uint32_t>(value));
        gpu.memory.set_word(va + 4, static_cast<std::uint32_t>(value >> 32));
    }
};

constexpr std::uint32_t every_reason = mem_viol | illegal_inst | xnack_error;

} // namespace

TEST(Exception, an_illegal_instruction_reaches_the_trap_handler) {
    Failing run("s_nop 0\n .long 0xd3ff0000, 0");
    EXPECT_EQ(run.trapsts() & every_reason, illegal_inst);
    EXPECT_EQ(run.pc(), 12U);
    EXPECT_EQ(run.gpu.failed_waves, 1U);
    EXPECT_EQ(run.gpu.memory_faults, 0U);
    EXPECT_EQ(run.gpu.unmodelled_texts.size(), 1U); // it may be one we don't know
    EXPECT_EQ(run.gpu.interrupts, (std::vector<std::uint32_t>{0x123}));
}

TEST(Exception, a_failed_translation_is_a_memory_violation_with_xnack_error) {
    Failing run("v_mov_b32 v2, 0x1000\n v_mov_b32 v3, 0\n global_load_dword v4, v[2:3], off");
    EXPECT_EQ(run.trapsts() & every_reason, mem_viol | xnack_error);
    EXPECT_EQ(run.pc(), 20U);
    EXPECT_EQ(run.gpu.memory_faults, 1U);
    EXPECT_TRUE(run.gpu.unmodelled_texts.empty());
}

TEST(Exception, an_address_in_no_aperture_is_a_memory_violation_alone) {
    Failing run("v_mov_b32 v2, 0x1000\n v_mov_b32 v3, 0x30000\n flat_load_dword v4, v[2:3]");
    EXPECT_EQ(run.trapsts() & every_reason, mem_viol);
    Failing scratch("scratch_load_dword v4, off, off"); // no scratch was given
    EXPECT_EQ(scratch.trapsts() & every_reason, mem_viol);
}

// The wave neither ends nor continues; it can be saved and restored as any other.
TEST(Exception, a_halted_wave_stays_through_saves) {
    for (const char* text : {".long 0xd3ff0000, 0", "v_mov_b32 v2, 0x1000\n v_mov_b32 v3, 0\n"
                                                    " global_load_dword v4, v[2:3], off"}) {
        Failing run(text);
        for (unsigned round = 0; round < 3; ++round) {
            EXPECT_TRUE(run.gpu.completed.empty());
            EXPECT_FALSE(run.gpu.array().stopped(0));
            EXPECT_EQ(run.gpu.array().run(100), 0U);
            const SavedQueue saved = run.gpu.save();
            EXPECT_EQ(saved.waves, 1U);
            run.gpu.replace_array();
            ASSERT_TRUE(run.gpu.restore(saved));
            run.gpu.run_all();
        }
        EXPECT_EQ(run.gpu.failed_waves, 1U);
        EXPECT_EQ(run.gpu.interrupts.size(), 1U);
    }
}

} // namespace vgpu::test
