// SPDX-License-Identifier: MIT
// Grids, the registers waves start with, completion, stops without a save, and failures.
#include "model/sq/dispatch_geometry.hpp"
#include "tests/sq/exchange.hpp"

#include <algorithm>

namespace vgpu::test {

namespace {

// Every work-item stores v0 at its place: data + 4 * (64 * counter + lane); the counter of waves
// is at the very start of the data.
constexpr const char* record_ids = R"(
    s_load_dwordx2 s[30:31], s[4:5], 0x0
    v_mbcnt_lo_u32_b32 v1, -1, 0
    v_mbcnt_hi_u32_b32 v1, -1, v1
    s_mov_b64 s[40:41], exec
    s_mov_b64 exec, 1
    v_mov_b32 v2, 0
    v_mov_b32 v3, 1
    global_atomic_add v4, v2, v3, s[30:31] sc0
    s_waitcnt vmcnt(0)
    v_readfirstlane_b32 s42, v4
    s_mov_b64 exec, s[40:41]
    s_lshl_b32 s42, s42, 10              ; 64 lanes of 16 bytes
    s_add_u32 s42, s42, 0x1000
    v_lshl_add_u32 v5, v1, 4, s42
    v_mov_b32 v6, v0
    v_mov_b32 v7, s8
    v_mov_b32 v8, s9
    v_mov_b32 v9, s10
    global_store_dwordx4 v5, v[6:9], s[30:31]
    s_endpgm)";

Kernel id_kernel() {
    Kernel kernel;
    kernel.code = assemble(record_ids);
    kernel.properties = 2 | 4 | 8 | 16; // dispatch, queue, kernarg, dispatch id
    kernel.user_sgprs = 8;
    kernel.workgroup_id_mask = 7;
    kernel.workitem_id_dimensions = 3;
    return kernel;
}

void set_kernarg(Gpu& gpu) {
    gpu.memory.set_word(Gpu::kernarg_va, static_cast<std::uint32_t>(Gpu::data_va));
    gpu.memory.set_word(Gpu::kernarg_va + 4, static_cast<std::uint32_t>(Gpu::data_va >> 32));
}

using Item = std::array<std::uint32_t, 6>; // work-item id and workgroup id

std::vector<Item> recorded_items(const Gpu& gpu) {
    std::vector<Item> items;
    const std::uint32_t waves = gpu.memory.word(Gpu::data_va);
    for (std::uint32_t slot = 0; slot < waves * 64; ++slot) {
        const std::uint64_t at = Gpu::data_va + 0x1000 + slot * 16ULL;
        const std::uint32_t id = gpu.memory.word(at);
        if (id == 0xffffffff) {
            continue; // lane off
        }
        items.push_back({id & 0x3ff, id >> 10 & 0x3ff, id >> 20, gpu.memory.word(at + 4),
                         gpu.memory.word(at + 8), gpu.memory.word(at + 12)});
    }
    return items;
}

} // namespace

