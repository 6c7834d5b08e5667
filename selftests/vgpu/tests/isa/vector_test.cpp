// SPDX-License-Identifier: MIT
// Vector ALU results, lane by lane, against the host's arithmetic on random operands.
#include "tests/isa/snippets.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <functional>
#include <random>

namespace vgpu::test {

namespace {

i32 s(u32 a) {
    return static_cast<i32>(a);
}
u32 u(i64 a) {
    return static_cast<u32>(a);
}
float f(u32 a) {
    return std::bit_cast<float>(a);
}
u32 bits(float a) {
    return std::bit_cast<u32>(a);
}

// Values that instructions stumble over, mixed with random ones.
class Operands {
public:
    u32 next() {
        static constexpr u32 special[] = {0,          1,          31,         32,         33,
                                          63,         0xffffffff, 0x80000000, 0x7fffffff, 0xffff,
                                          0x00ffffff, 0x00800000, 0x3f800000, 0xbf800000};
        const u32 value = static_cast<u32>(random_());
        return value % 3 == 0 ? special[value / 3 % std::size(special)] : value;
    }
    u64 next64() { return u64{next()} << 32 | next(); }
    float next_float() {
        std::uniform_real_distribution<float> distribution(-1e6F, 1e6F);
        return distribution(random_);
    }

private:
    std::mt19937 random_{20260101};
};

// v2 = op(v4, v6, v8); 64-bit forms use the register pairs. VCC is an input of some.
struct Case {
    std::string text;
    std::function<u32(u32, u32, u32)> expected;
};

const std::vector<Case> cases32{
    {"v_mov_b32 v2, v4", [](u32 a, u32, u32) { return a; }},
    {"v_not_b32 v2, v4", [](u32 a, u32, u32) { return ~a; }},
    {"v_bfrev_b32 v2, v4",
     [](u32 a, u32, u32) {
         u32 r = 0;
         for (unsigned i = 0; i < 32; ++i) {
             r |= (a >> i & 1) << (31 - i);
         }
         return r;
     }},
    {"v_ffbh_u32 v2, v4", [](u32 a, u32, u32) { return a == 0 ? ~0U : u(__builtin_clz(a)); }},
    {"v_ffbl_b32 v2, v4", [](u32 a, u32, u32) { return a == 0 ? ~0U : u(__builtin_ctz(a)); }},
    {"v_ffbh_i32 v2, v4",
     [](u32 a, u32, u32) { return a == 0 || a == ~0U ? ~0U : u(__builtin_clrsb(s(a)) + 1); }},
    {"v_add_u32 v2, v4, v6", [](u32 a, u32 b, u32) { return a + b; }},
    {"v_sub_u32 v2, v4, v6", [](u32 a, u32 b, u32) { return a - b; }},
    {"v_subrev_u32 v2, v4, v6", [](u32 a, u32 b, u32) { return b - a; }},
    {"v_add_u32 v2, 17, v6", [](u32, u32 b, u32) { return 17 + b; }},
    {"v_add_u32 v2, -5, v6", [](u32, u32 b, u32) { return b - 5; }},
    {"v_add_u32 v2, 0x12345, v6", [](u32, u32 b, u32) { return 0x12345 + b; }},
    {"v_add_u32 v2, s10, v6", [](u32, u32 b, u32) { return 0xabcdef01 + b; }},
    {"v_add_u32 v2, 1.0, v6", [](u32, u32 b, u32) { return 0x3f800000 + b; }},
    {"v_and_b32 v2, v4, v6", [](u32 a, u32 b, u32) { return a & b; }},
    {"v_or_b32 v2, v4, v6", [](u32 a, u32 b, u32) { return a | b; }},
    {"v_xor_b32 v2, v4, v6", [](u32 a, u32 b, u32) { return a ^ b; }},
    {"v_xnor_b32 v2, v4, v6", [](u32 a, u32 b, u32) { return ~(a ^ b); }},
    {"v_lshlrev_b32 v2, v4, v6", [](u32 a, u32 b, u32) { return b << (a % 32); }},
    {"v_lshrrev_b32 v2, v4, v6", [](u32 a, u32 b, u32) { return b >> (a % 32); }},
    {"v_ashrrev_i32 v2, v4, v6", [](u32 a, u32 b, u32) { return u(s(b) >> (a % 32)); }},
    {"v_min_i32 v2, v4, v6", [](u32 a, u32 b, u32) { return u(std::min(s(a), s(b))); }},
    {"v_max_i32 v2, v4, v6", [](u32 a, u32 b, u32) { return u(std::max(s(a), s(b))); }},
    {"v_min_u32 v2, v4, v6", [](u32 a, u32 b, u32) { return std::min(a, b); }},
    {"v_max_u32 v2, v4, v6", [](u32 a, u32 b, u32) { return std::max(a, b); }},
    {"v_mul_u32_u24 v2, v4, v6", [](u32 a, u32 b, u32) { return (a & 0xffffff) * (b & 0xffffff); }},
    {"v_mul_i32_i24 v2, v4, v6",
     [](u32 a, u32 b, u32) { return u(i64{s(a << 8) >> 8} * (s(b << 8) >> 8)); }},
    {"v_mul_hi_u32_u24 v2, v4, v6",
     [](u32 a, u32 b, u32) { return u(i64{a & 0xffffff} * (b & 0xffffff) >> 32); }},
    {"v_mul_hi_i32_i24 v2, v4, v6",
     [](u32 a, u32 b, u32) { return u(i64{s(a << 8) >> 8} * (s(b << 8) >> 8) >> 32); }},
    {"v_add_u16 v2, v4, v6", [](u32 a, u32 b, u32) { return (a + b) & 0xffff; }},
    {"v_lshlrev_b16 v2, v4, v6", [](u32 a, u32 b, u32) { return b << (a % 16) & 0xffff; }},
    {"v_mul_lo_u32 v2, v4, v6", [](u32 a, u32 b, u32) { return a * b; }},
    {"v_mul_hi_u32 v2, v4, v6", [](u32 a, u32 b, u32) { return u(i64(u64{a} * b >> 32)); }},
    {"v_mul_hi_i32 v2, v4, v6", [](u32 a, u32 b, u32) { return u(i64{s(a)} * s(b) >> 32); }},
    {"v_bcnt_u32_b32 v2, v4, v6", [](u32 a, u32 b, u32) { return u(__builtin_popcount(a)) + b; }},
    {"v_bfm_b32 v2, v4, v6", [](u32 a, u32 b, u32) { return ((1U << (a % 32)) - 1) << (b % 32); }},
    {"v_mad_u32_u24 v2, v4, v6, v8",
     [](u32 a, u32 b, u32 c) { return (a & 0xffffff) * (b & 0xffffff) + c; }},
    {"v_mad_i32_i24 v2, v4, v6, v8",
     [](u32 a, u32 b, u32 c) { return u(i64{s(a << 8) >> 8} * (s(b << 8) >> 8)) + c; }},
    {"v_bfe_u32 v2, v4, v6, v8",
     [](u32 a, u32 b, u32 c) { return u(i64((u64{a} >> (b % 32)) & ((u64{1} << (c % 32)) - 1))); }},
    {"v_bfe_i32 v2, v4, v6, v8",
     [](u32 a, u32 b, u32 c) {
         const u32 width = c % 32;
         if (width == 0) {
             return 0U;
         }
         // Bits beyond 31 are copies of the sign of the source.
         const u64 field = static_cast<u64>(i64{s(a)} >> (b % 32));
         return u(static_cast<i64>(field << (64 - width)) >> (64 - width));
     }},
    {"v_bfi_b32 v2, v4, v6, v8", [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); }},
    {"v_alignbit_b32 v2, v4, v6, v8",
     [](u32 a, u32 b, u32 c) { return u(i64((u64{a} << 32 | b) >> (c % 32))); }},
    {"v_alignbyte_b32 v2, v4, v6, v8",
     [](u32 a, u32 b, u32 c) { return u(i64((u64{a} << 32 | b) >> (c % 4 * 8))); }},
    {"v_min3_u32 v2, v4, v6, v8", [](u32 a, u32 b, u32 c) { return std::min(a, std::min(b, c)); }},
    {"v_max3_i32 v2, v4, v6, v8",
     [](u32 a, u32 b, u32 c) { return u(std::max(s(a), std::max(s(b), s(c)))); }},
    {"v_med3_u32 v2, v4, v6, v8",
     [](u32 a, u32 b, u32 c) {
         return a + b + c - std::max(a, std::max(b, c)) - std::min(a, std::min(b, c));
     }},
    {"v_sad_u32 v2, v4, v6, v8", [](u32 a, u32 b, u32 c) { return (a > b ? a - b : b - a) + c; }},
    {"v_xad_u32 v2, v4, v6, v8", [](u32 a, u32 b, u32 c) { return (a ^ b) + c; }},
    {"v_lshl_add_u32 v2, v4, v6, v8", [](u32 a, u32 b, u32 c) { return (a << (b % 32)) + c; }},
    {"v_add_lshl_u32 v2, v4, v6, v8", [](u32 a, u32 b, u32 c) { return (a + b) << (c % 32); }},
    {"v_add3_u32 v2, v4, v6, v8", [](u32 a, u32 b, u32 c) { return a + b + c; }},
    {"v_lshl_or_b32 v2, v4, v6, v8", [](u32 a, u32 b, u32 c) { return a << (b % 32) | c; }},
    {"v_and_or_b32 v2, v4, v6, v8", [](u32 a, u32 b, u32 c) { return (a & b) | c; }},
    {"v_or3_b32 v2, v4, v6, v8", [](u32 a, u32 b, u32 c) { return a | b | c; }},
    {"v_mov_b32 v2, v4\n v_mov_b32 v2, v2", [](u32 a, u32, u32) { return a; }},
    // The destination among the sources.
    {"v_mov_b32 v2, v4\n v_sub_u32 v2, v6, v2", [](u32 a, u32 b, u32) { return b - a; }},
    {"v_mov_b32 v2, v4\n v_lshl_add_u32 v2, v2, 3, v2", [](u32 a, u32, u32) { return 9 * a; }},
    {"v_mov_b32 v2, v4\n v_not_b32 v2, v2", [](u32 a, u32, u32) { return ~a; }},
    {"v_accvgpr_write_b32 a7, v4\n v_accvgpr_read_b32 v2, a7", [](u32 a, u32, u32) { return a; }},
    {"v_accvgpr_write_b32 a7, v4\n v_accvgpr_mov_b32 a9, a7\n v_accvgpr_read_b32 v2, a9",
     [](u32 a, u32, u32) { return a; }},
    // MODE.GPR_IDX_EN: source 0 and destination shifted by M0.
    {"s_mov_b32 s11, 2\n s_set_gpr_idx_on s11, gpr_idx(SRC0)\n v_mov_b32 v2, v2\n"
     " s_set_gpr_idx_off",
     [](u32 a, u32, u32) { return a; }},
    {"s_mov_b32 s11, 1\n s_set_gpr_idx_on s11, gpr_idx(DST)\n v_mov_b32 v1, v6\n"
     " s_set_gpr_idx_off",
     [](u32, u32 b, u32) { return b; }},
};

std::vector<std::string> texts_of(const std::vector<Case>& cases) {
    std::vector<std::string> texts;
    for (const Case& test : cases) {
        texts.push_back(test.text);
    }
    return texts;
}

} // namespace

