// SPDX-License-Identifier: MIT
// The trap handler beyond the plain save: every register, its store fallback, traps and messages.
#include "tests/sq/support/assembler.hpp"
#include "tests/sq/support/gpu.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>

namespace vgpu::test {

namespace {

void set_kernarg(Gpu& gpu) {
    gpu.memory.set_word(Gpu::kernarg_va, static_cast<std::uint32_t>(Gpu::data_va));
    gpu.memory.set_word(Gpu::kernarg_va + 4, static_cast<std::uint32_t>(Gpu::data_va >> 32));
}

std::string repeat(unsigned from, unsigned to, const std::function<std::string(unsigned)>& line) {
    std::string text;
    for (unsigned i = from; i < to; ++i) {
        text += line(i) + "\n";
    }
    return text;
}

// Gives every register a value of its own, waits, and stores them all. `middle` runs while all
// registers are in use; it may change s6 and s7 only.
std::string all_registers_kernel(const std::string& middle) {
    const auto number = [](unsigned i) { return std::to_string(i); };
    std::string text = "s_load_dwordx2 s[4:5], s[0:1], 0x0\n";
    text += repeat(10, 102, [&](unsigned i) {
        return "s_mov_b32 s" + number(i) + ", 0x5000" + number(100 + i);
    });
    text += repeat(1, 32, [&](unsigned i) {
        return "v_add_u32 v" + number(i) + ", 0x6000" + number(100 + i) + ", v0";
    });
    text += repeat(0, 16, [&](unsigned i) {
        return "v_add_u32 v1, 0x7000" + number(100 + i) + ", v0\n v_accvgpr_write_b32 a" +
               number(i) + ", v1";
    });
    text += R"(
        s_mov_b32 flat_scratch_lo, 0x11111111
        s_mov_b32 flat_scratch_hi, 0x22222222
        s_mov_b32 xnack_mask_lo, 0x33333333
        s_mov_b32 xnack_mask_hi, 0x44444444
        s_mov_b32 vcc_lo, 0x55555555
        s_mov_b32 vcc_hi, 0x66666666
        s_mov_b32 m0, 0x77777777
        s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 10), 0x2a5
        s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 0, 9), 0x0
        s_movk_i32 s6, 40
        s_mov_b32 exec_lo, 0x0f0f0f0f
        s_mov_b32 exec_hi, 0xf0000001
    )" + middle +
            R"(
    wait:
        s_sub_u32 s6, s6, 1
        s_cmp_lg_u32 s6, 0
        s_cbranch_scc1 wait
        s_mov_b32 s7, m0
        s_store_dword s7, s[4:5], 0x0
        s_mov_b64 s[6:7], exec
        s_store_dwordx2 s[6:7], s[4:5], 0x8
        s_store_dwordx2 vcc, s[4:5], 0x10
        s_store_dwordx2 flat_scratch, s[4:5], 0x18
        s_store_dwordx2 xnack_mask, s[4:5], 0x20
        s_getreg_b32 s7, hwreg(HW_REG_MODE)
        s_store_dword s7, s[4:5], 0x28
        s_getreg_b32 s7, hwreg(HW_REG_TRAPSTS, 0, 9)
        s_store_dword s7, s[4:5], 0x2c
        s_mov_b64 exec, -1
    )";
    text += repeat(10, 102, [&](unsigned i) {
        return "s_store_dword s" + number(i) + ", s[4:5], " + number(0x100 + i * 4);
    });
    // v0 is still the work-item id: it makes the address, then goes out itself.
    text += "s_add_u32 s4, s4, 0x1000\n s_addc_u32 s5, s5, 0\n";
    text += "v_accvgpr_read_b32 v1, a0\n v_accvgpr_write_b32 a0, v1\n"; // v1 is stored below
    text += "v_lshlrev_b32 v0, 2, v0\n";
    text += repeat(2, 32, [&](unsigned i) {
        return "global_store_dword v0, v" + number(i) + ", s[4:5]\n s_add_u32 s4, s4, 0x100";
    });
    text += repeat(0, 16, [&](unsigned i) {
        return "v_accvgpr_read_b32 v1, a" + number(i) +
               "\n global_store_dword v0, v1, s[4:5]\n s_add_u32 s4, s4, 0x100";
    });
    return text + "s_endpgm";
}

