// SPDX-License-Identifier: MIT
// Stop at any instruction, save by the driver's trap handler, forget, restore, continue.
#include "tests/sq/exchange.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace vgpu::test {

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

// Registers, LDS and hardware state travel through memory, by code that isn't ours.
TEST(Cwsr, save_runs_the_trap_handler_of_the_driver) {
    Exchange run(2);
    run.gpu.array().run(150);
    const SavedQueue saved = run.gpu.save();
    EXPECT_EQ(saved.waves, 6U);
    EXPECT_GT(saved.handler_instructions, 6U * 300);
    // 48 VGPRs, 112 SGPRs and 192 bytes for each wave, 512 bytes of LDS for each workgroup.
    EXPECT_EQ(saved.wave_state_bytes, 6U * (48 * 256 + 112 * 4 + 128 + 64) + 3 * 512);
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

TEST(Cwsr, random_instructions_of_a_long_kernel) {
    constexpr std::uint32_t iterations = 400;
    const Reference reference = undisturbed(iterations);
    std::mt19937_64 random(7);
    for (unsigned round = 0; round < 60; ++round) {
        const std::uint64_t k = random() % reference.instructions;
        Exchange run(iterations);
        run.gpu.array().run(k);
        ASSERT_TRUE(run.gpu.save_and_restore()) << "after instruction " << k;
        run.gpu.run_all();
        run.expect_clean_end();
        ASSERT_EQ(run.output(), reference.output) << "after instruction " << k;
    }
}

// The next save may come at any instruction after a restore began: inside the trap handler's
// restore routine, at its barrier, between its return and the program's first instruction.
TEST(Cwsr, a_second_save_at_every_instruction_after_a_restore) {
    constexpr std::uint32_t iterations = 3;
    const Reference reference = undisturbed(iterations);
    Exchange whole(iterations);
    whole.gpu.array().run(180);
    ASSERT_TRUE(whole.gpu.save_and_restore());
    const std::uint64_t rest = whole.gpu.run_all();
    whole.expect_clean_end();
    ASSERT_GT(rest, 1000U);
    for (std::uint64_t k = 0; k < rest; k += k < 200 ? 1 : 3) {
        Exchange run(iterations);
        run.gpu.array().run(180);
        ASSERT_TRUE(run.gpu.save_and_restore());
        run.gpu.array().run(k);
        ASSERT_TRUE(run.gpu.save_and_restore()) << k << " instructions after the restore";
        run.gpu.run_all();
        run.expect_clean_end();
        ASSERT_EQ(run.output(), reference.output) << k << " instructions after the restore";
    }
}

TEST(Cwsr, many_saves_in_a_row) {
    constexpr std::uint32_t iterations = 400;
    const Reference reference = undisturbed(iterations);
    Exchange run(iterations);
    std::mt19937_64 random(11);
    unsigned saves = 0;
    while (run.gpu.completed.empty() && saves < 2000) {
        run.gpu.array().run(random() % 4000);
        ASSERT_TRUE(run.gpu.save_and_restore());
        ++saves;
    }
    EXPECT_GT(saves, 50U);
    run.expect_clean_end();
    EXPECT_EQ(run.output(), reference.output);
}

// The driver's area has room for a full array and no more: repeated saves, with waves that are
// still restoring when the next one begins, must not need more because it became fragmented.
TEST(Cwsr, many_saves_into_an_area_without_a_byte_to_spare) {
    constexpr std::uint32_t iterations = 400;
    const Reference reference = undisturbed(iterations);
    constexpr std::uint32_t wave_bytes = 48 * 256 + 112 * 4 + 128 + 64;
    Exchange run(iterations);
    run.gpu.area_bytes = Gpu::ctl_stack_bytes + 6 * wave_bytes + 3 * 512;
    run.gpu.array().unbind(0);
    run.gpu.array().bind(run.gpu.queue());
    ASSERT_TRUE(run.gpu.array().dispatch(0, run.second_packet(5)));
    std::mt19937_64 random(23);
    while (run.gpu.completed.empty()) {
        run.gpu.array().run(random() % 3000);
        ASSERT_TRUE(run.gpu.save_and_restore());
        ASSERT_EQ(run.gpu.failed_waves, 0U);
    }
    run.expect_clean_end();
    EXPECT_EQ(run.output(), reference.output);
}

namespace {

// Thirty workgroups of two waves on a compute unit with room for 32 waves, and an area for those
// and all LDS. One wave of each workgroup ends long before the other; in the room of two that ended
// a new workgroup starts.
struct Ragged {
    static constexpr unsigned groups = 30;
    static constexpr unsigned room = 32;
    static constexpr std::uint32_t lds_bytes = 2048;
    static constexpr std::uint32_t wave_bytes = 48 * 256 + 112 * 4 + 128 + 64;
    static ShaderArray::Config one_unit() {
        ShaderArray::Config config;
        config.compute_units = 1;
        return config;
    }

    // The first wave of a workgroup has `rounds`, the other one a single round; the other way round
    // in those whose bit is set in `swapped`.
    Ragged(std::uint32_t rounds, std::uint32_t swapped) : gpu(one_unit()) {
        static const std::vector<std::uint32_t> code = assemble(R"(
            s_load_dwordx2 s[16:17], s[0:1], 0x0
            s_load_dwordx2 s[18:19], s[0:1], 0x8
            v_lshlrev_b32 v1, 2, v0
            v_add_u32 v2, s8, v1
            ds_write_b32 v1, v2
            s_waitcnt lgkmcnt(0)
            s_barrier
            s_lshr_b32 s20, s19, s8
            v_readfirstlane_b32 s21, v0
            s_lshr_b32 s21, s21, 6
            s_xor_b32 s20, s20, s21
            s_and_b32 s20, s20, 1
            s_cmp_eq_u32 s20, 0
            s_cselect_b32 s20, s18, 1
        again:
            s_sub_u32 s20, s20, 1
            s_cmp_lg_u32 s20, 0
            s_cbranch_scc1 again
            v_xor_b32 v3, 0x100, v1     ; what the other wave had written
            ds_read_b32 v4, v3
            s_lshl_b32 s22, s8, 9       ; 128 work-items of 4 bytes
            v_add_u32 v5, s22, v1
            s_waitcnt lgkmcnt(0)
            global_store_dword v5, v4, s[16:17]
            s_endpgm)");
        gpu.load_trap_handler();
        gpu.area_bytes = Gpu::ctl_stack_bytes + room * wave_bytes + 65536;
        Kernel kernel;
        kernel.code = code;
        const std::uint64_t object = gpu.load_kernel(kernel);
        gpu.memory.set_word(Gpu::kernarg_va, static_cast<std::uint32_t>(Gpu::data_va));
        gpu.memory.set_word(Gpu::kernarg_va + 4, static_cast<std::uint32_t>(Gpu::data_va >> 32));
        gpu.memory.set_word(Gpu::kernarg_va + 8, rounds);
        gpu.memory.set_word(Gpu::kernarg_va + 12, swapped);
        gpu.array().bind(gpu.queue());
        Grid grid;
        grid.x = groups * 128;
        grid.group_x = 128;
        grid.lds_bytes = lds_bytes;
        EXPECT_TRUE(gpu.array().dispatch(0, gpu.packet(grid, object, 5)));
    }
    void expect_right() {
        EXPECT_EQ(gpu.completed, std::vector<std::uint64_t>{5});
        EXPECT_EQ(gpu.failed_waves, 0U);
        for (std::uint32_t item = 0; item < groups * 128; ++item) {
            ASSERT_EQ(gpu.memory.word(Gpu::data_va + item * 4), item / 128 + (item % 128 ^ 64) * 4)
                << "work-item " << item;
        }
    }

    Gpu gpu;
};

} // namespace

// The short waves leave gaps behind that a wave with the LDS doesn't fit into.
TEST(Cwsr, new_workgroups_in_the_place_of_waves_that_ended) {
    for (const std::uint32_t swapped : {0U, ~0U, 0x5555'5555U}) {
        SCOPED_TRACE(testing::Message() << "swapped " << swapped);
        Ragged run(4000, swapped);
        run.gpu.array().run(10);
        const SavedQueue first = run.gpu.save();
        ASSERT_EQ(first.waves, Ragged::room);
        run.gpu.replace_array();
        ASSERT_TRUE(run.gpu.restore(first));
        for (unsigned turns = 0; turns < 20; ++turns) {
            run.gpu.array().run(2000);
        }
        const SavedQueue second = run.gpu.save();
        ASSERT_EQ(run.gpu.failed_waves, 0U);
        EXPECT_EQ(second.waves, Ragged::groups); // the long one of each
        run.gpu.replace_array();
        ASSERT_TRUE(run.gpu.restore(second));
        run.gpu.run_all();
        run.expect_right();
    }
}

// At any time, also while waves of the stop before are still restoring.
TEST(Cwsr, many_saves_of_workgroups_whose_waves_end_one_by_one) {
    for (std::uint32_t seed = 1; seed <= 60; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        std::mt19937 random(seed);
        const auto rounds = static_cast<std::uint32_t>(200 + random() % 2000);
        Ragged run(rounds, static_cast<std::uint32_t>(random()));
        if (seed % 2 == 0) {
            run.gpu.schedule.follow(seed);
        }
        while (run.gpu.completed.empty()) {
            for (std::uint64_t left = random() % 30'000; left > 0;) {
                const std::uint64_t ran = run.gpu.step(std::min<std::uint64_t>(left, 500));
                left -= ran == 0 ? left : ran;
            }
            ASSERT_TRUE(run.gpu.save_and_restore());
            ASSERT_EQ(run.gpu.failed_waves, 0U);
        }
        run.expect_right();
    }
}

// Only some workgroups fit at a time: some have ended, some run, some were never launched.
TEST(Cwsr, workgroups_that_ended_run_or_were_not_launched) {
    ShaderArray::Config config;
    config.compute_units = 1;
    constexpr std::uint32_t iterations = 2;
    const Reference reference = undisturbed(iterations);
    for (std::uint64_t k = 0; k < reference.instructions; k += 7) {
        Exchange run(iterations, config, 65536 / 2 + 512); // LDS for one workgroup only
        run.gpu.array().run(k);
        const SavedQueue saved = run.gpu.save();
        ASSERT_LE(saved.waves, 2U);
        run.gpu.replace_array();
        ASSERT_TRUE(run.gpu.restore(saved));
        run.gpu.run_all();
        run.expect_clean_end();
        ASSERT_EQ(run.output(), reference.output) << "after instruction " << k;
    }
}

// Saved workgroups wait for room when another queue has taken it; a save that comes meanwhile
// carries their records on and must not touch their data.
TEST(Cwsr, saved_workgroups_that_find_no_room) {
    ShaderArray::Config config;
    config.compute_units = 1;
    constexpr std::uint32_t iterations = 50;
    const Reference reference = undisturbed(iterations);
    Exchange run(iterations, config);
    run.gpu.array().run(200);
    const SavedQueue first = run.gpu.save();
    ASSERT_EQ(first.waves, 6U);
    run.gpu.replace_array();
    // A queue that holds all LDS but what one workgroup needs.
    Kernel endless;
    endless.code = assemble("loop:\n s_sleep 1\n s_branch loop");
    Grid one;
    one.lds_bytes = 65536 - 512;
    const std::uint64_t object = run.gpu.load_kernel(endless, Gpu::code_va + 0x8000);
    run.gpu.array().bind(run.gpu.queue(1));
    ASSERT_TRUE(run.gpu.array().dispatch(1, run.gpu.packet(one, object, 9)));
    run.gpu.array().run(10);
    ASSERT_TRUE(run.gpu.restore(first));
    run.gpu.array().run(2000);
    run.gpu.array().request_stop(0, StopMode::save);
    while (!run.gpu.array().stopped(0)) {
        ASSERT_GT(run.gpu.array().run(100), 0U);
    }
    const SavedQueue second = run.gpu.array().take_saved(0);
    EXPECT_EQ(second.waves, 2U); // the others never left the control stack
    EXPECT_EQ(second.control_stack.size(), first.control_stack.size());
    run.gpu.replace_array();
    ASSERT_TRUE(run.gpu.restore(second));
    run.gpu.run_all();
    run.expect_clean_end();
    EXPECT_EQ(run.output(), reference.output);
}

// A workgroup's first waves may have ended: another one then saves the LDS.
TEST(Cwsr, lds_is_saved_by_a_wave_that_is_left) {
    const std::string text = R"(
        s_load_dwordx2 s[16:17], s[0:1], 0x0
        v_lshlrev_b32 v1, 2, v0
        v_add_u32 v2, 0x1000, v0
        ds_write_b32 v1, v2
        s_waitcnt lgkmcnt(0)
        s_barrier
        v_readfirstlane_b32 s20, v0
        s_cmp_lt_u32 s20, 64
        s_cbranch_scc1 end              ; wave 0 ends, wave 1 goes on
        s_movk_i32 s21, 200
    wait:
        s_sub_u32 s21, s21, 1
        s_cmp_lg_u32 s21, 0
        s_cbranch_scc1 wait
        v_subrev_u32 v3, 0x100, v1      ; what wave 0 had written
        ds_read_b32 v4, v3
        s_waitcnt lgkmcnt(0)
        global_store_dword v3, v4, s[16:17]
    end:
        s_endpgm)";
    for (const std::uint64_t k : {60U, 150U, 400U}) {
        Gpu gpu;
        gpu.load_trap_handler();
        Kernel kernel;
        kernel.code = assemble(text);
        const std::uint64_t object = gpu.load_kernel(kernel);
        gpu.memory.set_word(Gpu::kernarg_va, static_cast<std::uint32_t>(Gpu::data_va));
        gpu.memory.set_word(Gpu::kernarg_va + 4, static_cast<std::uint32_t>(Gpu::data_va >> 32));
        Grid grid;
        grid.x = grid.group_x = 128;
        grid.lds_bytes = 512;
        gpu.array().bind(gpu.queue());
        ASSERT_TRUE(gpu.array().dispatch(0, gpu.packet(grid, object)));
        gpu.array().run(k);
        const SavedQueue saved = gpu.save();
        EXPECT_EQ(saved.waves, 1U);
        gpu.replace_array();
        ASSERT_TRUE(gpu.restore(saved));
        gpu.run_all();
        ASSERT_EQ(gpu.completed.size(), 1U);
        for (std::uint32_t lane = 0; lane < 64; ++lane) {
            ASSERT_EQ(gpu.memory.word(Gpu::data_va + lane * 4), 0x1000 + lane);
        }
    }
}

// A save that comes while waves sleep or are halted must not wait for them.
TEST(Cwsr, halted_waves_are_saved) {
    Gpu gpu;
    gpu.load_trap_handler();
    Kernel kernel;
    kernel.code = assemble("s_sethalt 1\n s_endpgm");
    gpu.array().bind(gpu.queue());
    ASSERT_TRUE(gpu.array().dispatch(0, gpu.packet({}, gpu.load_kernel(kernel))));
    EXPECT_EQ(gpu.run_all(), 1U);
    EXPECT_EQ(gpu.array().run(100), 0U); // it waits
    const SavedQueue saved = gpu.save();
    EXPECT_EQ(saved.waves, 1U);
    gpu.replace_array();
    ASSERT_TRUE(gpu.restore(saved));
    gpu.run_all();
    EXPECT_TRUE(gpu.completed.empty()); // halted still
    EXPECT_EQ(gpu.failed_waves, 0U);
}

// The handler's restore loop moves four registers behind the first four before it looks how many
// there are.
TEST(Cwsr, four_architectural_registers_are_restored) {
    const std::string text = R"(
        s_load_dwordx2 s[16:17], s[0:1], 0x0
        s_movk_i32 s21, 50
        v_lshlrev_b32 v1, 2, v0
        v_mov_b32 v2, 0
        v_mov_b32 v3, v0
    again:
        v_add_u32 v2, v2, v3
        s_sub_u32 s21, s21, 1
        s_cmp_lg_u32 s21, 0
        s_cbranch_scc1 again
        global_store_dword v1, v2, s[16:17]
        s_endpgm)";
    for (std::uint64_t k = 8; k < 200; k += 13) {
        Gpu gpu;
        gpu.load_trap_handler();
        Kernel kernel;
        kernel.code = assemble(text);
        kernel.vgprs = 8;
        kernel.arch_vgprs = 4;
        gpu.memory.set_word(Gpu::kernarg_va, static_cast<std::uint32_t>(Gpu::data_va));
        gpu.memory.set_word(Gpu::kernarg_va + 4, static_cast<std::uint32_t>(Gpu::data_va >> 32));
        gpu.array().bind(gpu.queue());
        ASSERT_TRUE(gpu.array().dispatch(0, gpu.packet({}, gpu.load_kernel(kernel))));
        gpu.array().run(k);
        ASSERT_TRUE(gpu.save_and_restore());
        gpu.run_all();
        ASSERT_EQ(gpu.completed.size(), 1U);
        ASSERT_TRUE(gpu.unmodelled_texts.empty()) << gpu.unmodelled_texts[0];
        for (std::uint32_t lane = 0; lane < 64; ++lane)
            ASSERT_EQ(gpu.memory.word(Gpu::data_va + lane * 4), 50 * lane);
    }
}

