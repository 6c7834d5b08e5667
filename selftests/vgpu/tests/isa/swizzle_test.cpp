// SPDX-License-Identifier: MIT
// SDWA and DPP: which bytes and which lanes an instruction reads and writes.
#include "tests/isa/lanes.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace vgpu::test {

namespace {

// One DPP control, and the lane that a lane reads; -1 for none.
struct Pattern {
    std::string control;
    std::function<int(int)> from;
};

const std::vector<Pattern> patterns{
    {"quad_perm:[2,0,3,1]",
     [](int lane) {
         const int order[] = {2, 0, 3, 1};
         return lane / 4 * 4 + order[lane % 4];
     }},
    {"row_shl:3", [](int lane) { return lane % 16 + 3 > 15 ? -1 : lane + 3; }},
    {"row_shr:1", [](int lane) { return lane % 16 == 0 ? -1 : lane - 1; }},
    {"row_ror:5", [](int lane) { return lane / 16 * 16 + (lane + 11) % 16; }},
    {"wave_shl:1", [](int lane) { return lane == 63 ? -1 : lane + 1; }},
    {"wave_rol:1", [](int lane) { return (lane + 1) % 64; }},
    {"wave_shr:1", [](int lane) { return lane - 1; }},
    {"wave_ror:1", [](int lane) { return (lane + 63) % 64; }},
    {"row_mirror", [](int lane) { return lane / 16 * 16 + 15 - lane % 16; }},
    {"row_half_mirror", [](int lane) { return lane / 8 * 8 + 7 - lane % 8; }},
    {"row_bcast:15", [](int lane) { return lane / 16 * 16 - 1; }},
    {"row_bcast:31", [](int lane) { return lane < 32 ? -1 : 31; }},
    {"row_newbcast:9", [](int lane) { return lane / 16 * 16 + 9; }},
};

struct Masks {
    std::string text;
    unsigned row;
    unsigned bank;
    bool zero;
};
const std::vector<Masks> all_masks{
    {" row_mask:0xf bank_mask:0xf", 15, 15, false},
    {" row_mask:0xf bank_mask:0xf bound_ctrl:0", 15, 15, true},
    {" row_mask:0xa bank_mask:0xf", 10, 15, false},
    {" row_mask:0x5 bank_mask:0x6 bound_ctrl:0", 5, 6, true},
};

} // namespace

TEST(Dpp, every_control_reads_its_lane_and_respects_the_masks) {
    std::vector<std::string> texts;
    for (const Pattern& pattern : patterns) {
        for (const Masks& masks : all_masks) {
            texts.push_back("v_add_u32_dpp v2, v4, v6 " + pattern.control + masks.text);
        }
    }
    Snippets snippets(texts);
    std::mt19937_64 random(7);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const Pattern& pattern = patterns[i / all_masks.size()];
        const Masks& masks = all_masks[i % all_masks.size()];
        for (const u64 exec : {~u64{0}, u64{random()}}) {
            isa::WaveState wave = snippets.wave();
            for (const unsigned vgpr : {2U, 4U, 6U}) {
                for (u32& value : wave.vgpr[vgpr].lane) {
                    value = static_cast<u32>(random());
                }
            }
            wave.exec = exec;
            const isa::WaveState before = wave;
            ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended)
                << texts[i] << ": " << snippets.problem;
            EXPECT_EQ(wave.exec, exec);
            for (int lane = 0; lane < 64; ++lane) {
                const auto on = [&](int l) { return (exec >> l & 1) != 0; };
                const int from = pattern.from(lane);
                const bool valid = from >= 0 && on(from);
                const bool written = on(lane) && (masks.row >> (lane / 16) & 1) != 0 &&
                                     (masks.bank >> (lane / 4 % 4) & 1) != 0 &&
                                     (valid || masks.zero);
                const auto at = [&](unsigned vgpr, int l) {
                    return before.vgpr[vgpr].lane[static_cast<std::size_t>(l)];
                };
                const u32 expected =
                    written ? (valid ? at(4, from) : 0) + at(6, lane) : at(2, lane);
                ASSERT_EQ(wave.vgpr[2].lane[static_cast<std::size_t>(lane)], expected)
                    << texts[i] << " lane " << lane;
            }
        }
    }
}