TEST(Vector, integer_results_match_the_host_and_lanes_off_keep_theirs) {
    const auto& cases = cases32;
    Snippets snippets(texts_of(cases));
    Operands random;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        for (const u64 exec : {u64{~0ULL}, random.next64(), u64{1} << 63, u64{0}}) {
            isa::WaveState wave = snippets.wave();
            wave.sgpr[10] = 0xabcdef01;
            for (unsigned lane = 0; lane < 64; ++lane) {
                for (const unsigned reg : {2U, 4U, 6U, 8U, 39U, 41U}) {
                    wave.vgpr[reg].lane[lane] = random.next();
                }
            }
            const isa::WaveState before = wave;
            wave.exec = exec;
            ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended)
                << cases[i].text << ": " << snippets.problem;
            for (unsigned lane = 0; lane < 64; ++lane) {
                const u32 a = before.vgpr[4].lane[lane];
                const u32 b = before.vgpr[6].lane[lane];
                const u32 c = before.vgpr[8].lane[lane];
                const bool on = (exec >> lane & 1) != 0;
                ASSERT_EQ(wave.vgpr[2].lane[lane],
                          on ? cases[i].expected(a, b, c) : before.vgpr[2].lane[lane])
                    << cases[i].text << " lane " << lane << std::hex << " of " << a << ", " << b
                    << ", " << c;
            }
        }
    }
}

