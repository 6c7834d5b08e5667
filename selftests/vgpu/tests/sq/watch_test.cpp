// SPDX-License-Identifier: MIT
// Address watch: which accesses hit, which waves trap, and saves around a trap.
#include "tests/sq/support/assembler.hpp"
#include "tests/sq/support/gpu.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <map>

namespace vgpu::test {

namespace {

constexpr unsigned vmid = 8; // of Gpu::queue()
constexpr std::uint32_t valid = 1U << 31 | vmid << 24;
constexpr std::uint32_t exact = 0xff'ffff; // MASK: each line of 128 bytes is another
constexpr std::uint32_t read_mode = 0U << 29;
constexpr std::uint32_t nonread_mode = 1U << 29;
constexpr std::uint32_t atomic_mode = 2U << 29;
constexpr std::uint32_t all_mode = 3U << 29;
constexpr std::uint32_t enabled = 1U << 11; // EXCP_EN of SPI_GDBG_PER_VMID_CNTL
constexpr std::uint32_t replaced = 1U << 13;

constexpr std::uint64_t line = Gpu::data_va + 0x400; // what the tests watch
constexpr std::uint64_t log_va = Gpu::data_va + 0x8000;

const std::vector<std::uint32_t>& code_of(const std::string& text) {
    static std::map<std::string, std::vector<std::uint32_t>> assembled;
    const auto [code, is_new] = assembled.try_emplace(text);
    if (is_new) {
        code->second = assemble(text);
    }
    return code->second;
}

// The second level: notes TRAPSTS and PC, counts, clears the hits, returns.
const std::string counting_handler = R"(
    s_getreg_b32 ttmp2, hwreg(HW_REG_TRAPSTS)
    s_store_dword ttmp2, ttmp[14:15], 0x0
    s_store_dwordx2 ttmp[0:1], ttmp[14:15], 0x8
    s_mov_b32 ttmp3, 1
    s_atomic_add ttmp3, ttmp[14:15], 0x10
    s_mov_b32 ttmp3, 0
    s_setreg_b32 hwreg(HW_REG_TRAPSTS, 7, 1), ttmp3
    s_setreg_b32 hwreg(HW_REG_TRAPSTS, 12, 3), ttmp3
    s_and_b32 ttmp1, ttmp1, 0xffff
    s_setreg_b32 hwreg(HW_REG_STATUS), ttmp12
    s_rfe_b64 ttmp[0:1])";

// s[4:5]: data; lane 0 alone; v1: 0x400, v2: 7; s2: TRAPSTS at the end.
std::string kernel(const std::string& text) {
    return R"(
        s_load_dwordx2 s[4:5], s[0:1], 0x0
        s_mov_b64 exec, 1
        v_mov_b32_e32 v0, 0
        v_mov_b32_e32 v1, 0x400
        v_mov_b32_e32 v2, 7
        )" +
           text + R"(
        s_getreg_b32 s2, hwreg(HW_REG_TRAPSTS)
        s_mov_b64 exec, 1
        v_mov_b32_e32 v3, s2
        global_store_dword v0, v3, s[4:5]
        s_endpgm)";
}

class Watched {
public:
    explicit Watched(std::uint32_t debug_control = enabled) {
        constexpr std::uint64_t second_level = Gpu::trap_va + 0x4000;
        const auto& handler = code_of(counting_handler);
        gpu.load_trap_handler();
        std::memcpy(gpu.memory.at(second_level), handler.data(), handler.size() * 4);
        set_pair(Gpu::tma_va, second_level);
        set_pair(Gpu::tma_va + 8, log_va);
        set_pair(Gpu::kernarg_va, Gpu::data_va);
        gpu.debug_control = debug_control;
        gpu.array().bind(gpu.queue());
    }
    void watch(unsigned number, std::uint64_t address, std::uint32_t control) {
        gpu.array().set_watch(number, address & 0xffff'ffff'ffff, control);
    }
    void start(const std::string& text, bool traps_on_watch = false) {
        Kernel program;
        program.code = code_of(kernel(text));
        program.traps_on_watch = traps_on_watch;
        EXPECT_TRUE(gpu.array().dispatch(0, gpu.packet({}, gpu.load_kernel(program))));
    }
    void run(const std::string& text, bool traps_on_watch = false) {
        start(text, traps_on_watch);
        gpu.run_all();
        expect_clean();
    }
    void expect_clean() {
        EXPECT_EQ(gpu.completed.size(), 1U);
        EXPECT_EQ(gpu.failed_waves, 0U);
        EXPECT_TRUE(gpu.unmodelled_texts.empty())
            << (gpu.unmodelled_texts.empty() ? "" : gpu.unmodelled_texts[0]);
        gpu.completed.clear();
    }
    // How often the handler ran since the last time.
    unsigned traps() {
        const unsigned count = gpu.memory.word(log_va + 0x10);
        gpu.memory.set_word(log_va + 0x10, 0);
        return count;
    }
    std::uint32_t trapsts() { return gpu.memory.word(log_va) & hits; }
    // From the kernel's first instruction.
    std::uint64_t pc() {
        const std::uint64_t high = gpu.memory.word(log_va + 12) & 0xffff;
        return (gpu.memory.word(log_va + 8) | high << 32) - (Gpu::code_va + 256);
    }
    std::uint32_t trapsts_at_the_end() { return gpu.memory.word(Gpu::data_va) & hits; }

