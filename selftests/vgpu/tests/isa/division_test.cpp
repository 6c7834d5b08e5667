// SPDX-License-Identifier: MIT
// Division as compilers build it is the host's division, for every kind of operand.
#include "tests/isa/lanes.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>

namespace vgpu::test {

namespace {

float f(u64 a) {
    return std::bit_cast<float>(static_cast<u32>(a));
}
double d(u64 a) {
    return std::bit_cast<double>(a);
}

bool same_single(u64 a, u64 b) {
    return a == b || (std::isnan(f(a)) && std::isnan(f(b)));
}
bool same_double(u64 a, u64 b) {
    return a == b || (std::isnan(d(a)) && std::isnan(d(b)));
}

const std::string single_division = R"(
    v_div_scale_f32 v10, s[20:21], v6, v6, v4
    v_div_scale_f32 v11, vcc, v4, v6, v4
    v_rcp_f32 v12, v10
    v_fma_f32 v13, -v10, v12, 1.0
    v_fmac_f32 v12, v13, v12
    v_mul_f32 v13, v11, v12
    v_fma_f32 v14, -v10, v13, v11
    v_fmac_f32 v13, v14, v12
    v_fma_f32 v10, -v10, v13, v11
    v_div_fmas_f32 v10, v10, v12, v13
    v_div_fixup_f32 v2, v10, v6, v4)";

const std::string double_division = R"(
    v_div_scale_f64 v[10:11], s[20:21], v[6:7], v[6:7], v[4:5]
    v_rcp_f64 v[12:13], v[10:11]
    v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0
    v_fmac_f64 v[12:13], v[12:13], v[14:15]
    v_fma_f64 v[14:15], -v[10:11], v[12:13], 1.0
    v_fmac_f64 v[12:13], v[12:13], v[14:15]
    v_div_scale_f64 v[14:15], vcc, v[4:5], v[6:7], v[4:5]
    v_mul_f64 v[16:17], v[14:15], v[12:13]
    v_fma_f64 v[10:11], -v[10:11], v[16:17], v[14:15]
    v_div_fmas_f64 v[10:11], v[10:11], v[12:13], v[16:17]
    v_div_fixup_f64 v[2:3], v[10:11], v[6:7], v[4:5])";

const std::string half_division = R"(
    v_cvt_f32_f16 v10, v6
    v_cvt_f32_f16 v11, v4
    v_rcp_f32 v10, v10
    v_mul_f32 v10, v11, v10
    v_cvt_f16_f32 v10, v10
    v_div_fixup_f16 v2, v10, v6, v4)";

} // namespace

TEST(Division, single_precision_is_the_hosts) {
    LaneRun run;
    run.operand = random_single;
    run.rounds = 200;
    run.same = same_single;
    check_lanes({{single_division,
                  [](const LaneInputs& in) { return std::bit_cast<u32>(f(in.a) / f(in.b)); }}},
                run);
}

TEST(Division, double_precision_is_the_hosts) {
    LaneRun run;
    run.operand = random_double;
    run.wide = true;
    run.rounds = 200;
    run.same = same_double;
    check_lanes({{double_division,
                  [](const LaneInputs& in) { return std::bit_cast<u64>(d(in.a) / d(in.b)); }}},
                run);
}

TEST(Division, half_precision_is_the_hosts) {
    LaneRun run;
    run.operand = random_half;
    run.rounds = 200;
    // The quotient goes through single precision: 1 unit of the last place off is right.
    run.same = [](u64 got, u64 expected) {
        const u64 g = got & 0xffff;
        const u64 x = expected & 0xffff;
        const bool nans = (g & 0x7fff) > 0x7c00 && (x & 0x7fff) > 0x7c00;
        return got >> 16 == expected >> 16 && (nans || g == x || g + 1 == x || x + 1 == g);
    };
    check_lanes({{half_division,
                  [](const LaneInputs& in) {
                      const auto a = std::bit_cast<_Float16>(static_cast<std::uint16_t>(in.a));
                      const auto b = std::bit_cast<_Float16>(static_cast<std::uint16_t>(in.b));
                      const auto quotient =
                          static_cast<_Float16>(static_cast<float>(a) / static_cast<float>(b));
                      return (in.old & 0xffff0000) | std::bit_cast<std::uint16_t>(quotient);
                  }}},
                run);
}

