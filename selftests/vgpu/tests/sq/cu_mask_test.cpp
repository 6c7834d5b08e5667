// SPDX-License-Identifier: MIT
// Waves run only on compute units that the mask of their queue allows.
#include "tests/sq/support/assembler.hpp"
#include "tests/sq/support/gpu.hpp"

#include <gtest/gtest.h>

#include <set>

namespace vgpu::test {

namespace {

using Units = std::set<unsigned>;

constexpr unsigned units = 6;
constexpr unsigned engines = 2;
constexpr unsigned groups = 40; // more than one unit holds at a time

// Each workgroup stores where it runs, loops, and stores it again.
constexpr const char* record_units = R"(
    s_load_dwordx2 s[30:31], s[4:5], 0x0
    s_waitcnt lgkmcnt(0)
    s_lshl_b32 s12, s8, 3
    s_add_u32 s30, s30, s12
    s_addc_u32 s31, s31, 0
    s_getreg_b32 s13, hwreg(HW_REG_HW_ID)
    s_store_dword s13, s[30:31], 0x0
    s_movk_i32 s14, 200
again:
    s_sub_u32 s14, s14, 1
    s_cmp_lg_u32 s14, 0
    s_cbranch_scc1 again
    s_getreg_b32 s13, hwreg(HW_REG_HW_ID)
    s_store_dword s13, s[30:31], 0x4
    s_endpgm)";

sq::CuMask mask_of(const Units& allowed) {
    sq::CuMask mask{};
    mask.engines.fill(0);
    for (const unsigned unit : allowed) {
        mask.engines.at(unit % engines) |= 1U << unit / engines;
    }
    return mask;
}

class CuMask : public ::testing::Test {
protected:
    CuMask() : gpu(ShaderArray::Config{.compute_units = units, .shader_engines = engines}) {
        gpu.load_trap_handler();
        Kernel kernel;
        kernel.code = assemble(record_units);
        kernel.properties = 2 | 4 | 8 | 16; // dispatch, queue, kernarg, dispatch id
        kernel.user_sgprs = 8;
        kernel.workgroup_id_mask = 1;
        object_ = gpu.load_kernel(kernel);
        gpu.memory.set_word(Gpu::kernarg_va, static_cast<std::uint32_t>(Gpu::data_va));
        gpu.memory.set_word(Gpu::kernarg_va + 4, static_cast<std::uint32_t>(Gpu::data_va >> 32));
    }

    void bind(const Units& allowed) {
        QueueBinding queue = gpu.queue();
        queue.cu_mask = mask_of(allowed);
        gpu.array().bind(queue);
    }
    void dispatch() {
        Grid grid;
        grid.x = groups * 64;
        ASSERT_TRUE(gpu.array().dispatch(0, gpu.packet(grid, object_)));
    }
    // On which all workgroups began (0) or ended (1).
    Units used(unsigned end) const {
        Units found;
        for (unsigned group = 0; group < groups; ++group) {
            const std::uint32_t hw_id = gpu.memory.word(Gpu::data_va + group * 8 + end * 4);
            found.insert((hw_id >> 8 & 15) * engines + (hw_id >> 13 & 3));
        }
        return found;
    }

    Gpu gpu;

private:
    std::uint64_t object_ = 0;
};

TEST_F(CuMask, with_one_unit_keeps_all_waves_there) {
    for (unsigned unit = 0; unit < units; ++unit) {
        bind({unit});
        dispatch();
        gpu.run_all();
        EXPECT_EQ(used(0), Units({unit}));
        EXPECT_EQ(used(1), Units({unit}));
        gpu.array().unbind(0);
    }
    EXPECT_EQ(gpu.completed.size(), units);
}

TEST_F(CuMask, with_some_units_uses_all_of_them_and_no_other) {
    bind({1, 2, 5});
    dispatch();
    gpu.run_all();
    EXPECT_EQ(used(0), Units({1, 2, 5}));
    EXPECT_EQ(gpu.completed.size(), 1U);
}

TEST_F(CuMask, without_a_unit_starves_the_queue) {
    bind({});
    dispatch();
    EXPECT_EQ(gpu.run_all(), 0U);
    EXPECT_EQ(gpu.array().dispatches_in_flight(0), 1U);
    EXPECT_TRUE(gpu.completed.empty());
    gpu.array().set_cu_mask(0, mask_of({3}));
    gpu.run_all();
    EXPECT_EQ(used(0), Units({3}));
    EXPECT_EQ(gpu.completed.size(), 1U);
}

TEST_F(CuMask, of_a_restored_queue_moves_saved_waves_and_keeps_new_ones) {
    bind({0, 1, 2});
    dispatch();
    gpu.step(2000);
    const SavedQueue saved = gpu.save();
    ASSERT_GT(saved.waves, 0U);
    gpu.replace_array();
    bind({4, 5});
    ASSERT_TRUE(gpu.array().restore(0, saved.control_stack));
    gpu.run_all();
    EXPECT_EQ(used(1), Units({4, 5}));
    EXPECT_EQ(gpu.completed.size(), 1U);
    EXPECT_TRUE(gpu.unmodelled_texts.empty());
}

} // namespace

} // namespace vgpu::test