constexpr std::size_t first_acc_dump = 0x1000 + 30 * 0x100;
constexpr std::size_t dump_bytes = first_acc_dump + 16 * 0x100;

class OneWave {
public:
    OneWave(const std::vector<std::uint32_t>& code, std::uint32_t lds_bytes) {
        gpu.load_trap_handler();
        set_kernarg(gpu);
        Kernel kernel;
        kernel.code = code;
        Grid grid;
        grid.lds_bytes = lds_bytes;
        gpu.array().bind(gpu.queue());
        EXPECT_TRUE(gpu.array().dispatch(0, gpu.packet(grid, gpu.load_kernel(kernel))));
    }
    std::vector<std::byte> dump() {
        const std::byte* from = gpu.memory.at(Gpu::data_va);
        return {from, from + dump_bytes};
    }
    void expect_clean_end() {
        EXPECT_EQ(gpu.completed.size(), 1U);
        EXPECT_EQ(gpu.failed_waves, 0U);
        EXPECT_TRUE(gpu.unmodelled_texts.empty())
            << (gpu.unmodelled_texts.empty() ? "" : gpu.unmodelled_texts[0]);
    }
    Gpu gpu;
};

void sweep(const std::string& text) {
    const std::vector<std::uint32_t> code = assemble(text);
    for (const std::uint32_t lds_bytes : {0U, 2048U}) {
        OneWave undisturbed(code, lds_bytes);
        const std::uint64_t instructions = undisturbed.gpu.run_all();
        undisturbed.expect_clean_end();
        const std::vector<std::byte> expected = undisturbed.dump();
        for (std::uint64_t k = 0; k < instructions; ++k) {
            OneWave run(code, lds_bytes);
            run.gpu.array().run(k);
            ASSERT_TRUE(run.gpu.save_and_restore()) << k;
            run.gpu.run_all();
            run.expect_clean_end();
            ASSERT_EQ(run.dump(), expected) << "LDS " << lds_bytes << " after " << k;
        }
    }
}

// Second-level handlers follow the convention of the first level: TTMP12 has STATUS, they leave
// with the program's SCC restored.
constexpr const char* leave_trap = R"(
        s_add_u32 ttmp0, ttmp0, 4
        s_addc_u32 ttmp1, ttmp1, 0
        s_and_b32 ttmp1, ttmp1, 0xffff
        s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), ttmp12
        s_rfe_b64 ttmp[0:1])";

std::vector<std::uint32_t> second_level(const std::string& text) {
    return assemble(text + leave_trap);
}

void load_second_level(Gpu& gpu, const std::vector<std::uint32_t>& code) {
    constexpr std::uint64_t va = Gpu::trap_va + 0x4000;
    std::memcpy(gpu.memory.at(va), code.data(), code.size() * 4);
    gpu.memory.set_word(Gpu::tma_va, static_cast<std::uint32_t>(va));
    gpu.memory.set_word(Gpu::tma_va + 4, static_cast<std::uint32_t>(va >> 32));
}

} // namespace

TEST(Trap, every_register_survives_a_save_at_every_instruction) {
    sweep(all_registers_kernel(""));
}

