// SPDX-License-Identifier: MIT
// s_sleep and s_wakeup, on a clock that goes by itself and on one that does not.
#include "tests/sq/support/assembler.hpp"
#include "tests/sq/support/gpu.hpp"

#include <gtest/gtest.h>

namespace vgpu::test {
namespace {

// A wave, or a workgroup of two, with a clock that the test sets.
class Sleep : public testing::Test {
protected:
    void start(const std::string& text, std::uint32_t work_items = 64) {
        gpu.load_trap_handler();
        Kernel kernel;
        kernel.code = assemble(text);
        Grid grid;
        grid.x = work_items;
        grid.group_x = work_items;
        const std::uint64_t object = gpu.load_kernel(kernel);
        gpu.array().bind(gpu.queue());
        ASSERT_TRUE(gpu.array().dispatch(0, gpu.packet(grid, object)));
    }

    std::uint64_t now = 0;
    Clock clock;
    Gpu gpu{{.reference_clock = &clock}};
};

class SleepByClock : public Sleep {
protected:
    SleepByClock() {
        clock.follow([this] { return now; });
    }
};

TEST_F(SleepByClock, wave_sleeps_64_clocks_for_each_unit_and_then_goes_on) {
    start("s_sleep 2\n s_endpgm");
    EXPECT_EQ(gpu.array().run(100), 1U);
    EXPECT_EQ(gpu.array().next_wakeup(), 128U);
    now = 127;
    EXPECT_EQ(gpu.array().run(100), 0U);
    EXPECT_TRUE(gpu.completed.empty());
    now = 128;
    EXPECT_EQ(gpu.array().run(100), 1U);
    EXPECT_FALSE(gpu.array().next_wakeup());
    EXPECT_EQ(gpu.completed.size(), 1U);
}

TEST_F(SleepByClock, others_work_while_a_wave_sleeps) {
    // The first wave sleeps, the second one does not.
    start("v_readfirstlane_b32 s20, v0\n s_cmp_lg_u32 s20, 0\n s_cbranch_scc1 end\n s_sleep 127\n "
          "end:\n s_endpgm",
          128);
    EXPECT_EQ(gpu.array().run(100), 8U);
    EXPECT_EQ(gpu.array().next_wakeup(), 127U * 64);
    now = 127 * 64;
    EXPECT_EQ(gpu.array().run(100), 1U);
    EXPECT_EQ(gpu.completed.size(), 1U);
}

TEST_F(SleepByClock, wakeup_ends_the_sleep_of_the_workgroup) {
    start("v_readfirstlane_b32 s20, v0\n s_cmp_lg_u32 s20, 0\n s_cbranch_scc1 wake\n s_sleep 127\n "
          "s_endpgm\n"
          " wake:\n s_wakeup\n s_endpgm",
          128);
    gpu.array().run(100);
    EXPECT_EQ(gpu.completed.size(), 1U);
}

TEST_F(SleepByClock, sleeping_wave_is_saved_at_once_and_goes_on_after_its_restore) {
    start("s_sleep 127\n s_endpgm");
    gpu.array().run(1);
    const SavedQueue saved = gpu.save();
    EXPECT_EQ(saved.waves, 1U);
    gpu.replace_array();
    ASSERT_TRUE(gpu.restore(saved));
    gpu.run_all();
    EXPECT_EQ(gpu.completed.size(), 1U);
}

// So that a run with this seed is the same each time.
TEST_F(SleepByClock, nothing_sleeps_under_a_schedule) {
    gpu.schedule.follow(1);
    start("s_sleep 127\n s_endpgm");
    gpu.run_all();
    EXPECT_EQ(gpu.completed.size(), 1U);
}

TEST_F(Sleep, nothing_sleeps_where_time_passes_with_work_only) {
    start("s_sleep 127\n s_endpgm");
    gpu.run_all();
    EXPECT_EQ(gpu.completed.size(), 1U);
}

} // namespace
} // namespace vgpu::test