TEST(Division, operands_are_scaled_as_the_manual_says) {
    // v[4:5] / v[6:7], the denominator and the numerator scaled by V_DIV_SCALE, and its VCC.
    struct Scaling {
        double numerator, denominator;
        double scaled_denominator, scaled_numerator;
        bool undo;
    };
    const Scaling scalings[] = {
        {3.0, 2.0, 2.0, 3.0, false},
        {0x1p400, 0x1p-400, 0x1p-272, 0x1p400, true},     // quotient near the largest
        {1.0, 0x1p-1060, 0x1p-932, 1.0, true},            // and a subnormal denominator
        {0x1p-600, 0x1p-1060, 0x1p-932, 0x1p-472, false}, // subnormal denominator
        {0x1p900, 0x1p1023, 0x1p895, 0x1p772, false},     // subnormal reciprocal
        {1.0, 0x1p1023, 0x1p895, 1.0, true},              // and a subnormal quotient
        {0x1p-530, 0x1p500, 0x1p500, 0x1p-402, true},     // subnormal quotient
        {0x1p-970, 0x1p-980, 0x1p-852, 0x1p-842, false},  // tiny numerator
        {0x1p300, 0x1p-467, 0x1p-467, 0x1p300, false},    // one short of the first
    };
    Snippets snippets({"v_div_scale_f64 v[10:11], s[20:21], v[6:7], v[6:7], v[4:5]\n"
                       "v_div_scale_f64 v[12:13], vcc, v[4:5], v[6:7], v[4:5]"});
    for (const Scaling& scaling : scalings) {
        isa::WaveState wave = snippets.wave();
        const auto fill = [&](unsigned vgpr, double value) {
            wave.vgpr[vgpr].lane.fill(static_cast<u32>(std::bit_cast<u64>(value)));
            wave.vgpr[vgpr + 1].lane.fill(static_cast<u32>(std::bit_cast<u64>(value) >> 32));
        };
        fill(4, scaling.numerator);
        fill(6, scaling.denominator);
        ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
        const auto value = [&](unsigned vgpr) {
            return d(wave.vgpr[vgpr].lane[5] | u64{wave.vgpr[vgpr + 1].lane[5]} << 32);
        };
        const auto what = testing::Message() << scaling.numerator << " / " << scaling.denominator;
        EXPECT_EQ(value(10), scaling.scaled_denominator) << what;
        EXPECT_EQ(value(12), scaling.scaled_numerator) << what;
        EXPECT_EQ(wave.vcc(), scaling.undo ? ~u64{0} : 0) << what;
    }
}

TEST(Division, exponents_and_mantissas_are_the_hosts) {
    LaneRun run;
    run.operand = random_single;
    run.same = same_single;
    check_lanes({{"v_frexp_mant_f32 v2, v4",
                  [](const LaneInputs& in) {
                      int ignored = 0;
                      return std::bit_cast<u32>(std::frexp(f(in.a), &ignored));
                  }},
                 {"v_frexp_exp_i32_f32 v2, v4",
                  [](const LaneInputs& in) {
                      // The exponent of the last place, then how many places there are.
                      const float a = f(in.a);
                      return a == 0 || !std::isfinite(a) ? 0U : static_cast<u32>(std::ilogb(a) + 1);
                  }},
                 {"v_ldexp_f32 v2, v4, v7",
                  [](const LaneInputs& in) {
                      const int power = static_cast<int>(in.b >> 32);
                      return std::bit_cast<u32>(std::scalbn(f(in.a), power));
                  }}},
                run);
    run.operand = random_double;
    run.wide = true;
    run.same = same_double;
    check_lanes({{"v_frexp_mant_f64 v[2:3], v[4:5]",
                  [](const LaneInputs& in) {
                      int ignored = 0;
                      return std::bit_cast<u64>(std::frexp(d(in.a), &ignored));
                  }},
                 {"v_frexp_exp_i32_f64 v2, v[4:5]\n v_mov_b32 v3, 0",
                  [](const LaneInputs& in) {
                      const double a = d(in.a);
                      return u64{a == 0 || !std::isfinite(a) ? 0U
                                                             : static_cast<u32>(std::ilogb(a) + 1)};
                  }}},
                run);
}

TEST(Division, the_bits_of_two_over_pi_reduce_large_arguments) {
    // x * (first 159 bits of 2/pi) has the fraction of x * 2/pi: compare with the host's sine.
    Snippets snippets({"v_trig_preop_f64 v[10:11], v[4:5], 0\n"
                       "v_trig_preop_f64 v[12:13], v[4:5], 1\n"
                       "v_trig_preop_f64 v[14:15], v[4:5], 2"});
    for (const double x : {3.0, 1e5, 6381956970095103.0 * 0x1p797, 0x1p1000, 1e300, 0x1.8p1023}) {
        isa::WaveState wave = snippets.wave();
        const u64 bits = std::bit_cast<u64>(x);
        wave.vgpr[4].lane.fill(static_cast<u32>(bits));
        wave.vgpr[5].lane.fill(static_cast<u32>(bits >> 32));
        ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
        const auto part = [&](unsigned vgpr) {
            return d(wave.vgpr[vgpr].lane[7] | u64{wave.vgpr[vgpr + 1].lane[7]} << 32);
        };
        // Large arguments come scaled down by 2^128, their digits up by as much.
        const double scaled = x >= 0x1p945 ? x * 0x1p-128 : x;
        __float128 turns = 0; // quarters, without the multiples of four
        for (const unsigned vgpr : {10U, 12U, 14U}) {
            __float128 product = static_cast<__float128>(part(vgpr)) * scaled;
            // Whole multiples of four are whole turns: only exact for what 113 bits hold.
            const __float128 four = 4;
            if (product >= 0x1p100) {
                product = 0; // a multiple of four: its last bit is far above
            }
            turns +=
                product - four * static_cast<__float128>(static_cast<__int128>(product / four));
        }
        const double quarter = 1.57079632679489661923;
        EXPECT_NEAR(std::sin(static_cast<double>(turns) * quarter), std::sin(x), 1e-9) << x;
    }
}

} // namespace vgpu::test
