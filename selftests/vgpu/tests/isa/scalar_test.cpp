// SPDX-License-Identifier: MIT
// Scalar instructions: results, SCC, branches, special registers, hardware registers.
#include "tests/isa/snippets.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <random>

namespace vgpu::test {

namespace {

i32 s(u32 a) {
    return static_cast<i32>(a);
}
i64 s64(u64 a) {
    return static_cast<i64>(a);
}

constexpr u64 low32(u64 a) {
    return a & 0xffffffff;
}

// s[2:3] = op(s[4:5], s[6:7]) with SCC in; 32-bit forms use the low registers only.
struct Result {
    u64 value;
    bool scc;
};
struct Case {
    std::string text;
    bool wide; // the result is 64 bits
    std::function<Result(u64, u64, bool)> expected;
};

Result nonzero(u64 value) {
    return {value, value != 0};
}

const std::vector<Case> cases{
    {"s_add_u32 s2, s4, s6", false,
     [](u64 a, u64 b, bool) -> Result {
         const u64 sum = low32(a) + low32(b);
         return {low32(sum), sum >> 32 != 0};
     }},
    {"s_sub_u32 s2, s4, s6", false,
     [](u64 a, u64 b, bool) -> Result { return {low32(a - b), low32(b) > low32(a)}; }},
    {"s_add_i32 s2, s4, s6", false,
     [](u64 a, u64 b, bool) -> Result {
         const i64 sum = i64{s(static_cast<u32>(a))} + s(static_cast<u32>(b));
         return {low32(static_cast<u64>(sum)), sum != static_cast<i32>(sum)};
     }},
    {"s_sub_i32 s2, s4, s6", false,
     [](u64 a, u64 b, bool) -> Result {
         const i64 difference = i64{s(static_cast<u32>(a))} - s(static_cast<u32>(b));
         return {low32(static_cast<u64>(difference)), difference != static_cast<i32>(difference)};
     }},
    {"s_addc_u32 s2, s4, s6", false,
     [](u64 a, u64 b, bool scc) -> Result {
         const u64 sum = low32(a) + low32(b) + (scc ? 1 : 0);
         return {low32(sum), sum >> 32 != 0};
     }},
    {"s_subb_u32 s2, s4, s6", false,
     [](u64 a, u64 b, bool scc) -> Result {
         const i64 difference = s64(low32(a)) - s64(low32(b)) - (scc ? 1 : 0);
         return {low32(static_cast<u64>(difference)), difference < 0};
     }},
    {"s_min_i32 s2, s4, s6", false,
     [](u64 a, u64 b, bool) -> Result {
         const bool first = s(static_cast<u32>(a)) < s(static_cast<u32>(b));
         return {low32(first ? a : b), first};
     }},
    {"s_max_u32 s2, s4, s6", false,
     [](u64 a, u64 b, bool) -> Result {
         const bool first = low32(a) > low32(b);
         return {low32(first ? a : b), first};
     }},
    {"s_cselect_b32 s2, s4, s6", false,
     [](u64 a, u64 b, bool scc) -> Result { return {low32(scc ? a : b), scc}; }},
    {"s_cselect_b64 s[2:3], s[4:5], s[6:7]", true,
     [](u64 a, u64 b, bool scc) -> Result { return {scc ? a : b, scc}; }},
    {"s_and_b64 s[2:3], s[4:5], s[6:7]", true, [](u64 a, u64 b, bool) { return nonzero(a & b); }},
    {"s_or_b32 s2, s4, s6", false, [](u64 a, u64 b, bool) { return nonzero(low32(a | b)); }},
    {"s_xor_b64 s[2:3], s[4:5], s[6:7]", true, [](u64 a, u64 b, bool) { return nonzero(a ^ b); }},
    {"s_andn2_b64 s[2:3], s[4:5], s[6:7]", true,
     [](u64 a, u64 b, bool) { return nonzero(a & ~b); }},
    {"s_orn2_b32 s2, s4, s6", false, [](u64 a, u64 b, bool) { return nonzero(low32(a | ~b)); }},
    {"s_nand_b64 s[2:3], s[4:5], s[6:7]", true,
     [](u64 a, u64 b, bool) { return nonzero(~(a & b)); }},
    {"s_nor_b64 s[2:3], s[4:5], s[6:7]", true,
     [](u64 a, u64 b, bool) { return nonzero(~(a | b)); }},
    {"s_xnor_b32 s2, s4, s6", false, [](u64 a, u64 b, bool) { return nonzero(low32(~(a ^ b))); }},
    {"s_lshl_b32 s2, s4, s6", false,
     [](u64 a, u64 b, bool) { return nonzero(low32(low32(a) << (b % 32))); }},
    {"s_lshl_b64 s[2:3], s[4:5], s6", true,
     [](u64 a, u64 b, bool) { return nonzero(a << (b % 64)); }},
    {"s_lshr_b64 s[2:3], s[4:5], s6", true,
     [](u64 a, u64 b, bool) { return nonzero(a >> (b % 64)); }},
    {"s_ashr_i32 s2, s4, s6", false,
     [](u64 a, u64 b, bool) {
         return nonzero(low32(static_cast<u64>(i64{s(static_cast<u32>(a))} >> (b % 32))));
     }},
    {"s_ashr_i64 s[2:3], s[4:5], s6", true,
     [](u64 a, u64 b, bool) { return nonzero(static_cast<u64>(s64(a) >> (b % 64))); }},
    {"s_bfm_b32 s2, s4, s6", false,
     [](u64 a, u64 b, bool scc) -> Result {
         return {low32(((u64{1} << (a % 32)) - 1) << (b % 32)), scc};
     }},
    {"s_bfm_b64 s[2:3], s4, s6", true,
     [](u64 a, u64 b, bool scc) -> Result {
         return {((u64{1} << (a % 64)) - 1) << (b % 64), scc};
     }},
    {"s_mul_i32 s2, s4, s6", false,
     [](u64 a, u64 b, bool scc) -> Result { return {low32(a * b), scc}; }},
    {"s_mul_hi_u32 s2, s4, s6", false,
     [](u64 a, u64 b, bool scc) -> Result { return {low32(a) * low32(b) >> 32, scc}; }},
    {"s_mul_hi_i32 s2, s4, s6", false,
     [](u64 a, u64 b, bool scc) -> Result {
         const i64 product = i64{s(static_cast<u32>(a))} * s(static_cast<u32>(b));
         return {low32(static_cast<u64>(product >> 32)), scc};
     }},
    {"s_bfe_u32 s2, s4, 0x90007", false, [](u64 a, u64, bool) { return nonzero(a >> 7 & 0x1ff); }},
    {"s_bfe_i32 s2, s4, 0x90007", false,
     [](u64 a, u64, bool) { return nonzero(low32(static_cast<u64>(s64(a << 48) >> 55))); }},
    {"s_bfe_u64 s[2:3], s[4:5], 0x2c0011", true,
     [](u64 a, u64, bool) { return nonzero(a >> 17 & ((u64{1} << 44) - 1)); }},
    {"s_bfe_i64 s[2:3], s[4:5], 0x2c0011", true,
     [](u64 a, u64, bool) { return nonzero(static_cast<u64>(s64(a << 3) >> 20)); }},
    {"s_absdiff_i32 s2, s4, s6", false,
     [](u64 a, u64 b, bool) {
         const i64 d = i64{s(static_cast<u32>(a))} - s(static_cast<u32>(b));
         return nonzero(low32(static_cast<u64>(d < 0 ? -d : d)));
     }},
    {"s_lshl3_add_u32 s2, s4, s6", false,
     [](u64 a, u64 b, bool) -> Result {
         const u64 sum = (low32(a) << 3) + low32(b);
         return {low32(sum), sum >> 32 != 0};
     }},
    {"s_pack_lh_b32_b16 s2, s4, s6", false,
     [](u64 a, u64 b, bool scc) -> Result { return {(a & 0xffff) | (b & 0xffff0000), scc}; }},
    {"s_mov_b64 s[2:3], s[4:5]", true, [](u64 a, u64, bool scc) -> Result { return {a, scc}; }},
    {"s_mov_b32 s2, 0x12345678", false,
     [](u64, u64, bool scc) -> Result { return {0x12345678, scc}; }},
    {"s_mov_b64 s[2:3], -7", true,
     [](u64, u64, bool scc) -> Result { return {static_cast<u64>(-7), scc}; }},
    {"s_not_b64 s[2:3], s[4:5]", true, [](u64 a, u64, bool) { return nonzero(~a); }},
    {"s_brev_b64 s[2:3], s[4:5]", true,
     [](u64 a, u64, bool scc) -> Result {
         u64 r = 0;
         for (unsigned i = 0; i < 64; ++i) {
             r |= (a >> i & 1) << (63 - i);
         }
         return {r, scc};
     }},
    {"s_bcnt1_i32_b64 s2, s[4:5]", false,
     [](u64 a, u64, bool) { return nonzero(static_cast<u64>(std::popcount(a))); }},
    {"s_bcnt0_i32_b32 s2, s4", false,
     [](u64 a, u64, bool) { return nonzero(static_cast<u64>(32 - std::popcount(low32(a)))); }},
    {"s_ff1_i32_b64 s2, s[4:5]", false,
     [](u64 a, u64, bool scc) -> Result {
         return {a == 0 ? 0xffffffff : static_cast<u64>(std::countr_zero(a)), scc};
     }},
    {"s_ff0_i32_b32 s2, s4", false,
     [](u64 a, u64, bool scc) -> Result {
         const u32 v = static_cast<u32>(~a);
         return {v == 0 ? 0xffffffff : static_cast<u64>(std::countr_zero(v)), scc};
     }},
    {"s_flbit_i32_b32 s2, s4", false,
     [](u64 a, u64, bool scc) -> Result {
         const u32 v = static_cast<u32>(a);
         return {v == 0 ? 0xffffffff : static_cast<u64>(std::countl_zero(v)), scc};
     }},
    {"s_sext_i32_i8 s2, s4", false,
     [](u64 a, u64, bool scc) -> Result {
         return {low32(static_cast<u64>(i64{static_cast<std::int8_t>(a)})), scc};
     }},
    {"s_abs_i32 s2, s4", false,
     [](u64 a, u64, bool) {
         const i64 v = s(static_cast<u32>(a));
         return nonzero(low32(static_cast<u64>(v < 0 ? -v : v)));
     }},
    {"s_cmp_gt_i32 s4, s6\n s_cselect_b32 s2, 1, 0", false,
     [](u64 a, u64 b, bool) {
         return nonzero(s(static_cast<u32>(a)) > s(static_cast<u32>(b)) ? 1 : 0);
     }},
    {"s_cmp_lt_u32 s4, s6\n s_cselect_b32 s2, 1, 0", false,
     [](u64 a, u64 b, bool) { return nonzero(low32(a) < low32(b) ? 1 : 0); }},
    {"s_cmp_eq_u64 s[4:5], s[6:7]\n s_cselect_b32 s2, 1, 0", false,
     [](u64 a, u64 b, bool) { return nonzero(a == b ? 1 : 0); }},
    {"s_bitcmp1_b64 s[4:5], s6\n s_cselect_b32 s2, 1, 0", false,
     [](u64 a, u64 b, bool) { return nonzero(a >> (b % 64) & 1); }},
    {"s_bitcmp0_b32 s4, s6\n s_cselect_b32 s2, 1, 0", false,
     [](u64 a, u64 b, bool) { return nonzero(~a >> (b % 32) & 1); }},
    {"s_mov_b32 s2, s4\n s_bitset1_b32 s2, s6", false,
     [](u64 a, u64 b, bool scc) -> Result { return {low32(a) | u64{1} << (b % 32), scc}; }},
    {"s_movk_i32 s2, 0x8001", false,
     [](u64, u64, bool scc) -> Result { return {0xffff8001, scc}; }},
    {"s_mov_b32 s2, s4\n s_addk_i32 s2, -3", false,
     [](u64 a, u64, bool) -> Result {
         const i64 sum = i64{s(static_cast<u32>(a))} - 3;
         return {low32(static_cast<u64>(sum)), sum != static_cast<i32>(sum)};
     }},
    {"s_mov_b32 s2, s4\n s_mulk_i32 s2, -3", false,
     [](u64 a, u64, bool scc) -> Result { return {low32(a * static_cast<u64>(-3)), scc}; }},
    {"s_cmpk_lt_u32 s4, 0xfff0\n s_cselect_b32 s2, 1, 0", false,
     [](u64 a, u64, bool) { return nonzero(low32(a) < 0xfff0 ? 1 : 0); }},
    {"s_cmpk_lt_i32 s4, 0xfff0\n s_cselect_b32 s2, 1, 0", false,
     [](u64 a, u64, bool) { return nonzero(s(static_cast<u32>(a)) < -16 ? 1 : 0); }},
};

std::vector<std::string> texts_of(const std::vector<Case>& list) {
    std::vector<std::string> texts;
    for (const Case& test : list) {
        texts.push_back(test.text);
    }
    return texts;
}

u64 pair(const isa::WaveState& wave, unsigned sgpr) {
    return wave.sgpr[sgpr] | u64{wave.sgpr[sgpr + 1]} << 32;
}
void set_pair(isa::WaveState& wave, unsigned sgpr, u64 value) {
    wave.sgpr[sgpr] = static_cast<u32>(value);
    wave.sgpr[sgpr + 1] = static_cast<u32>(value >> 32);
}

} // namespace

TEST(Scalar, results_and_scc_match_the_host) {
    Snippets snippets(texts_of(cases));
    std::mt19937_64 random(99);
    const u64 special[] = {0,  1,  0xffffffff, 0x80000000, ~0ULL, 1ULL << 63, 0x7fffffff7fffffff,
                           32, 33, 63};
    for (std::size_t i = 0; i < cases.size(); ++i) {
        for (unsigned round = 0; round < 300; ++round) {
            isa::WaveState wave = snippets.wave();
            const auto pick = [&] {
                const u64 value = random();
                return value % 3 == 0 ? special[value / 3 % std::size(special)] : random();
            };
            const u64 a = pick();
            const u64 b = round % 7 == 0 ? a : pick();
            const bool scc = round % 2 == 0;
            set_pair(wave, 4, a);
            set_pair(wave, 6, b);
            wave.scc = scc;
            ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended)
                << cases[i].text << ": " << snippets.problem;
            const Result expected = cases[i].expected(a, b, scc);
            const u64 value = cases[i].wide ? pair(wave, 2) : wave.sgpr[2];
            ASSERT_EQ(value, expected.value) << cases[i].text << std::hex << ' ' << a << ' ' << b;
            ASSERT_EQ(wave.scc, expected.scc) << cases[i].text << std::hex << ' ' << a << ' ' << b;
        }
    }
}

