// SPDX-License-Identifier: MIT
// Global wave sync: each ds_gws_* instruction, who may use it, and saves of waves that wait.
#include "tests/sq/support/assembler.hpp"
#include "tests/sq/support/gpu.hpp"

#include <gtest/gtest.h>

#include <map>

namespace vgpu::test {

namespace {

constexpr unsigned groups = 5; // of one wave each

// A wave for each workgroup. s[4:5]: the words of the workgroups; v1: offset of its own word.
std::string with_words(const std::string& text) {
    return R"(
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        s_mov_b32 m0, 0
        s_lshl_b32 s6, s8, 2
        v_mov_b32_e32 v1, s6
        v_mov_b32_e32 v3, 1
    )" + text +
           "\n s_endpgm";
}

// Stores 1, meets the others, stores 16 + the sum of all words.
std::string meeting(const std::string& barrier) {
    return with_words("v_mov_b32_e32 v2, " + std::to_string(groups - 1) + R"(
        global_store_dword v1, v3, s[4:5]
        s_waitcnt vmcnt(0)
    )" + barrier + R"(
        s_waitcnt lgkmcnt(0)
        v_mov_b32_e32 v5, 0
        v_mov_b32_e32 v6, 16
        s_movk_i32 s7, )" +
                      std::to_string(groups) + R"(
    sum:
        global_load_dword v4, v5, s[4:5]
        v_and_b32_e32 v4, 1, v4             ; 1, or 16 + groups, which is odd
        v_add_u32_e32 v6, v6, v4
        v_add_u32_e32 v5, 4, v5
        s_sub_u32 s7, s7, 1
        s_cmp_lg_u32 s7, 0
        s_cbranch_scc1 sum
        global_store_dword v1, v6, s[4:5])");
}
static_assert(groups % 2 == 1);
constexpr std::uint32_t met = 16 + groups;

class Sync {
public:
    explicit Sync(sq::GwsRange range = {0, 64}, bool controls_gws = true) {
        gpu.load_trap_handler();
        gpu.gws = range;
        gpu.controls_gws = controls_gws;
        gpu.memory.set_word(Gpu::kernarg_va, static_cast<std::uint32_t>(Gpu::data_va));
        gpu.memory.set_word(Gpu::kernarg_va + 4, static_cast<std::uint32_t>(Gpu::data_va >> 32));
        gpu.array().bind(gpu.queue());
    }
    void start(const std::string& text, unsigned count = groups, unsigned slot = 0) {
        static std::map<std::string, std::vector<std::uint32_t>> assembled;
        Kernel kernel;
        const auto [code, is_new] = assembled.try_emplace(text);
        if (is_new) {
            code->second = assemble(text);
        }
        kernel.code = code->second;
        const Grid grid{.x = 64 * count};
        const std::uint64_t va = Gpu::code_va + 0x1000 * loaded_++;
        EXPECT_TRUE(gpu.array().dispatch(slot, gpu.packet(grid, gpu.load_kernel(kernel, va), va)));
    }
    void run(const std::string& text, unsigned count = 1, unsigned slot = 0) {
        start(with_words(text), count, slot);
        gpu.run_all();
    }
    void init(unsigned value, const std::string& resource = "") {
        run("v_mov_b32_e32 v2, " + std::to_string(value) + "\n ds_gws_init v2 " + resource +
            " gds");
        gpu.completed.clear();
    }
    unsigned passed() {
        unsigned sum = 0;
        for (unsigned i = 0; i < groups; ++i) {
            sum += gpu.memory.word(Gpu::data_va + 4 * i) != 0 ? 1 : 0;
        }
        return sum;
    }
    void expect_all_met(const std::string& when = "") {
        EXPECT_EQ(gpu.completed.size(), 1U) << when;
        for (unsigned i = 0; i < groups; ++i) {
            ASSERT_EQ(gpu.memory.word(Gpu::data_va + 4 * i), met) << "workgroup " << i << when;
        }
        expect_clean();
    }
    void expect_clean() {
        EXPECT_EQ(gpu.failed_waves, 0U);
        EXPECT_TRUE(gpu.unmodelled_texts.empty())
            << (gpu.unmodelled_texts.empty() ? "" : gpu.unmodelled_texts[0]);
    }

    Gpu gpu;

private:
    unsigned loaded_ = 0;
};

const std::string wait_and_note = "ds_gws_sema_p gds\n s_waitcnt lgkmcnt(0)\n"
                                  "global_store_dword v1, v3, s[4:5]";

} // namespace

