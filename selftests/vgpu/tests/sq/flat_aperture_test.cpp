// SPDX-License-Identifier: MIT
// FLAT instructions that reach LDS, private memory and memory in turn, across saves.
#include "tests/sq/support/assembler.hpp"
#include "tests/sq/support/gpu.hpp"

#include <gtest/gtest.h>

namespace vgpu::test {

namespace {

constexpr unsigned groups = 3;
constexpr unsigned group_items = 128;
constexpr unsigned rounds = 6;
constexpr std::uint64_t ring_va = FlatMemory::base + 0x40'0000;

// One generic address a work-item: LDS for number % 4 == 0 and 3, private memory for 1, memory
// for 2. Each round loads it and writes it in three accesses, of which one is an atomic.
std::string generic_kernel() {
    return R"(
        s_load_dwordx2 s[16:17], s[0:1], 0x0
        v_and_b32_e32 v0, 0x3ff, v0
        s_mul_i32 s22, s8, 512
        v_lshlrev_b32_e32 v1, 2, v0             ; byte of the work-item in its workgroup
        v_and_b32_e32 v2, 3, v0
        s_mov_b64 s[20:21], src_shared_base
        s_mov_b64 s[24:25], src_private_base
        v_mov_b32_e32 v10, v1
        v_mov_b32_e32 v11, s21
        v_cmp_eq_u32_e32 vcc, 1, v2
        v_mov_b32_e32 v3, 20
        v_mov_b32_e32 v4, s25
        v_cndmask_b32_e32 v10, v10, v3, vcc
        v_cndmask_b32_e32 v11, v11, v4, vcc
        v_cmp_eq_u32_e32 vcc, 2, v2
        s_add_u32 s18, s16, s22
        s_addc_u32 s19, s17, 0
        v_mov_b32_e32 v4, s19
        v_add_u32_e32 v3, s18, v1               ; the results do not cross 4 GiB
        v_cndmask_b32_e32 v10, v10, v3, vcc
        v_cndmask_b32_e32 v11, v11, v4, vcc
        v_mul_u32_u24_e32 v5, 7, v0
        flat_store_dword v[10:11], v5
        s_movk_i32 s10, 6
    loop:
        flat_load_dword v6, v[10:11]
        v_mad_u32_u24 v6, v6, 3, s10
        flat_store_byte v[10:11], v6
        v_lshrrev_b32_e32 v7, 8, v6
        flat_store_short v[10:11], v7 offset:2
        flat_load_ubyte v8, v[10:11]
        flat_atomic_add v9, v[10:11], v8 sc0
        s_sub_u32 s10, s10, 1
        s_cmp_lg_u32 s10, 0
        s_cbranch_scc1 loop
        flat_load_dword v6, v[10:11]
        v_xor_b32_e32 v6, v6, v9
        v_mov_b32_e32 v7, s22
        v_add_u32_e32 v7, v7, v1
        global_store_dword v7, v6, s[16:17] offset:2048
        s_endpgm
    )";
}

std::uint32_t expected(std::uint32_t item) {
    std::uint32_t value = item * 7;
    std::uint32_t old = 0;
    for (std::uint32_t round = rounds; round != 0; --round) {
        const std::uint32_t next = (value & 0xff'ffff) * 3 + round;
        value = (value & 0xff00) | (next & 0xff) | ((next >> 8) & 0xffff) << 16;
        old = value;
        value += next & 0xff;
    }
    return value ^ old;
}

class Generic {
public:
    Generic() {
        static const std::vector<std::uint32_t> code = assemble(generic_kernel());
        Kernel kernel;
        kernel.code = code;
        kernel.scratch = true;
        gpu.load_trap_handler();
        gpu.memory.set_word(Gpu::kernarg_va, static_cast<std::uint32_t>(Gpu::data_va));
        gpu.memory.set_word(Gpu::kernarg_va + 4, static_cast<std::uint32_t>(Gpu::data_va >> 32));
        gpu.array().bind(gpu.queue());
        Grid grid;
        grid.x = groups * group_items;
        grid.group_x = group_items;
        grid.lds_bytes = group_items * 4;
        AqlDispatch aql = gpu.packet(grid, gpu.load_kernel(kernel), 3);
        aql.packet[6] = 32;
        aql.scratch = {ring_va, 4, 2048};
        EXPECT_TRUE(gpu.array().dispatch(0, aql));
    }
    void expect_right_results() {
        ASSERT_TRUE(gpu.unmodelled_texts.empty()) << gpu.unmodelled_texts[0];
        ASSERT_EQ(gpu.failed_waves, 0U);
        ASSERT_EQ(gpu.completed, std::vector<std::uint64_t>{3});
        for (std::uint32_t item = 0; item < groups * group_items; ++item) {
            ASSERT_EQ(gpu.memory.word(Gpu::data_va + 2048 + item * 4), expected(item % group_items))
                << item;
        }
    }
    Gpu gpu;
};

} // namespace

TEST(FlatAperture, a_generic_address_leads_where_its_aperture_is) {
    Generic run;
    run.gpu.run_all();
    run.expect_right_results();
}

TEST(FlatAperture, survives_a_save_at_every_instruction) {
    Generic undisturbed;
    const std::uint64_t instructions = undisturbed.gpu.run_all();
    for (std::uint64_t k = 0; k < instructions; ++k) {
        Generic run;
        run.gpu.array().run(k);
        ASSERT_TRUE(run.gpu.save_and_restore()) << k;
        run.gpu.run_all();
        run.expect_right_results();
        if (testing::Test::HasFatalFailure()) {
            FAIL() << "after instruction " << k;
        }
    }
}

} // namespace vgpu::test