TEST(Vector, sixty_four_bit_results_match_the_host) {
    struct Case64 {
        std::string text;
        std::function<u64(u64, u64, u64)> expected; // of v[4:5], v[6:7], v[8:9]
    };
    const std::vector<Case64> cases{
        {"v_lshlrev_b64 v[2:3], v4, v[6:7]", [](u64 a, u64 b, u64) { return b << (a % 64); }},
        {"v_lshrrev_b64 v[2:3], v4, v[6:7]", [](u64 a, u64 b, u64) { return b >> (a % 64); }},
        {"v_ashrrev_i64 v[2:3], v4, v[6:7]",
         [](u64 a, u64 b, u64) { return static_cast<u64>(static_cast<i64>(b) >> (a % 64)); }},
        {"v_lshl_add_u64 v[2:3], v[4:5], 3, v[8:9]",
         [](u64 a, u64, u64 c) { return (a << 3) + c; }},
        {"v_mad_u64_u32 v[2:3], vcc, v4, v6, v[8:9]",
         [](u64 a, u64 b, u64 c) { return (a & 0xffffffff) * (b & 0xffffffff) + c; }},
        {"v_mad_i64_i32 v[2:3], vcc, v4, v6, v[8:9]",
         [](u64 a, u64 b, u64 c) {
             return static_cast<u64>(i64{s(static_cast<u32>(a))} * s(static_cast<u32>(b))) + c;
         }},
        {"v_add_co_u32 v2, vcc, v4, v6\n v_addc_co_u32 v3, vcc, v5, v7, vcc",
         [](u64 a, u64 b, u64) { return a + b; }},
        {"v_sub_co_u32 v2, vcc, v4, v6\n v_subb_co_u32 v3, vcc, v5, v7, vcc",
         [](u64 a, u64 b, u64) { return a - b; }},
        {"v_subrev_co_u32 v2, vcc, v4, v6\n v_subbrev_co_u32 v3, vcc, v5, v7, vcc",
         [](u64 a, u64 b, u64) { return b - a; }},
        {"v_add_co_u32 v2, s[20:21], v4, v6\n v_addc_co_u32 v3, s[20:21], v5, v7, s[20:21]",
         [](u64 a, u64 b, u64) { return a + b; }},
        {"v_mov_b64 v[2:3], v[4:5]", [](u64 a, u64, u64) { return a; }},
    };
    std::vector<std::string> texts;
    for (const Case64& test : cases) {
        texts.push_back(test.text);
    }
    Snippets snippets(texts);
    Operands random;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        for (unsigned round = 0; round < 4; ++round) {
            isa::WaveState wave = snippets.wave();
            for (unsigned reg = 4; reg < 10; ++reg) {
                for (u32& value : wave.vgpr[reg].lane) {
                    value = random.next();
                }
            }
            const isa::WaveState before = wave;
            ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended)
                << cases[i].text << ": " << snippets.problem;
            const auto pair = [](const isa::WaveState& of, unsigned reg, unsigned lane) {
                return of.vgpr[reg].lane[lane] | u64{of.vgpr[reg + 1].lane[lane]} << 32;
            };
            for (unsigned lane = 0; lane < 64; ++lane) {
                ASSERT_EQ(pair(wave, 2, lane),
                          cases[i].expected(pair(before, 4, lane), pair(before, 6, lane),
                                            pair(before, 8, lane)))
                    << cases[i].text << " lane " << lane;
            }
        }
    }
}