TEST(Scalar, branches) {
    const std::vector<std::pair<std::string, std::function<void(isa::WaveState&, bool)>>> list{
        {"s_cbranch_scc1", [](isa::WaveState& w, bool on) { w.scc = on; }},
        {"s_cbranch_scc0", [](isa::WaveState& w, bool on) { w.scc = !on; }},
        {"s_cbranch_vccz", [](isa::WaveState& w, bool on) { w.sgpr[111] = on ? 0 : 4; }},
        {"s_cbranch_vccnz", [](isa::WaveState& w, bool on) { w.sgpr[111] = on ? 4 : 0; }},
        {"s_cbranch_execz", [](isa::WaveState& w, bool on) { w.exec = on ? 0 : 2; }},
        {"s_cbranch_execnz", [](isa::WaveState& w, bool on) { w.exec = on ? 2 : 0; }},
    };
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < list.size(); ++i) {
        const std::string label = "over" + std::to_string(i);
        texts.push_back(
            fmt::format("{} {}\n s_mov_b32 s2, 1\n{}:\n s_nop 0", list[i].first, label, label));
    }
    texts.emplace_back("s_movk_i32 s2, 5\nback:\n s_add_u32 s3, s3, s2\n s_sub_u32 s2, s2, 1\n"
                       " s_cmp_lg_u32 s2, 0\n s_cbranch_scc1 back");
    texts.emplace_back("s_getpc_b64 s[2:3]\nhere:\n s_add_u32 s4, s2, there-here\n"
                       " s_addc_u32 s5, s3, 0\n s_swappc_b64 s[6:7], s[4:5]\n s_mov_b32 s10, 1\n"
                       " s_branch done\nthere:\n s_mov_b32 s11, 1\n s_setpc_b64 s[6:7]\ndone:");
    texts.emplace_back("s_call_b64 s[6:7], callee\n s_mov_b32 s10, 1\n s_branch finish\n"
                       "callee:\n s_mov_b32 s11, 1\n s_setpc_b64 s[6:7]\nfinish:");
    Snippets snippets(texts);
    for (std::size_t i = 0; i < list.size(); ++i) {
        for (const bool on : {false, true}) {
            isa::WaveState wave = snippets.wave();
            list[i].second(wave, on);
            ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended);
            EXPECT_EQ(wave.sgpr[2], on ? 0U : 1U) << list[i].first;
        }
    }
    isa::WaveState loop = snippets.wave();
    ASSERT_EQ(snippets.run(list.size(), loop), isa::Outcome::ended);
    EXPECT_EQ(loop.sgpr[3], 15U);
    for (std::size_t i = list.size() + 1; i < texts.size(); ++i) {
        isa::WaveState call = snippets.wave();
        ASSERT_EQ(snippets.run(i, call), isa::Outcome::ended) << snippets.problem;
        EXPECT_EQ(call.sgpr[10], 1U);
        EXPECT_EQ(call.sgpr[11], 1U);
    }
}