TEST(Cwsr, several_dispatches_in_flight) {
    constexpr std::uint32_t iterations = 5;
    const Reference reference = undisturbed(iterations);
    for (std::uint64_t k = 10; k < 2 * reference.instructions; k += 37) {
        Exchange run(iterations);
        ASSERT_TRUE(run.gpu.array().dispatch(0, run.second_packet(6)));
        ASSERT_TRUE(run.gpu.array().dispatch(0, run.second_packet(7)));
        run.gpu.array().run(k);
        const auto pending = run.gpu.array().pending_packets(0);
        const SavedQueue saved = run.gpu.save();
        run.gpu.replace_array();
        ASSERT_TRUE(run.gpu.restore(saved));
        EXPECT_EQ(run.gpu.array().pending_packets(0), pending);
        run.gpu.run_all();
        std::vector<std::uint64_t> completed = run.gpu.completed;
        std::sort(completed.begin(), completed.end());
        ASSERT_EQ(completed, (std::vector<std::uint64_t>{5, 6, 7})) << k;
        ASSERT_EQ(run.output(), reference.output) << k;
    }
}

TEST(Cwsr, a_handler_that_forgets_a_register_is_caught) {
    const Reference reference = undisturbed(2);
    Exchange run(2);
    // v_accvgpr_read_b32 v3, a3 of the save loop becomes a move of v2: one AccVGPR in four is lost.
    bool patched = false;
    for (std::uint64_t va = Gpu::trap_va; va < Gpu::trap_va + 0x1000; va += 4) {
        if (run.gpu.memory.word(va) == 0xd3d84003 && run.gpu.memory.word(va + 4) == 0x18000103) {
            run.gpu.memory.set_word(va + 4, 0x18000102);
            patched = true;
        }
    }
    ASSERT_TRUE(patched);
    run.gpu.array().run(200);
    ASSERT_TRUE(run.gpu.save_and_restore());
    run.gpu.run_all();
    EXPECT_NE(run.output(), reference.output);
}