TEST(Dispatch, each_work_item_of_a_three_dimensional_grid_runs_once) {
    Gpu gpu;
    set_kernarg(gpu);
    std::fill_n(gpu.memory.at(Gpu::data_va + 0x1000), 0x80000, std::byte{0xff});
    Grid grid{13, 7, 5, 8, 4, 3, 0}; // partial workgroups in every dimension
    gpu.array().bind(gpu.queue());
    ASSERT_TRUE(gpu.array().dispatch(0, gpu.packet(grid, gpu.load_kernel(id_kernel()))));
    gpu.run_all();
    ASSERT_EQ(gpu.completed.size(), 1U)
        << (gpu.unmodelled_texts.empty() ? "" : gpu.unmodelled_texts[0]);
    std::vector<Item> expected;
    for (std::uint32_t z = 0; z < grid.z; ++z) {
        for (std::uint32_t y = 0; y < grid.y; ++y) {
            for (std::uint32_t x = 0; x < grid.x; ++x) {
                expected.push_back({x % 8, y % 4, z % 3, x / 8, y / 4, z / 3});
            }
        }
    }
    std::vector<Item> items = recorded_items(gpu);
    std::sort(items.begin(), items.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(items, expected);
}

TEST(Dispatch, user_sgprs_come_in_the_order_of_the_code_properties) {
    Gpu gpu;
    set_kernarg(gpu);
    Kernel kernel = id_kernel();
    kernel.code = assemble(R"(
        s_load_dwordx2 s[30:31], s[4:5], 0x0
        s_store_dwordx4 s[0:3], s[30:31], 0x0
        s_store_dwordx4 s[4:7], s[30:31], 0x10
        s_endpgm)");
    gpu.array().bind(gpu.queue());
    const AqlDispatch packet = gpu.packet({}, gpu.load_kernel(kernel), 77);
    ASSERT_TRUE(gpu.array().dispatch(0, packet));
    gpu.run_all();
    const auto pair = [&](unsigned index) {
        return gpu.memory.word(Gpu::data_va + index * 8) |
               static_cast<std::uint64_t>(gpu.memory.word(Gpu::data_va + index * 8 + 4)) << 32;
    };
    EXPECT_EQ(pair(0), packet.packet_va);
    EXPECT_EQ(pair(1), packet.amd_queue_va);
    EXPECT_EQ(pair(2), Gpu::kernarg_va);
    EXPECT_EQ(pair(3), 77U);
}

// LLVM's AMDGPUUsage, "Preloaded Kernel Arguments": the arguments follow the other user SGPRs, and
// execution begins behind the 256 bytes that load them where the firmware can't.
TEST(Dispatch, kernel_arguments_start_in_sgprs) {
    Gpu gpu;
    Kernel kernel;
    kernel.code = assemble(".fill 64, 4, 0xbf810000"); // s_endpgm
    const auto code = assemble(R"(
        s_mov_b64 s[30:31], s[10:11]
        s_store_dwordx4 s[8:11], s[30:31], 0x0
        s_store_dword s12, s[30:31], 0x10
        s_endpgm)");
    kernel.code.insert(kernel.code.end(), code.begin(), code.end());
    kernel.user_sgprs = 12; // then the workgroup id in s12
    kernel.kernarg_preload = 4 | 3 << 7;
    kernel.properties = 2 | 4 | 8 | 16;
    for (std::uint32_t dword = 0; dword < 8; ++dword) {
        gpu.memory.set_word(Gpu::kernarg_va + dword * 4, 0xa000 + dword);
    }
    gpu.memory.set_word(Gpu::kernarg_va + 5 * 4, static_cast<std::uint32_t>(Gpu::data_va));
    gpu.memory.set_word(Gpu::kernarg_va + 6 * 4, static_cast<std::uint32_t>(Gpu::data_va >> 32));
    gpu.array().bind(gpu.queue());
    ASSERT_TRUE(gpu.array().dispatch(0, gpu.packet({}, gpu.load_kernel(kernel))));
    gpu.run_all();
    ASSERT_EQ(gpu.completed.size(), 1U);
    EXPECT_EQ(gpu.memory.word(Gpu::data_va), 0xa003U);
    EXPECT_EQ(gpu.memory.word(Gpu::data_va + 4), 0xa004U);
    EXPECT_EQ(gpu.memory.word(Gpu::data_va + 8), static_cast<std::uint32_t>(Gpu::data_va));
    EXPECT_EQ(gpu.memory.word(Gpu::data_va + 16), 0U);
}

TEST(Dispatch, only_four_are_tracked_at_a_time) {
    Gpu gpu;
    Kernel kernel;
    kernel.code = assemble("s_endpgm");
    const std::uint64_t object = gpu.load_kernel(kernel);
    gpu.array().bind(gpu.queue());
    for (std::uint64_t i = 0; i < 4; ++i) {
        EXPECT_TRUE(gpu.array().dispatch(0, gpu.packet({}, object, i)));
    }
    EXPECT_FALSE(gpu.array().dispatch(0, gpu.packet({}, object, 4)));
    EXPECT_EQ(gpu.array().pending_packets(0), (std::vector<std::uint64_t>{0, 1, 2, 3}));
    gpu.run_all();
    EXPECT_EQ(gpu.completed, (std::vector<std::uint64_t>{0, 1, 2, 3}));
    EXPECT_TRUE(gpu.array().dispatch(0, gpu.packet({}, object, 4)));
}

TEST(Dispatch, the_order_of_instructions_does_not_depend_on_how_run_is_called) {
    const Reference reference = undisturbed(7);
    Exchange in_steps(7);
    std::uint64_t total = 0;
    for (std::uint64_t step = 1; in_steps.gpu.completed.empty(); step = step % 97 + 1) {
        const std::uint64_t ran = in_steps.gpu.array().run(step);
        ASSERT_GT(ran, 0U);
        total += ran;
    }
    EXPECT_EQ(total, reference.instructions);
    EXPECT_EQ(in_steps.gpu.array().run(1), 0U);
}

TEST(Dispatch, drain_lets_running_workgroups_end_and_keeps_the_others) {
    ShaderArray::Config config;
    config.compute_units = 1;
    Exchange run(3, config, 40000); // one workgroup at a time
    run.gpu.array().run(50);
    run.gpu.array().request_stop(0, StopMode::drain);
    run.gpu.run_all();
    ASSERT_TRUE(run.gpu.array().stopped(0));
    EXPECT_TRUE(run.gpu.completed.empty());
    const SavedQueue saved = run.gpu.array().take_saved(0);
    EXPECT_EQ(saved.waves, 0U);
    EXPECT_EQ(saved.wave_state_bytes, 0U);
    ASSERT_FALSE(saved.control_stack.empty());
    run.gpu.replace_array();
    ASSERT_TRUE(run.gpu.restore(saved));
    run.gpu.run_all();
    run.expect_clean_end();
    EXPECT_EQ(run.output(), undisturbed(3).output);
}

TEST(Dispatch, reset_drops_waves_and_leaves_nothing) {
    Exchange run(1000);
    run.gpu.array().run(500);
    run.gpu.array().request_stop(0, StopMode::reset);
    EXPECT_TRUE(run.gpu.array().stopped(0));
    EXPECT_TRUE(run.gpu.array().take_saved(0).control_stack.empty());
    EXPECT_EQ(run.gpu.array().run(100), 0U);
    // The compute units are free again.
    run.gpu.array().unbind(0);
    run.gpu.array().bind(run.gpu.queue());
    ASSERT_TRUE(run.gpu.array().dispatch(0, run.second_packet(5)));
    run.gpu.run_all();
    run.expect_clean_end();
}

TEST(Dispatch, unbind_frees_the_compute_units) {
    for (unsigned round = 0; round < 50; ++round) {
        SCOPED_TRACE(round);
        Exchange run(10);
        run.gpu.array().run(round * 13);
        run.gpu.array().unbind(0);
        EXPECT_EQ(run.gpu.array().run(10), 0U);
        run.gpu.array().bind(run.gpu.queue());
        ASSERT_TRUE(run.gpu.array().dispatch(0, run.second_packet(5)));
        run.gpu.run_all();
        run.expect_clean_end();
    }
}

TEST(Dispatch, two_queues_share_the_array) {
    Exchange run(200);
    run.gpu.array().bind(run.gpu.queue(3));
    ASSERT_TRUE(run.gpu.array().dispatch(3, run.second_packet(9)));
    run.gpu.array().run(1000);
    const SavedQueue saved = run.gpu.save(0);
    EXPECT_EQ(saved.waves, 6U);
    run.gpu.run_all(); // the other one continues
    EXPECT_EQ(run.gpu.completed, (std::vector<std::uint64_t>{9}));
    run.gpu.array().unbind(0);
    ASSERT_TRUE(run.gpu.restore(saved));
    run.gpu.run_all();
    EXPECT_EQ(run.gpu.completed, (std::vector<std::uint64_t>{9, 5}));
}

TEST(Dispatch, an_unknown_instruction_ends_the_wave_and_the_dispatch_never_completes) {
    Gpu gpu;
    Kernel kernel;
    kernel.code = assemble("s_nop 0\n .long 0xd3da0000, 0\n s_endpgm"); // no such VOP3P opcode
    QueueBinding queue = gpu.queue();
    queue.tba = 0;
    gpu.array().bind(queue);
    ASSERT_TRUE(gpu.array().dispatch(0, gpu.packet({}, gpu.load_kernel(kernel))));
    gpu.run_all();
    EXPECT_EQ(gpu.failed_waves, 1U);
    EXPECT_EQ(gpu.memory_faults, 0U);
    ASSERT_EQ(gpu.unmodelled_texts.size(), 1U);
    EXPECT_NE(gpu.unmodelled_texts[0].find("VOP3P opcode"), std::string::npos)
        << gpu.unmodelled_texts[0];
    EXPECT_TRUE(gpu.completed.empty());
    EXPECT_EQ(gpu.array().dispatches_in_flight(0), 1U);
    EXPECT_TRUE(gpu.array().stopped(0));
}

TEST(Dispatch, a_memory_fault_ends_a_wave_without_trap_handler) {
    for (const bool fetch : {false, true}) {
        Exchange run(100);
        run.gpu.array().unbind(0);
        QueueBinding queue = run.gpu.queue();
        queue.tba = 0;
        run.gpu.array().bind(queue);
        ASSERT_TRUE(run.gpu.array().dispatch(0, run.second_packet(5)));
        run.gpu.memory.unmap(fetch ? Gpu::code_va : Gpu::data_va);
        run.gpu.run_all();
        EXPECT_EQ(run.gpu.failed_waves, 6U);
        EXPECT_EQ(run.gpu.memory_faults, 6U);
        EXPECT_TRUE(run.gpu.completed.empty());
        EXPECT_TRUE(run.gpu.unmodelled_texts.empty());
    }
}

TEST(Dispatch, bad_packets_and_descriptors_are_reported) {
    const auto report = [](const Grid& grid, const Kernel& kernel, std::uint64_t va) {
        Gpu gpu;
        gpu.load_kernel(kernel);
        gpu.array().bind(gpu.queue());
        EXPECT_TRUE(gpu.array().dispatch(0, gpu.packet(grid, va)));
        gpu.run_all();
        EXPECT_EQ(gpu.failed_waves, 1U);
        EXPECT_TRUE(gpu.completed.empty());
        // A failed dispatch is still in flight after a save and a restore.
        const SavedQueue saved = gpu.save();
        gpu.replace_array();
        EXPECT_TRUE(gpu.restore(saved));
        EXPECT_EQ(gpu.array().dispatches_in_flight(0), 1U);
        return gpu.unmodelled_texts.empty() ? std::string("fault") : gpu.unmodelled_texts[0];
    };
    Kernel good;
    good.code = assemble("s_endpgm");
    EXPECT_EQ(report({}, good, 0x1000), "fault");
    Grid grid;
    grid.y = 0;
    EXPECT_NE(report(grid, good, Gpu::code_va).find("size of 0"), std::string::npos);
    grid = {};
    grid.group_x = 1025;
    EXPECT_NE(report(grid, good, Gpu::code_va).find("1024"), std::string::npos);
    grid = {};
    grid.lds_bytes = 65537;
    EXPECT_NE(report(grid, good, Gpu::code_va).find("LDS"), std::string::npos);
    Kernel kernel = good;
    kernel.arch_vgprs = 64;
    EXPECT_NE(report({}, kernel, Gpu::code_va).find("ACCUM_OFFSET"), std::string::npos);
    kernel = good;
    kernel.properties = 1;
    EXPECT_NE(report({}, kernel, Gpu::code_va).find("property"), std::string::npos);
    kernel = good;
    kernel.sgprs = 16;
    kernel.user_sgprs = 14;
    EXPECT_NE(report({}, kernel, Gpu::code_va).find("SGPRs do not fit"), std::string::npos);
}

} // namespace vgpu::test