TEST(Gws, a_barrier_ends_when_the_last_wave_comes) {
    Sync run;
    run.init(groups - 1);
    run.start(meeting("ds_gws_barrier v2 gds"), groups - 1);
    run.gpu.run_all();
    EXPECT_TRUE(run.gpu.completed.empty());
    EXPECT_FALSE(run.gpu.array().stopped(0));
    EXPECT_EQ(run.gpu.array().run(100), 0U); // all of them wait
    run.run("v_mov_b32_e32 v2, 7\n ds_gws_barrier v2 gds");
    EXPECT_EQ(run.gpu.completed.size(), 2U);
    run.expect_clean();
}

// The value that a wave brings is the counter of the next barrier.
TEST(Gws, a_barrier_can_be_used_again) {
    Sync run;
    run.init(groups - 1);
    for (unsigned round = 0; round < 3; ++round) {
        run.start(meeting("ds_gws_barrier v2 gds"));
        run.gpu.run_all();
        run.expect_all_met();
        run.gpu.completed.clear();
        for (unsigned i = 0; i < groups; ++i) {
            run.gpu.memory.set_word(Gpu::data_va + 4 * i, 0);
        }
    }
}

TEST(Gws, m0_and_offset_choose_the_resource) {
    Sync run;
    run.init(groups - 1, "offset:7");
    // 5 + 2 is the resource that was initialised; the others don't make a wave wait.
    run.start(meeting("s_mov_b32 m0, 0x50000\n ds_gws_barrier v2 offset:2 gds"));
    run.gpu.run_all();
    run.expect_all_met();
}

TEST(Gws, a_semaphore_lets_as_many_waves_pass_as_it_was_signalled) {
    Sync run;
    run.init(1);
    run.start(with_words(wait_and_note));
    run.gpu.run_all();
    EXPECT_EQ(run.passed(), 1U); // the initial count
    run.run("ds_gws_sema_v gds");
    EXPECT_EQ(run.passed(), 2U);
    run.run("v_mov_b32_e32 v2, 2\n ds_gws_sema_br v2 gds");
    EXPECT_EQ(run.passed(), 4U);
    run.run("v_mov_b32_e32 v2, 2\n ds_gws_sema_br v2 gds");
    EXPECT_EQ(run.passed(), 5U);
    run.run(wait_and_note); // one signal was left
    EXPECT_EQ(run.gpu.completed.size(), 5U);
    run.expect_clean();
}

TEST(Gws, release_all_releases_all_and_leaves_no_count) {
    Sync run;
    run.start(with_words(wait_and_note));
    run.gpu.run_all();
    EXPECT_EQ(run.passed(), 0U);
    run.run("ds_gws_sema_release_all gds");
    EXPECT_EQ(run.passed(), groups);
    run.gpu.completed.clear();
    run.run(wait_and_note);
    EXPECT_TRUE(run.gpu.completed.empty());
    run.expect_clean();
}

TEST(Gws, a_semaphore_releases_no_wave_of_a_barrier) {
    Sync run;
    run.init(1);
    run.run("v_mov_b32_e32 v2, 1\n ds_gws_barrier v2 gds");
    run.run("ds_gws_sema_v gds");
    EXPECT_EQ(run.gpu.completed.size(), 1U);
    run.expect_clean();
}

TEST(Gws, vmids_have_resources_of_their_own) {
    Sync run({4, 4});
    run.init(1);
    run.gpu.gws = {8, 4};
    run.gpu.array().bind(run.gpu.queue(1));
    run.run("v_mov_b32_e32 v2, 0\n ds_gws_barrier v2 gds", 1, 1); // its counter is 0
    EXPECT_EQ(run.gpu.completed.size(), 1U);
    run.run("v_mov_b32_e32 v2, 0\n ds_gws_barrier v2 gds", 1, 0);
    EXPECT_EQ(run.gpu.completed.size(), 1U);
    run.expect_clean();
}

TEST(Gws, a_vmid_without_the_resource_is_a_memory_violation) {
    Sync none({}, false);
    none.run("v_mov_b32_e32 v2, 0\n ds_gws_barrier v2 gds");
    EXPECT_EQ(none.gpu.memory_faults, 1U);
    EXPECT_TRUE(none.gpu.completed.empty());
    Sync few({0, 4});
    few.run("ds_gws_sema_v offset:3 gds");
    few.expect_clean();
    few.run("ds_gws_sema_v offset:4 gds");
    EXPECT_EQ(few.gpu.memory_faults, 1U);
    EXPECT_TRUE(few.gpu.unmodelled_texts.empty());
}

TEST(Gws, another_queue_of_the_process_is_reported) {
    Sync other({0, 64}, false);
    other.run("ds_gws_sema_v gds");
    EXPECT_EQ(other.gpu.memory_faults, 1U);
    EXPECT_EQ(other.gpu.unmodelled_texts.size(), 1U);
}