TEST(Vector, carries_go_to_the_mask_and_lanes_off_give_none) {
    Snippets snippets({"v_add_co_u32 v2, vcc, v4, v6", "v_sub_co_u32 v2, s[30:31], v4, v6",
                       "v_mad_u64_u32 v[2:3], s[30:31], v4, v6, v[8:9]"});
    Operands random;
    for (unsigned i = 0; i < 3; ++i) {
        isa::WaveState wave = snippets.wave();
        wave.exec = random.next64();
        u64 expected = 0;
        for (unsigned lane = 0; lane < 64; ++lane) {
            const u32 a = random.next();
            const u32 b = random.next();
            const u64 c = random.next64();
            wave.vgpr[4].lane[lane] = a;
            wave.vgpr[6].lane[lane] = b;
            wave.vgpr[8].lane[lane] = static_cast<u32>(c);
            wave.vgpr[9].lane[lane] = static_cast<u32>(c >> 32);
            const bool carry = i == 0 ? a + b < a : i == 1 ? b > a : u64{a} * b + c < c;
            expected |= u64{carry} << lane;
        }
        const u64 exec = wave.exec;
        ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended) << snippets.problem;
        const u64 mask = i == 0 ? wave.vcc() : wave.sgpr[30] | u64{wave.sgpr[31]} << 32;
        EXPECT_EQ(mask, expected & exec) << i;
    }
}