TEST(Cwsr, ignored_save_requests_leave_the_queue_running) {
    Exchange run(3000);
    run.gpu.array().run(100);
    run.gpu.array().ignore_save_requests(0, true);
    run.gpu.array().request_stop(0, StopMode::save);
    run.gpu.array().run(5000);
    EXPECT_FALSE(run.gpu.array().stopped(0));
    // The request is late, not lost.
    run.gpu.array().ignore_save_requests(0, false);
    run.gpu.array().run(10000);
    ASSERT_TRUE(run.gpu.array().stopped(0));
    const SavedQueue saved = run.gpu.array().take_saved(0);
    EXPECT_EQ(saved.waves, 6U);
    run.gpu.replace_array();
    ASSERT_TRUE(run.gpu.restore(saved));
    run.gpu.run_all();
    run.expect_clean_end();
    EXPECT_EQ(run.output(), undisturbed(3000).output);
}

TEST(Cwsr, a_save_area_that_is_too_small_is_reported) {
    Exchange run(50);
    run.gpu.array().unbind(0);
    QueueBinding queue = run.gpu.queue();
    queue.ctx_save_bytes = Gpu::ctl_stack_bytes + 20000; // room for one wave
    run.gpu.array().bind(queue);
    ASSERT_TRUE(run.gpu.array().dispatch(0, run.second_packet(5)));
    run.gpu.array().run(100);
    run.gpu.save();
    EXPECT_GT(run.gpu.memory_faults, 0U);
    EXPECT_FALSE(run.gpu.unmodelled_texts.empty());
    EXPECT_TRUE(run.gpu.completed.empty());
}

// The results are the same for any order of waves and workgroups, and any time at which each is
// asked to save: on four compute units, and on one that has room for one workgroup, whose two waves
// get every turn.
TEST(Cwsr, results_do_not_depend_on_the_schedule) {
    constexpr std::uint32_t iterations = 300;
    const Reference reference = undisturbed(iterations);
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(testing::Message() << "seed " << seed);
        ShaderArray::Config config;
        config.compute_units = seed % 2 == 0 ? 4 : 1;
        Exchange run(iterations, config, 65536 / 2 + 512);
        run.gpu.schedule.follow(seed);
        std::mt19937 random(static_cast<unsigned>(seed));
        for (unsigned stops = 0; stops < 100; ++stops) {
            for (std::uint64_t left = random() % 1000; left > 0;) {
                const std::uint64_t ran = run.gpu.step(std::min<std::uint64_t>(left, 50));
                left -= ran == 0 ? left : ran;
            }
            ASSERT_TRUE(run.gpu.save_and_restore());
        }
        run.gpu.run_all();
        run.expect_clean_end();
        ASSERT_EQ(run.output(), reference.output);
    }
}

} // namespace vgpu::test