TEST(Scalar, exec_masks) {
    const std::vector<std::pair<std::string, std::function<u64(u64, u64)>>> list{
        {"s_and_saveexec_b64", [](u64 src, u64 exec) { return src & exec; }},
        {"s_or_saveexec_b64", [](u64 src, u64 exec) { return src | exec; }},
        {"s_xor_saveexec_b64", [](u64 src, u64 exec) { return src ^ exec; }},
        {"s_andn2_saveexec_b64", [](u64 src, u64 exec) { return src & ~exec; }},
        {"s_orn2_saveexec_b64", [](u64 src, u64 exec) { return src | ~exec; }},
        {"s_nand_saveexec_b64", [](u64 src, u64 exec) { return ~(src & exec); }},
        {"s_andn1_saveexec_b64", [](u64 src, u64 exec) { return ~src & exec; }},
        {"s_andn2_wrexec_b64", [](u64 src, u64 exec) { return src & ~exec; }},
    };
    std::vector<std::string> texts;
    for (const auto& test : list) {
        texts.push_back(test.first + " s[2:3], s[4:5]");
    }
    Snippets snippets(texts);
    std::mt19937_64 random(1);
    for (std::size_t i = 0; i < list.size(); ++i) {
        isa::WaveState wave = snippets.wave();
        const u64 source = random();
        const u64 exec = random();
        set_pair(wave, 4, source);
        wave.exec = exec;
        ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended);
        const u64 expected = list[i].second(source, exec);
        EXPECT_EQ(wave.exec, expected) << list[i].first;
        EXPECT_EQ(pair(wave, 2),
                  list[i].first.find("wrexec") != std::string::npos ? expected : exec);
        EXPECT_EQ(wave.scc, expected != 0);
    }
}