TEST(Vector, comparisons_give_masks) {
    Snippets snippets({"v_cmp_lt_u32 vcc, v4, v6", "v_cmp_ge_i32 s[20:21], v4, v6",
                       "v_cmp_ne_u64 vcc, v[4:5], v[6:7]", "v_cmp_gt_i64 vcc, v[4:5], v[6:7]",
                       "v_cmpx_le_u32 vcc, v4, v6", "v_cmp_eq_u32 vcc, 31, v6",
                       "v_cmp_nlt_f32 vcc, v4, v6", "v_cmp_lg_f32 vcc, |v4|, -v6"});
    Operands random;
    for (unsigned round = 0; round < 20; ++round) {
        for (unsigned i = 0; i < 8; ++i) {
            isa::WaveState wave = snippets.wave();
            wave.exec = random.next64();
            u64 expected = 0;
            for (unsigned lane = 0; lane < 64; ++lane) {
                const u64 a = random.next64();
                const u64 b = random.next() % 4 == 0 ? a : random.next64();
                const u32 a32 = static_cast<u32>(a);
                const u32 b32 = static_cast<u32>(b);
                wave.vgpr[4].lane[lane] = a32;
                wave.vgpr[5].lane[lane] = static_cast<u32>(a >> 32);
                wave.vgpr[6].lane[lane] = b32;
                wave.vgpr[7].lane[lane] = static_cast<u32>(b >> 32);
                const bool results[] = {a32 < b32,
                                        s(a32) >= s(b32),
                                        a != b,
                                        static_cast<i64>(a) > static_cast<i64>(b),
                                        a32 <= b32,
                                        b32 == 31,
                                        !(f(a32) < f(b32)),
                                        std::fabs(f(a32)) < -f(b32) || std::fabs(f(a32)) > -f(b32)};
                expected |= u64{results[i]} << lane;
            }
            expected &= wave.exec;
            const u64 exec = wave.exec;
            ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended) << snippets.problem;
            const u64 mask = i == 1 ? wave.sgpr[20] | u64{wave.sgpr[21]} << 32 : wave.vcc();
            EXPECT_EQ(mask, expected) << i;
            EXPECT_EQ(wave.exec, i == 4 ? expected : exec);
        }
    }
}

TEST(Vector, lane_and_mask_instructions) {
    Snippets snippets({
        "v_readlane_b32 s20, v4, 7\n v_readlane_b32 s21, v4, s10",
        "v_readfirstlane_b32 s20, v4",
        "v_writelane_b32 v2, s10, 9",
        "v_mbcnt_lo_u32_b32 v2, s10, 5\n v_mbcnt_hi_u32_b32 v2, s11, v2",
        "v_cndmask_b32 v2, v4, v6, vcc",
        "v_cndmask_b32 v2, 1, v6, s[10:11]",
        "v_swap_b32 v4, v6",
    });
    Operands random;
    isa::WaveState initial = snippets.wave();
    for (const unsigned reg : {2U, 4U, 6U}) {
        for (u32& value : initial.vgpr[reg].lane) {
            value = random.next();
        }
    }
    initial.sgpr[10] = random.next();
    initial.sgpr[11] = random.next();
    initial.sgpr[110] = random.next();
    initial.sgpr[111] = random.next();
    initial.exec = 0xfffffff0'00000f00ULL;
    const u64 mask = initial.sgpr[10] | u64{initial.sgpr[11]} << 32;
    const auto run = [&](std::size_t i) {
        isa::WaveState wave = initial;
        EXPECT_EQ(snippets.run(i, wave), isa::Outcome::ended) << snippets.problem;
        return wave;
    };
    const auto& v4 = initial.vgpr[4].lane;
    const auto& v6 = initial.vgpr[6].lane;
    EXPECT_EQ(run(0).sgpr[20], v4[7]); // a lane that EXEC has off
    EXPECT_EQ(run(0).sgpr[21], v4[initial.sgpr[10] % 64]);
    EXPECT_EQ(run(1).sgpr[20], v4[8]);
    isa::WaveState none = initial;
    none.exec = 0;
    EXPECT_EQ(snippets.run(1, none), isa::Outcome::ended);
    EXPECT_EQ(none.sgpr[20], v4[0]);
    EXPECT_EQ(run(2).vgpr[2].lane[9], initial.sgpr[10]);
    const isa::WaveState counted = run(3);
    const isa::WaveState chosen = run(4);
    const isa::WaveState chosen_by_pair = run(5);
    const isa::WaveState swapped = run(6);
    for (unsigned lane = 0; lane < 64; ++lane) {
        if ((initial.exec >> lane & 1) == 0) {
            ASSERT_EQ(swapped.vgpr[4].lane[lane], v4[lane]);
            continue;
        }
        const u64 below = mask & ((u64{1} << lane) - 1);
        ASSERT_EQ(counted.vgpr[2].lane[lane], 5 + u(std::popcount(below))) << lane;
        ASSERT_EQ(chosen.vgpr[2].lane[lane],
                  (initial.vcc() >> lane & 1) != 0 ? v6[lane] : v4[lane]);
        ASSERT_EQ(chosen_by_pair.vgpr[2].lane[lane], (mask >> lane & 1) != 0 ? v6[lane] : 1);
        ASSERT_EQ(swapped.vgpr[4].lane[lane], v6[lane]);
        ASSERT_EQ(swapped.vgpr[6].lane[lane], v4[lane]);
    }
}