TEST(Gws, an_empty_exec_and_gds_memory_are_reported) {
    Sync empty;
    empty.run("s_mov_b64 exec, 0\n ds_gws_sema_v gds");
    EXPECT_EQ(empty.gpu.unmodelled_texts.size(), 1U);
    Sync memory;
    memory.run(".long 0xd86d0000, 0x01000000"); // ds_read_b32 v1, v0 gds
    EXPECT_EQ(memory.gpu.unmodelled_texts.size(), 1U);
    Sync lds;
    lds.run(".long 0xd93a0000, 0x00000002"); // ds_gws_barrier v2 without gds
    EXPECT_EQ(lds.gpu.unmodelled_texts.size(), 1U);
}

TEST(Gws, every_instruction_around_a_barrier_can_be_the_last_before_a_save) {
    Sync reference;
    reference.init(groups - 1);
    reference.start(meeting("ds_gws_barrier v2 gds"));
    const std::uint64_t instructions = reference.gpu.run_all();
    reference.expect_all_met();
    for (std::uint64_t k = 0; k <= instructions; ++k) {
        const std::string when = " after instruction " + std::to_string(k);
        Sync run;
        run.init(groups - 1);
        run.start(meeting("ds_gws_barrier v2 gds"));
        ASSERT_EQ(run.gpu.array().run(k), k);
        ASSERT_TRUE(run.gpu.save_and_restore()) << when;
        ASSERT_TRUE(run.gpu.save_and_restore()) << when; // in the restore routine
        run.gpu.run_all();
        run.expect_all_met(when);
    }
}

// Those that came before the save don't count twice: the last wave is missing.
TEST(Gws, waves_that_wait_come_anew_after_a_restore) {
    Sync run;
    run.init(groups - 1);
    run.start(meeting("ds_gws_barrier v2 gds"), groups - 1);
    for (unsigned round = 0; round < 3; ++round) {
        run.gpu.run_all();
        const SavedQueue saved = run.gpu.save();
        EXPECT_EQ(saved.waves, groups - 1);
        run.gpu.replace_array();
        ASSERT_TRUE(run.gpu.restore(saved));
        run.gpu.run_all();
        EXPECT_TRUE(run.gpu.completed.empty());
    }
    run.run("v_mov_b32_e32 v2, 7\n ds_gws_barrier v2 gds");
    EXPECT_EQ(run.gpu.completed.size(), 2U);
    run.expect_clean();
}

TEST(Gws, waves_that_wait_at_a_semaphore_are_restored) {
    Sync run;
    run.start(with_words(wait_and_note));
    run.gpu.run_all();
    ASSERT_TRUE(run.gpu.save_and_restore());
    run.gpu.run_all();
    EXPECT_EQ(run.passed(), 0U);
    run.run("v_mov_b32_e32 v2, " + std::to_string(groups) + "\n ds_gws_sema_br v2 gds");
    EXPECT_EQ(run.passed(), groups);
    run.expect_clean();
}

// A counter outlives the kernel that set it, also where the queue was off meanwhile.
TEST(Gws, a_queue_with_nothing_in_flight_keeps_its_resources) {
    Sync run({16, 8});
    run.init(groups - 1, "offset:7");
    const SavedQueue saved = run.gpu.save();
    EXPECT_EQ(saved.waves, 0U);
    EXPECT_FALSE(saved.control_stack.empty());
    run.gpu.replace_array();
    run.gpu.gws = {40, 8}; // another VMID
    ASSERT_TRUE(run.gpu.restore(saved));
    run.start(meeting("ds_gws_barrier v2 offset:7 gds"));
    run.gpu.run_all();
    run.expect_all_met();
    // As after reset: nothing to keep.
    run.init(0, "offset:7");
    EXPECT_FALSE(run.gpu.save().control_stack.empty()); // TYPE
    Sync unused;
    EXPECT_TRUE(unused.gpu.save().control_stack.empty());
}

TEST(Gws, resources_of_a_queue_that_lost_gws_are_forgotten) {
    Sync run;
    run.init(groups - 1);
    const SavedQueue saved = run.gpu.save();
    run.gpu.replace_array();
    run.gpu.controls_gws = false;
    ASSERT_TRUE(run.gpu.restore(saved));
    EXPECT_TRUE(run.gpu.save().control_stack.empty());
}

TEST(Gws, a_reset_takes_waiting_waves_away) {
    Sync run;
    run.init(groups - 1);
    run.start(meeting("ds_gws_barrier v2 gds"), groups - 1);
    run.gpu.run_all();
    run.gpu.array().request_stop(0, StopMode::reset);
    run.gpu.array().unbind(0);
    run.gpu.array().bind(run.gpu.queue());
    run.init(1);
    run.start(with_words("v_mov_b32_e32 v2, 1\n ds_gws_barrier v2 gds"), 2);
    run.gpu.run_all();
    EXPECT_EQ(run.gpu.completed.size(), 1U);
    run.expect_clean();
}

} // namespace vgpu::test