TEST(Scalar, special_registers_sit_at_the_end_of_the_allocation) {
    Snippets snippets({("s_mov_b32 flat_scratch_lo, 1\n s_mov_b32 flat_scratch_hi, 2\n"
                        " s_mov_b32 xnack_mask_lo, 3\n s_mov_b32 xnack_mask_hi, 4\n"
                        " s_mov_b32 vcc_lo, 5\n s_mov_b32 vcc_hi, 6"),
                       "s_mov_b32 m0, 14\n s_movrels_b64 s[2:3], s[96:97]",
                       "s_mov_b32 m0, 8\n s_mov_b64 s[2:3], 9\n s_movreld_b64 s[4:5], s[2:3]",
                       "s_mov_b32 m0, 16\n s_movrels_b32 s2, s96",
                       "s_mov_b64 s[2:3], src_shared_base\n s_mov_b64 s[4:5], src_private_base"});
    isa::WaveState wave = snippets.wave();
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended);
    for (u32 i = 0; i < 6; ++i) {
        EXPECT_EQ(wave.sgpr[106 + i], i + 1);
    }
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(pair(wave, 2), 0x6'0000'0005ULL); // VCC
    ASSERT_EQ(snippets.run(2, wave), isa::Outcome::ended);
    EXPECT_EQ(pair(wave, 12), 9U);
    EXPECT_EQ(snippets.run(3, wave), isa::Outcome::illegal);
    ASSERT_EQ(snippets.run(4, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(pair(wave, 2), 2ULL << 48);
    EXPECT_EQ(pair(wave, 4), 1ULL << 48);
}

TEST(Scalar, registers_beyond_the_allocation_are_refused) {
    Snippets snippets({"s_mov_b32 s2, s40", "s_mov_b32 s40, 1"});
    for (std::size_t i = 0; i < 2; ++i) {
        isa::WaveState wave = snippets.wave();
        wave.sgpr.resize(32);
        EXPECT_EQ(snippets.run(i, wave), isa::Outcome::illegal);
        EXPECT_EQ(snippets.problem, "SGPR beyond the allocation");
    }
}

TEST(Scalar, hardware_registers_read_as_the_trap_handler_expects) {
    Snippets snippets({"s_getreg_b32 s2, hwreg(HW_REG_GPR_ALLOC, 6, 6)\n"
                       " s_getreg_b32 s3, hwreg(HW_REG_GPR_ALLOC, 12, 6)\n"
                       " s_getreg_b32 s4, hwreg(HW_REG_GPR_ALLOC, 24, 3)\n"
                       " s_getreg_b32 s5, hwreg(HW_REG_LDS_ALLOC, 12, 9)\n"
                       " s_getreg_b32 s6, hwreg(HW_REG_HW_ID)\n"
                       " s_getreg_b32 s7, hwreg(HW_REG_IB_STS)\n"
                       " s_getreg_b32 s8, hwreg(HW_REG_XCC_ID)\n"
                       " s_getreg_b32 s9, hwreg(HW_REG_TMA_LO)\n"
                       " s_getreg_b32 s10, hwreg(HW_REG_TMA_HI)",
                       "s_getreg_b32 s2, hwreg(HW_REG_STATUS)",
                       ("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 5\n"
                        " s_getreg_b32 s2, hwreg(HW_REG_MODE)"),
                       ("s_mov_b32 s3, -1\n s_setreg_b32 hwreg(HW_REG_TRAPSTS), s3\n"
                        " s_getreg_b32 s2, hwreg(HW_REG_TRAPSTS)"),
                       ("s_mov_b32 s3, -1\n s_setreg_b32 hwreg(HW_REG_STATUS), s3\n"
                        " s_getreg_b32 s2, hwreg(HW_REG_STATUS)"),
                       "s_getreg_b32 s2, hwreg(10)"});
    isa::WaveState wave = snippets.wave();
    wave.gpr_alloc = 5U << 6 | 7U << 12 | 6U << 24;
    wave.lds_alloc = 0x102U << 12;
    wave.hw_id = 0x00800123;
    wave.xcc_id = 3;
    wave.tma = 0xffff'ffbf'1000;
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(wave.sgpr[2], 5U);
    EXPECT_EQ(wave.sgpr[3], 7U);
    EXPECT_EQ(wave.sgpr[4], 6U);
    EXPECT_EQ(wave.sgpr[5], 0x102U);
    EXPECT_EQ(wave.sgpr[6], 0x00800123U);
    EXPECT_EQ(wave.sgpr[7], 0U);
    EXPECT_EQ(wave.sgpr[8], 3U);
    EXPECT_EQ(wave.sgpr[9], 0xffffbf10U);
    EXPECT_EQ(wave.sgpr[10], 0xffU);

    wave.exec = 0;
    wave.scc = true;
    wave.status = isa::status::valid;
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended);
    EXPECT_EQ(wave.sgpr[2],
              isa::status::valid | isa::status::scc | isa::status::execz | isa::status::vccz);
    ASSERT_EQ(snippets.run(2, wave), isa::Outcome::ended);
    EXPECT_EQ(wave.sgpr[2], 0x50U);
    // A program may not raise SAVECTX, nor touch anything but SCC in STATUS.
    ASSERT_EQ(snippets.run(3, wave), isa::Outcome::ended);
    EXPECT_EQ(wave.sgpr[2], 0x1ffU);
    ASSERT_EQ(snippets.run(4, wave), isa::Outcome::ended);
    EXPECT_EQ(wave.status, isa::status::valid);
    // The trap handler may, but PRIV and the like stay the sequencer's.
    wave.priv = true;
    ASSERT_EQ(snippets.run(4, wave), isa::Outcome::ended);
    EXPECT_NE(wave.status & isa::status::halt, 0U);
    EXPECT_EQ(wave.status & (isa::status::priv | isa::status::execz), 0U);
    EXPECT_EQ(snippets.run(5, wave), isa::Outcome::illegal);
}