TEST(Vector, floating_point_matches_the_host) {
    struct FloatCase {
        std::string text;
        std::function<float(float, float, float)> expected;
    };
    const std::vector<FloatCase> cases{
        {"v_add_f32 v2, v4, v6", [](float a, float b, float) { return a + b; }},
        {"v_sub_f32 v2, v4, v6", [](float a, float b, float) { return a - b; }},
        {"v_subrev_f32 v2, v4, v6", [](float a, float b, float) { return b - a; }},
        {"v_mul_f32 v2, v4, v6", [](float a, float b, float) { return a * b; }},
        {"v_fma_f32 v2, v4, v6, v8", [](float a, float b, float c) { return std::fma(a, b, c); }},
        {"v_fma_f32 v2, -v4, |v6|, v8",
         [](float a, float b, float c) { return std::fma(-a, std::fabs(b), c); }},
        {"v_mov_b32 v2, v8\n v_fmac_f32 v2, v4, v6",
         [](float a, float b, float c) { return std::fma(a, b, c); }},
        {"v_fmaak_f32 v2, v4, v6, 0x40490fdb",
         [](float a, float b, float) { return std::fma(a, b, f(0x40490fdb)); }},
        {"v_fmamk_f32 v2, v4, 0x40490fdb, v6",
         [](float a, float b, float) { return std::fma(a, f(0x40490fdb), b); }},
        {"v_min_f32 v2, v4, v6", [](float a, float b, float) { return std::min(a, b); }},
        {"v_max_f32 v2, v4, v6", [](float a, float b, float) { return std::max(a, b); }},
        {"v_mul_f32 v2, v4, v6 clamp",
         [](float a, float b, float) { return std::min(std::max(a * b, 0.0F), 1.0F); }},
        {"v_floor_f32 v2, v4", [](float a, float, float) { return std::floor(a); }},
        {"v_rndne_f32 v2, v4", [](float a, float, float) { return std::nearbyint(a); }},
        {"v_rcp_f32 v2, v4", [](float a, float, float) { return 1.0F / a; }},
        {"v_cvt_i32_f32 v2, v4\n v_cvt_f32_i32 v2, v2",
         [](float a, float, float) { return std::trunc(a); }},
        {"v_cvt_f64_f32 v[12:13], v4\n v_cvt_f64_f32 v[14:15], v6\n"
         " v_mul_f64 v[12:13], v[12:13], v[14:15]\n v_cvt_f32_f64 v2, v[12:13]",
         [](float a, float b, float) { return static_cast<float>(double{a} * b); }},
    };
    std::vector<std::string> texts;
    for (const FloatCase& test : cases) {
        texts.push_back(test.text);
    }
    Snippets snippets(texts);
    Operands random;
    for (std::size_t i = 0; i < cases.size(); ++i) {
        isa::WaveState wave = snippets.wave();
        for (const unsigned reg : {4U, 6U, 8U}) {
            for (u32& value : wave.vgpr[reg].lane) {
                value = bits(random.next_float());
            }
        }
        const isa::WaveState before = wave;
        ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended)
            << cases[i].text << ": " << snippets.problem;
        for (unsigned lane = 0; lane < 64; ++lane) {
            const float expected =
                cases[i].expected(f(before.vgpr[4].lane[lane]), f(before.vgpr[6].lane[lane]),
                                  f(before.vgpr[8].lane[lane]));
            ASSERT_EQ(wave.vgpr[2].lane[lane], bits(expected)) << cases[i].text;
        }
    }
}