    static constexpr std::uint32_t hits = 0x7080;
    Gpu gpu;

private:
    void set_pair(std::uint64_t va, std::uint64_t value) {
        gpu.memory.set_word(va, static_cast<std::uint32_t>(value));
        gpu.memory.set_word(va + 4, static_cast<std::uint32_t>(value >> 32));
    }
};

const std::string load = "global_load_dword v4, v1, s[4:5]\n";
const std::string store = "global_store_dword v1, v2, s[4:5]\n";
const std::string atomic = "global_atomic_add v1, v2, s[4:5]\n";

} // namespace

TEST(Watch, a_wave_traps_behind_the_access_and_goes_on) {
    Watched run;
    run.watch(0, line, valid | exact | nonread_mode);
    run.run(store);
    EXPECT_EQ(run.traps(), 1U);
    EXPECT_EQ(run.trapsts(), 0x80U);
    EXPECT_EQ(run.pc(), 8U + 4 + 4 + 8 + 4 + 8); // behind the store
    EXPECT_EQ(run.gpu.memory.word(line), 7U);
    EXPECT_EQ(run.trapsts_at_the_end(), 0U); // the handler has cleared it
}

TEST(Watch, mode_says_which_accesses_hit) {
    const struct {
        std::uint32_t mode;
        unsigned of_load, of_store, of_atomic;
    } cases[] = {
        {read_mode, 1, 0, 0}, {nonread_mode, 0, 1, 1}, {atomic_mode, 0, 0, 1}, {all_mode, 1, 1, 1}};
    for (const auto& [mode, of_load, of_store, of_atomic] : cases) {
        Watched run;
        run.watch(0, line, valid | exact | mode);
        run.run(load);
        EXPECT_EQ(run.traps(), of_load) << std::hex << mode;
        run.run(store);
        EXPECT_EQ(run.traps(), of_store) << std::hex << mode;
        run.run(atomic);
        EXPECT_EQ(run.traps(), of_atomic) << std::hex << mode;
    }
}

TEST(Watch, buffers_and_flat_addresses_are_watched_and_scalar_loads_are_not) {
    Watched run;
    run.watch(0, line, valid | exact | all_mode);
    run.run("s_mov_b32 s6, -1\n s_mov_b32 s7, 0x20000\n buffer_load_dword v4, v1, s[4:7], 0 offen");
    EXPECT_EQ(run.traps(), 1U);
    run.run("v_mov_b32_e32 v6, s4\n v_mov_b32_e32 v7, s5\n v_add_co_u32_e32 v6, vcc, v1, v6\n"
            "flat_store_dword v[6:7], v2");
    EXPECT_EQ(run.traps(), 1U);
    run.run("s_load_dword s6, s[4:5], 0x400");
    EXPECT_EQ(run.traps(), 0U);
}

TEST(Watch, each_watch_has_its_bit) {
    const std::uint32_t bits[] = {0x80, 0x1000, 0x2000, 0x4000};
    for (unsigned i = 0; i < 4; ++i) {
        Watched run;
        run.watch(i, line, valid | exact | all_mode);
        run.run(store);
        EXPECT_EQ(run.traps(), 1U);
        EXPECT_EQ(run.trapsts(), bits[i]);
    }
    Watched both;
    both.watch(1, line, valid | exact | all_mode);
    both.watch(3, line, valid | exact | all_mode);
    both.run(store);
    EXPECT_EQ(both.traps(), 1U);
    EXPECT_EQ(both.trapsts(), 0x5000U);
}