TEST(Dpp, sixty_four_bits_signs_and_accumulation) {
    Snippets snippets({"v_mov_b64_dpp v[2:3], v[4:5] row_newbcast:3 row_mask:0xf bank_mask:0xf",
                       "v_fmac_f32_dpp v2, -v4, |v6| row_shl:1 row_mask:0xf bank_mask:0xf",
                       "v_add_co_u32_dpp v2, vcc, v4, v6 row_shr:1 row_mask:0xf bank_mask:0xf"});
    isa::WaveState wave = snippets.wave();
    for (u32 lane = 0; lane < 64; ++lane) {
        wave.vgpr[4].lane[lane] = 100 + lane;
        wave.vgpr[5].lane[lane] = 200 + lane;
    }
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(wave.vgpr[2].lane[20], 119U);
    EXPECT_EQ(wave.vgpr[3].lane[20], 219U);
    wave = snippets.wave();
    wave.vgpr[2].lane.fill(std::bit_cast<u32>(1.0F));
    wave.vgpr[4].lane.fill(std::bit_cast<u32>(3.0F));
    wave.vgpr[6].lane.fill(std::bit_cast<u32>(-5.0F));
    ASSERT_EQ(snippets.run(1, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(wave.vgpr[2].lane[0], std::bit_cast<u32>(-14.0F));
    EXPECT_EQ(wave.vgpr[2].lane[15], std::bit_cast<u32>(1.0F));
    wave = snippets.wave();
    wave.vgpr[4].lane.fill(0xffffffff);
    wave.vgpr[6].lane.fill(2);
    ASSERT_EQ(snippets.run(2, wave), isa::Outcome::ended) << snippets.problem;
    EXPECT_EQ(wave.vgpr[2].lane[1], 1U);
    EXPECT_EQ(wave.vcc(), 0xfffefffefffefffe);
}

TEST(Sdwa, sources_destinations_and_what_is_unused) {
    const auto s8 = [](u64 a) { return static_cast<u64>(static_cast<std::int8_t>(a)); };
    const auto s16 = [](u64 a) { return static_cast<u64>(static_cast<std::int16_t>(a)); };
    check_lanes(
        {{"v_add_u32_sdwa v2, v4, v6 dst_sel:DWORD src0_sel:BYTE_2 src1_sel:WORD_1",
          [](auto& in) { return (in.a >> 16 & 0xff) + (in.b >> 16 & 0xffff); }},
         {"v_add_u32_sdwa v2, sext(v4), sext(v6) dst_sel:DWORD src0_sel:BYTE_3 src1_sel:WORD_0",
          [&](auto& in) { return (s8(in.a >> 24) + s16(in.b)) & 0xffffffff; }},
         {"v_mov_b32_sdwa v2, v4 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:DWORD",
          [](auto& in) { return (in.old & 0xffff00ff) | (in.a & 0xff) << 8; }},
         {"v_mov_b32_sdwa v2, v4 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_0",
          [](auto& in) { return in.a << 16 & 0xffffffff; }},
         {"v_mov_b32_sdwa v2, v4 dst_sel:BYTE_1 dst_unused:UNUSED_SEXT src0_sel:BYTE_0",
          [&](auto& in) { return s8(in.a) << 8 & 0xffffffff; }},
         {"s_mov_b32 s10, 0x12345678\n"
          "v_or_b32_sdwa v2, s10, v6 dst_sel:DWORD src0_sel:BYTE_1 src1_sel:DWORD",
          [](auto& in) { return (in.b & 0xffffffff) | 0x56; }},
         {"v_lshlrev_b32_sdwa v2, v4, v6 dst_sel:DWORD src0_sel:BYTE_0 src1_sel:BYTE_3",
          [](auto& in) { return (in.b >> 24 & 0xff) << (in.a & 31) & 0xffffffff; }},
         {"v_cmp_eq_u32_sdwa s[20:21], v4, v6 src0_sel:BYTE_0 src1_sel:BYTE_1\n"
          "v_cndmask_b32 v2, 0, 1, s[20:21]",
          [](auto& in) { return (in.a & 0xff) == (in.b >> 8 & 0xff) ? 1 : 0; }},
         {"v_cmp_lt_i16_sdwa vcc, sext(v4), v6 src0_sel:BYTE_1 src1_sel:WORD_1\n"
          "v_cndmask_b32 v2, 0, 1, vcc",
          [](auto& in) {
              return static_cast<std::int8_t>(in.a >> 8) < static_cast<std::int16_t>(in.b >> 16)
                         ? 1
                         : 0;
          }},
         {"v_cvt_f32_ubyte0_sdwa v2, v4 dst_sel:DWORD src0_sel:BYTE_3",
          [](auto& in) { return std::bit_cast<u32>(static_cast<float>(in.a >> 24 & 0xff)); }},
         {"v_mul_f32_sdwa v2, -v4, |v6| dst_sel:DWORD src0_sel:DWORD src1_sel:WORD_1",
          [](auto& in) {
              const auto a = std::bit_cast<float>(static_cast<u32>(in.a));
              const auto b = std::bit_cast<float>(static_cast<u32>(in.b >> 16 & 0xffff));
              return std::bit_cast<u32>(-a * b);
          }}},
        [] {
            LaneRun run;
            run.rounds = 16;
            run.same = [](u64 got, u64 expected) {
                const auto nan = [](u64 a) { return (a & 0x7fffffff) > 0x7f800000; };
                return got == expected || (nan(got) && nan(expected));
            };
            return run;
        }());
}

} // namespace vgpu::test