TEST(Scalar, wave_that_asks_to_trap_on_floating_point_is_reported) {
    Snippets snippets({"s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 7), 4",
                       "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 12, 9), 0x180",
                       "s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0x2f0"});
    isa::WaveState wave = snippets.wave();
    EXPECT_EQ(snippets.run(0, wave), isa::Outcome::illegal);
    wave = snippets.wave();
    EXPECT_EQ(snippets.run(1, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(snippets.run(2, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(wave.mode, 0x2f0U);
    wave.priv = true; // the trap handler restores MODE
    EXPECT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
}

TEST(Scalar, trap_temporaries_belong_to_the_trap_handler) {
    Snippets snippets({"s_mov_b32 ttmp4, 7\n s_mov_b32 s2, ttmp4"});
    isa::WaveState wave = snippets.wave();
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended);
    EXPECT_EQ(wave.sgpr[2], 0U);
    wave.priv = true;
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended);
    EXPECT_EQ(wave.sgpr[2], 7U);
}

TEST(Scalar, privileged_instructions_outside_the_trap_handler_are_refused) {
    Snippets snippets({"s_rfe_b64 s[2:3]", "s_endpgm_saved"});
    for (std::size_t i = 0; i < 2; ++i) {
        isa::WaveState wave = snippets.wave();
        EXPECT_EQ(snippets.run(i, wave), isa::Outcome::illegal);
    }
}

} // namespace vgpu::test