// An indexing mode that is on at the save is part of MODE and M0.
TEST(Trap, gpr_indexing_survives_a_save) {
    sweep(all_registers_kernel(R"(
        s_mov_b32 s7, 20
        s_set_gpr_idx_on s7, gpr_idx(SRC0)
        v_mov_b32 v2, v5
        s_nop 0
        s_set_gpr_idx_idx s6
        s_nop 0
        s_set_gpr_idx_off
        s_mov_b32 m0, 0x77777777)"));
}

TEST(Trap, s_trap_without_a_second_level_goes_on_behind_it) {
    OneWave run(assemble("s_load_dwordx2 s[4:5], s[0:1], 0x0\n s_cmp_eq_u32 s4, s4\n s_trap 3\n"
                         " s_cselect_b32 s6, 5, 6\n s_store_dword s6, s[4:5], 0x0\n s_endpgm"),
                0);
    EXPECT_GT(run.gpu.run_all(), 30U); // the handler ran
    run.expect_clean_end();
    EXPECT_EQ(run.gpu.memory.word(Gpu::data_va), 5U);
}

TEST(Trap, s_trap_reaches_the_second_level_with_its_number) {
    OneWave run(assemble("s_load_dwordx2 s[4:5], s[0:1], 0x0\n s_trap 3\n s_endpgm"), 0);
    load_second_level(run.gpu, second_level("s_store_dword ttmp1, s[4:5], 0x0\n"
                                            "s_store_dwordx2 ttmp[14:15], s[4:5], 0x8\n"));
    run.gpu.memory.set_word(Gpu::tma_va + 8, 0xabcd);
    run.gpu.run_all();
    run.expect_clean_end();
    EXPECT_EQ(run.gpu.memory.word(Gpu::data_va) >> 16, 3U);
    EXPECT_EQ(run.gpu.memory.word(Gpu::data_va + 8), 0xabcdU); // TMA of the second level
}

TEST(Trap, messages_reach_the_command_processor) {
    OneWave run(assemble("s_load_dwordx2 s[4:5], s[0:1], 0x0\n s_mov_b32 m0, 0x1234\n"
                         " s_sendmsg sendmsg(MSG_INTERRUPT)\n s_trap 1\n s_endpgm"),
                0);
    load_second_level(run.gpu, second_level(R"(
        s_mov_b32 ttmp2, exec_lo
        s_mov_b32 exec_lo, 0x80000000
        s_sendmsg sendmsg(MSG_GET_DOORBELL)
    wait:
        s_nop 7
        s_bitcmp0_b32 exec_lo, 31
        s_cbranch_scc0 wait
        s_mov_b32 ttmp3, exec_lo
        s_mov_b32 exec_lo, ttmp2
        s_store_dword ttmp3, s[4:5], 0x0
    )"));
    run.gpu.run_all();
    run.expect_clean_end();
    EXPECT_EQ(run.gpu.interrupts, (std::vector<std::uint32_t>{0x1234}));
    EXPECT_EQ(run.gpu.memory.word(Gpu::data_va), 0x123U);
}

TEST(Trap, a_program_cannot_ask_for_a_save_area) {
    OneWave run(assemble("s_sendmsg 4\n s_endpgm"), 0);
    run.gpu.run_all();
    EXPECT_EQ(run.gpu.failed_waves, 1U);
    EXPECT_TRUE(run.gpu.completed.empty());
}

// TRAPSTS.XNACK_ERROR makes the handler store through the scalar cache, lane by lane. A
// second-level handler sets it here, as hardware would after a failed replay. The loop of Linux
// 6.12 for AccVGPRs then reads v[M0] where it means v0 to v3: from the fifth on they are lost,
// and not compared.
TEST(Trap, the_scalar_store_fallback_saves_the_same) {
    const std::string text = all_registers_kernel("s_trap 1\n s_nop 0");
    const std::vector<std::uint32_t> code = assemble(text);
    const auto raise = second_level("s_mov_b32 ttmp2, 1\n"
                                    "s_setreg_b32 hwreg(HW_REG_TRAPSTS, 28, 1), ttmp2\n");
    const auto do_nothing = second_level("");
    for (const std::uint32_t lds_bytes : {0U, 1024U}) {
        std::uint64_t handler[2]{};
        for (const bool fallback : {false, true}) {
            OneWave undisturbed(code, lds_bytes);
            load_second_level(undisturbed.gpu, fallback ? raise : do_nothing);
            const std::uint64_t instructions = undisturbed.gpu.run_all();
            undisturbed.expect_clean_end();
            OneWave run(code, lds_bytes);
            load_second_level(run.gpu, fallback ? raise : do_nothing);
            run.gpu.array().run(instructions - 330); // in the wait loop
            const SavedQueue saved = run.gpu.save();
            handler[fallback ? 1 : 0] = saved.handler_instructions;
            run.gpu.replace_array();
            ASSERT_TRUE(run.gpu.restore(saved));
            run.gpu.run_all();
            run.expect_clean_end();
            std::vector<std::byte> found = run.dump();
            std::vector<std::byte> expected = undisturbed.dump();
            if (fallback) {
                found.resize(first_acc_dump + 4 * 0x100);
                expected.resize(first_acc_dump + 4 * 0x100);
            }
            EXPECT_EQ(found, expected);
        }
        EXPECT_GT(handler[1], handler[0] + 1000); // it did take the other path
    }
}

// A save that is asked for inside another trap waits for its return.
TEST(Trap, a_save_at_every_instruction_of_a_second_level_handler) {
    const std::vector<std::uint32_t> code = assemble(all_registers_kernel("s_trap 1"));
    const auto body = second_level("s_nop 0\n s_nop 1\n s_nop 2\n");
    OneWave undisturbed(code, 512);
    load_second_level(undisturbed.gpu, body);
    const std::uint64_t instructions = undisturbed.gpu.run_all();
    undisturbed.expect_clean_end();
    for (std::uint64_t k = 0; k < instructions; ++k) {
        OneWave run(code, 512);
        load_second_level(run.gpu, body);
        run.gpu.array().run(k);
        ASSERT_TRUE(run.gpu.save_and_restore()) << k;
        run.gpu.run_all();
        run.expect_clean_end();
        ASSERT_EQ(run.dump(), undisturbed.dump()) << k;
    }
}

// With MODE.DEBUG_EN a wave enters the trap handler after each instruction of the program, and not
// after those of the handler. Older GPUs do not say why in TRAPSTS.
TEST(Trap, a_debugger_can_have_one_instruction_at_a_time) {
    constexpr std::uint32_t trap_after_inst = 1U << 25;
    for (const isa::Isa isa : {isa::Isa::gfx942, isa::Isa::gfx90a}) {
        const std::vector<std::uint32_t> code = assemble(R"(
            s_setreg_imm32_b32 hwreg(HW_REG_MODE, 11, 1), 1
            s_movk_i32 s6, 4
        again:
            s_sub_u32 s6, s6, 1
            s_cmp_lg_u32 s6, 0
            s_cbranch_scc1 again
            s_setreg_imm32_b32 hwreg(HW_REG_MODE, 11, 1), 0
            s_nop 0
            s_endpgm)",
                                                         isa);
        // Counts its calls, and keeps the reasons of all of them, where SQ_SHADER_TMA points.
        const std::vector<std::uint32_t> handler = assemble(R"(
            s_getreg_b32 ttmp12, hwreg(HW_REG_STATUS)
            s_getreg_b32 ttmp14, hwreg(18)
            s_getreg_b32 ttmp15, hwreg(19)
            s_lshl_b64 [ttmp14, ttmp15], [ttmp14, ttmp15], 8
            s_add_u32 ttmp2, ttmp2, 1
            s_getreg_b32 ttmp4, hwreg(HW_REG_TRAPSTS)
            s_or_b32 ttmp3, ttmp3, ttmp4
            s_store_dwordx2 [ttmp2, ttmp3], [ttmp14, ttmp15], 0x0
            s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 25, 1), 0
            s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
            s_rfe_b64 [ttmp0, ttmp1])",
                                                            isa);
        Gpu gpu({.isa = isa});
        std::memcpy(gpu.memory.at(Gpu::trap_va), handler.data(), handler.size() * 4);
        Kernel kernel;
        kernel.code = code;
        gpu.array().bind(gpu.queue());
        EXPECT_TRUE(gpu.array().dispatch(0, gpu.packet(Grid{}, gpu.load_kernel(kernel))));
        gpu.run_all();
        EXPECT_EQ(gpu.completed.size(), 1U);
        // The first that is counted is s_movk_i32, the last the one that ends it.
        EXPECT_EQ(gpu.memory.word(Gpu::tma_va), 1U + 4 * 3 + 1);
        EXPECT_EQ(gpu.memory.word(Gpu::tma_va + 4) & trap_after_inst,
                  isa == isa::Isa::gfx942 ? trap_after_inst : 0);
    }
}

} // namespace vgpu::test