TEST(Vector, floating_point_corners) {
    constexpr u32 denormal = 0x00000123;
    constexpr u32 infinity = 0x7f800000;
    constexpr u32 nan = 0x7fc00000;
    Snippets snippets({"v_add_f32 v2, v4, v6", "v_cvt_u32_f32 v2, v4", "v_min_f32 v2, v4, v6"});
    const auto run = [&](std::size_t i, u32 a, u32 b, u32 mode) {
        isa::WaveState wave = snippets.wave();
        wave.mode = mode;
        wave.vgpr[4].lane.fill(a);
        wave.vgpr[6].lane.fill(b);
        EXPECT_EQ(snippets.run(i, wave), isa::Outcome::ended) << snippets.problem;
        return wave.vgpr[2].lane[0];
    };
    EXPECT_EQ(run(0, denormal, 0, 0xf0), denormal);
    EXPECT_EQ(run(0, denormal, 0, 0xc0), 0U); // MODE flushes f32 denormals
    EXPECT_EQ(run(0, infinity, 0xff800000, 0xf0), nan);
    EXPECT_EQ(run(0, 0x7f800001, 0, 0xf0), 0x7fc00001U); // signalling becomes quiet
    EXPECT_EQ(run(1, bits(-3.5F), 0, 0xf0), 0U);
    EXPECT_EQ(run(1, bits(1e20F), 0, 0xf0), 0xffffffffU);
    EXPECT_EQ(run(1, nan, 0, 0xf0), 0U);
    EXPECT_EQ(run(2, nan, bits(2), 0xf0), bits(2));
    EXPECT_EQ(run(2, 0, 0x80000000, 0xf0), 0x80000000U);
}

TEST(Vector, what_no_hardware_does_is_refused) {
    Snippets snippets({"v_mov_b32 v2, v200", "v_mov_b32 v200, v2",
                       "v_pk_mov_b32 v[2:3], v[200:201], v[4:5]",
                       ".long 0x7e0402fa, 0xff014404 ; v_mov_b32_dpp with a control that is none",
                       ".long 0xd1010802, 0x00020d04 ; v_add_f32_e64 with op_sel"});
    for (std::size_t i = 0; i < 5; ++i) {
        isa::WaveState wave = snippets.wave();
        EXPECT_EQ(snippets.run(i, wave), isa::Outcome::illegal) << i;
        EXPECT_FALSE(snippets.problem.empty());
    }
}

TEST(Vector, pairs_end_with_the_last_register) {
    // v_pk_mov_b32 of the upper word of a pair that would begin at v255, and a 64-bit move of it.
    Snippets snippets({".long 0xd3b34802, 0x180209ff", ".long 0x7e0471ff"});
    for (std::size_t i = 0; i < 2; ++i) {
        isa::WaveState wave = snippets.wave();
        wave.vgpr.resize(256);
        wave.arch_vgprs = 256;
        EXPECT_EQ(snippets.run(i, wave), isa::Outcome::illegal) << i;
    }
}

TEST(Vector, vskip_steps_over_vector_instructions) {
    Snippets snippets({"s_mov_b32 s10, 1\n s_setvskip s10, 0\n v_mov_b32 v2, 0x12345\n"
                       " v_add3_u32 v2, v2, v2, v2\n ds_write_b32 v0, v4\n"
                       " s_setvskip s10, 1\n v_mov_b32 v6, 0x54321"});
    isa::WaveState wave = snippets.wave();
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(wave.vgpr[2].lane[0], 0U);
    EXPECT_EQ(wave.vgpr[6].lane[0], 0x54321U);
    EXPECT_EQ(snippets.executed, 7U);
}

} // namespace vgpu::test