TEST(Watch, address_and_mask_choose_lines_of_128_bytes) {
    Watched run;
    const auto traps_of = [&run](const std::string& text) {
        run.run(text);
        return run.traps();
    };
    run.watch(0, line, valid | exact | all_mode);
    EXPECT_EQ(traps_of("global_load_dword v4, v1, s[4:5] offset:124"), 1U);
    EXPECT_EQ(traps_of("global_load_dword v4, v1, s[4:5] offset:128"), 0U);
    EXPECT_EQ(traps_of("global_load_dword v4, v1, s[4:5] offset:-4"), 0U);
    // 64 lanes with a dword each, from 128 bytes below.
    EXPECT_EQ(traps_of("s_mov_b64 exec, -1\n v_mbcnt_lo_u32_b32 v5, -1, 0\n"
                       "v_mbcnt_hi_u32_b32 v5, -1, v5\n v_lshlrev_b32_e32 v5, 2, v5\n"
                       "v_add_u32_e32 v5, 0x380, v5\n global_load_dword v4, v5, s[4:5]"),
              1U);
    run.watch(0, line, valid | (exact & ~1U) | all_mode); // pairs of lines
    EXPECT_EQ(traps_of("global_load_dword v4, v1, s[4:5] offset:128"), 1U);
    EXPECT_EQ(traps_of("global_load_dword v4, v1, s[4:5] offset:256"), 0U);
    run.watch(0, line, valid | all_mode); // 2 GiB
    EXPECT_EQ(traps_of(load), 1U + 1U);   // and the store at the end of the kernel
    run.watch(0, line + (1ULL << 32), valid | all_mode);
    EXPECT_EQ(traps_of(load), 0U);
}

TEST(Watch, only_a_valid_watch_of_the_vmid_hits) {
    Watched run;
    run.watch(0, line, (valid & ~(1U << 31)) | exact | all_mode);
    run.run(store);
    EXPECT_EQ(run.traps(), 0U);
    run.watch(0, line, (1U << 31 | (vmid + 1) << 24) | exact | all_mode);
    run.run(store);
    EXPECT_EQ(run.traps(), 0U);
    run.watch(1, line + 0x1000, valid | exact | all_mode); // the VMID has another one
    run.run(store);
    EXPECT_EQ(run.traps(), 0U);
    EXPECT_EQ(run.trapsts_at_the_end(), 0U);
}

TEST(Watch, a_wave_that_does_not_trap_finds_the_hit_in_trapsts) {
    Watched run(0);
    run.watch(2, line, valid | exact | all_mode);
    run.run(store);
    EXPECT_EQ(run.traps(), 0U);
    EXPECT_EQ(run.trapsts_at_the_end(), 0x2000U);
}

TEST(Watch, program_and_debugger_say_whether_a_wave_traps) {
    const struct {
        std::uint32_t debug_control;
        bool by_program;
        unsigned traps;
    } cases[] = {
        {0, true, 1}, {enabled, false, 1}, {replaced, true, 0}, {replaced | enabled, false, 1}};
    for (const auto& [debug_control, by_program, traps] : cases) {
        Watched run(debug_control);
        run.watch(0, line, valid | exact | all_mode);
        run.run(store, by_program);
        EXPECT_EQ(run.traps(), traps) << std::hex << debug_control;
    }
}

TEST(Watch, a_watch_that_was_taken_away_hits_no_more) {
    Watched run;
    run.watch(0, line, valid | exact | all_mode);
    run.watch(0, line, 0);
    run.run(store);
    EXPECT_EQ(run.traps(), 0U);
}

// A hit is neither lost nor told twice, wherever the save comes.
TEST(Watch, every_instruction_around_a_hit_can_be_the_last_before_a_save) {
    const std::string text = store + "v_add_u32_e32 v2, 1, v2\n" + store + atomic;
    Watched reference;
    reference.watch(0, line, valid | exact | nonread_mode);
    reference.start(text);
    const std::uint64_t instructions = reference.gpu.run_all();
    reference.expect_clean();
    ASSERT_EQ(reference.traps(), 3U);
    for (std::uint64_t k = 0; k <= instructions; ++k) {
        Watched run;
        run.watch(0, line, valid | exact | nonread_mode);
        run.start(text);
        ASSERT_EQ(run.gpu.array().run(k), k);
        const SavedQueue saved = run.gpu.save();
        run.gpu.replace_array();
        run.watch(0, line, valid | exact | nonread_mode);
        ASSERT_TRUE(run.gpu.restore(saved));
        run.gpu.run_all();
        run.expect_clean();
        ASSERT_EQ(run.traps(), 3U) << "after instruction " << k;
        ASSERT_EQ(run.gpu.memory.word(line), 16U) << "after instruction " << k;
    }
}

} // namespace vgpu::test
