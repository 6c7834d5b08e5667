// SPDX-License-Identifier: MIT
// Half precision and packed arithmetic against _Float16, rounded once from 128 bits.
#include "tests/isa/lanes.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>

namespace vgpu::test {

namespace {

using Quad = __float128;

Quad h(u64 a) {
    return static_cast<float>(std::bit_cast<_Float16>(static_cast<u16>(a)));
}
Quad high(u64 a) {
    return h(a >> 16);
}
u64 half(Quad a) {
    return std::bit_cast<u16>(static_cast<_Float16>(a));
}
float f(u64 a) {
    return std::bit_cast<float>(static_cast<u32>(a));
}
u64 bits(float a) {
    return std::bit_cast<u32>(a);
}
u64 pack(Quad low, Quad upper) {
    return half(low) | half(upper) << 16;
}
Quad absolute(Quad a) {
    return std::signbit(static_cast<float>(a)) ? -a : a;
}

bool is_nan16(u64 a) {
    return (a & 0x7fff) > 0x7c00;
}
// Any quiet NaN is as good as another.
bool same_halves(u64 a, u64 b) {
    const auto same = [](u64 x, u64 y) {
        return x == y || (is_nan16(x) && is_nan16(y) && (x & 0x200) != 0);
    };
    return same(a & 0xffff, b & 0xffff) && same(a >> 16, b >> 16);
}
bool same_singles(u64 a, u64 b) {
    return a == b || (std::isnan(f(a)) && std::isnan(f(b)));
}

LaneRun halves(u32 mode = 0x2f0) {
    LaneRun run;
    run.operand = random_half;
    run.mode = mode;
    run.rounds = 32;
    run.same = same_halves;
    return run;
}

u64 kept(const LaneInputs& in) {
    return in.old & 0xffff0000;
}

} // namespace

TEST(Half, arithmetic_is_exact_and_rounded_once) {
    check_lanes(
        {{"v_add_f16 v2, v4, v6", [](auto& in) { return half(h(in.a) + h(in.b)); }},
         {"v_sub_f16 v2, v4, v6", [](auto& in) { return half(h(in.a) - h(in.b)); }},
         {"v_subrev_f16 v2, v4, v6", [](auto& in) { return half(h(in.b) - h(in.a)); }},
         {"v_mul_f16 v2, v4, v6", [](auto& in) { return half(h(in.a) * h(in.b)); }},
         {"v_mul_f16 v2, 0.5, v6", [](auto& in) { return half(h(in.b) / 2); }},
         {"v_mul_f16 v2, -v4, |v6|", [](auto& in) { return half(-h(in.a) * absolute(h(in.b))); }},
         {"v_add_f16 v2, 0x4248, v6", [](auto& in) { return half(h(0x4248) + h(in.b)); }},
         {"v_fma_f16 v2, v4, v6, v8",
          [](auto& in) { return kept(in) | half(h(in.a) * h(in.b) + h(in.c)); }},
         {"v_fma_f16 v2, v4, v6, v8 op_sel:[1,0,1,1]",
          [](auto& in) {
              return (in.old & 0xffff) | half(high(in.a) * h(in.b) + high(in.c)) << 16;
          }},
         {"v_fma_legacy_f16 v2, v4, v6, v8",
          [](auto& in) { return half(h(in.a) * h(in.b) + h(in.c)); }},
         {"v_rcp_f16 v2, v4", [](auto& in) { return half(1 / h(in.a)); }},
         {"v_sqrt_f16 v2, v4",
          [](auto& in) { return half(std::sqrt(static_cast<double>(h(in.a)))); }},
         {"v_floor_f16 v2, v4",
          [](auto& in) { return half(std::floor(static_cast<float>(h(in.a)))); }},
         {"v_rndne_f16 v2, v4",
          [](auto& in) { return half(std::nearbyint(static_cast<double>(h(in.a)))); }},
         {"v_ldexp_f16 v2, v4, v6",
          [](auto& in) {
              const int power = static_cast<std::int16_t>(in.b);
              return half(std::scalbn(static_cast<double>(h(in.a)), power));
          }}},
        halves());
}

TEST(Half, extremes_and_comparisons) {
    const auto least = [](u64 a, u64 b) {
        const float x = static_cast<float>(h(a));
        const float y = static_cast<float>(h(b));
        const auto signalling = [](u64 v) { return is_nan16(v & 0xffff) && (v & 0x200) == 0; };
        if (signalling(a) || signalling(b)) {
            return u64{0x7e00};
        }
        if (x == 0 && y == 0) {
            return (a | b) & 0x8000;
        }
        return half(std::fmin(x, y));
    };
    check_lanes({{"v_min_f16 v2, v4, v6", [&](auto& in) { return least(in.a, in.b); }},
                 {"v_cmp_lt_f16 vcc, v4, v6\n v_cndmask_b32 v2, 0, 1, vcc",
                  [](auto& in) { return h(in.a) < h(in.b) ? 1 : 0; }},
                 {"v_cmp_nge_f16 s[20:21], v4, |v6|\n v_cndmask_b32 v2, 0, 1, s[20:21]",
                  [](auto& in) { return h(in.a) >= absolute(h(in.b)) ? 0 : 1; }},
                 {"v_cmp_class_f16 vcc, v4, v7\n v_cndmask_b32 v2, 0, 1, vcc",
                  [](auto& in) {
                      const u64 a = in.a & 0xffff;
                      const u64 magnitude = a & 0x7fff;
                      const bool negative = a >> 15 != 0;
                      unsigned bit = 0;
                      if (magnitude > 0x7c00) {
                          bit = magnitude & 0x200 ? 1 : 0;
                      } else {
                          const unsigned rank = magnitude == 0x7c00  ? 3
                                                : magnitude >= 0x400 ? 2
                                                : magnitude > 0      ? 1
                                                                     : 0;
                          bit = negative ? 5 - rank : 6 + rank;
                      }
                      return in.b >> (32 + bit) & 1;
                  }}},
                [] {
                    LaneRun run = halves();
                    run.operand = [](std::mt19937_64& random) {
                        return random_half(random) | random() << 32;
                    };
                    return run;
                }());
}

TEST(Half, denormals_and_rounding_follow_the_mode) {
    constexpr int host[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    for (unsigned rounding = 0; rounding < 4; ++rounding) {
        const auto rounded = [&](Quad a) {
            std::fesetround(host[rounding]);
            volatile Quad value = a;
            volatile u64 result = half(value);
            std::fesetround(FE_TONEAREST);
            return u64{result};
        };
        check_lanes({{"v_mul_f16 v2, v4, v6", [&](auto& in) { return rounded(h(in.a) * h(in.b)); }},
                     {"v_cvt_f16_f32 v2, v4", [&](auto& in) { return rounded(f(in.a)); }},
                     {"v_cvt_pkrtz_f16_f32 v2, v4, v6",
                      [&](auto& in) {
                          std::fesetround(FE_TOWARDZERO);
                          volatile float a = f(in.a);
                          volatile float b = f(in.b);
                          volatile u64 result = pack(a, b);
                          std::fesetround(FE_TONEAREST);
                          return u64{result};
                      }},
                     {"v_pk_fma_f16 v2, v4, v6, v8",
                      [&](auto& in) {
                          return rounded(h(in.a) * h(in.b) + h(in.c)) |
                                 rounded(high(in.a) * high(in.b) + high(in.c)) << 16;
                      }}},
                    halves(0x2f0 | rounding << 2));
    }
    const auto flush = [](u64 a) { return (a & 0x7c00) == 0 ? a & 0x8000 : a & 0xffff; };
    check_lanes({{"v_add_f16 v2, v4, v6",
                  [&](auto& in) { return flush(half(h(flush(in.a)) + h(flush(in.b)))); }},
                 {"v_mad_f16 v2, v4, v6, v8",
                  [&](auto& in) {
                      const u64 product = flush(half(h(flush(in.a)) * h(flush(in.b))));
                      return kept(in) | flush(half(h(product) + h(flush(in.c))));
                  }}},
                halves(0x230));
}

TEST(Half, conversions) {
    check_lanes(
        {{"v_cvt_f32_f16 v2, v4", [](auto& in) { return bits(static_cast<float>(h(in.a))); }}}, [] {
            LaneRun run = halves();
            run.same = same_singles;
            return run;
        }());
    check_lanes(
        {{"v_cvt_f16_u16 v2, v4", [](auto& in) { return half(static_cast<u16>(in.a)); }},
         {"v_cvt_f16_i16 v2, v4", [](auto& in) { return half(static_cast<std::int16_t>(in.a)); }},
         {"v_cvt_u16_f16 v2, v4",
          [](auto& in) {
              const float a = static_cast<float>(h(in.a));
              return std::isnan(a) ? 0 : static_cast<u16>(std::fmin(std::fmax(a, 0.0F), 65535.0F));
          }},
         {"v_cvt_i16_f16 v2, v4",
          [](auto& in) {
              const float a = static_cast<float>(h(in.a));
              const float limited = std::fmin(std::fmax(a, -32768.0F), 32767.0F);
              return std::isnan(a) ? 0 : static_cast<u16>(static_cast<int>(limited));
          }},
         {"v_pack_b32_f16 v2, v4, v6 op_sel:[1,0]",
          [](auto& in) { return pack(high(in.a), h(in.b)); }}},
        halves());
}

TEST(Packed, halves) {
    check_lanes({{"v_pk_add_f16 v2, v4, v6",
                  [](auto& in) { return pack(h(in.a) + h(in.b), high(in.a) + high(in.b)); }},
                 {"v_pk_mul_f16 v2, v4, v6 op_sel:[1,0] op_sel_hi:[0,1] neg_lo:[1,0] neg_hi:[0,1]",
                  [](auto& in) { return pack(-high(in.a) * h(in.b), h(in.a) * -high(in.b)); }},
                 {"v_pk_add_f16 v2, v4, 1.0 op_sel_hi:[1,0]",
                  [](auto& in) { return pack(h(in.a) + 1, high(in.a) + 1); }},
                 {"v_pk_fmac_f16 v2, v4, v6",
                  [](auto& in) {
                      return pack(h(in.a) * h(in.b) + h(in.old),
                                  high(in.a) * high(in.b) + high(in.old));
                  }},
                 {"v_pk_mul_f16 v2, v4, v6 clamp",
                  [](auto& in) {
                      const auto limited = [](Quad a) {
                          const bool above = a > 0; // false for a NaN, which becomes 0
                          return above ? (a < 1 ? a : Quad{1}) : Quad{0};
                      };
                      return pack(limited(h(in.a) * h(in.b)), limited(high(in.a) * high(in.b)));
                  }}},
                halves(0x3f0));
}

TEST(Packed, mixed_precision) {
    LaneRun run = halves();
    run.same = same_singles;
    check_lanes({{"v_fma_mix_f32 v2, v4, v6, v8",
                  [](auto& in) { return bits(std::fma(f(in.a), f(in.b), f(in.c))); }},
                 {"v_fma_mix_f32 v2, -v4, |v6|, v8 op_sel:[1,0,0] op_sel_hi:[1,1,0]",
                  [](auto& in) {
                      return bits(std::fma(-static_cast<float>(high(in.a)),
                                           static_cast<float>(absolute(h(in.b))), f(in.c)));
                  }}},
                run);
    const auto sum = [](const LaneInputs& in) {
        return half(std::fma(static_cast<float>(h(in.a)), f(in.b), static_cast<float>(high(in.c))));
    };
    check_lanes({{"v_fma_mixlo_f16 v2, v4, v6, v8 op_sel:[0,0,1] op_sel_hi:[1,0,1]",
                  [&](auto& in) { return kept(in) | sum(in); }},
                 {"v_fma_mixhi_f16 v2, v4, v6, v8 op_sel:[0,0,1] op_sel_hi:[1,0,1]",
                  [&](auto& in) { return (in.old & 0xffff) | sum(in) << 16; }}},
                [] {
                    LaneRun mixed = halves();
                    // The kept half may be a signalling NaN: compare it bit by bit.
                    mixed.same = [](u64 got, u64 expected) {
                        return got == expected ||
                               same_halves(got | 0x02000200, expected | 0x02000200);
                    };
                    return mixed;
                }());
}

TEST(Packed, singles) {
    LaneRun run;
    run.operand = [](std::mt19937_64& random) {
        return random_single(random) | random_single(random) << 32;
    };
    run.wide = true;
    run.rounds = 32;
    run.same = [](u64 got, u64 expected) {
        return same_singles(got & 0xffffffff, expected & 0xffffffff) &&
               same_singles(got >> 32, expected >> 32);
    };
    const auto both = [](float low, float upper) { return bits(low) | bits(upper) << 32; };
    const auto hi = [](u64 a) { return f(a >> 32); };
    check_lanes(
        {{"v_pk_add_f32 v[2:3], v[4:5], v[6:7]",
          [&](auto& in) { return both(f(in.a) + f(in.b), hi(in.a) + hi(in.b)); }},
         {"v_pk_mul_f32 v[2:3], v[4:5], v[6:7] op_sel:[0,1] op_sel_hi:[1,0] neg_hi:[1,0]",
          [&](auto& in) { return both(f(in.a) * hi(in.b), -hi(in.a) * f(in.b)); }},
         {"v_pk_fma_f32 v[2:3], v[4:5], 2.0, v[8:9] op_sel_hi:[1,0,1]",
          [&](auto& in) {
              return both(std::fma(f(in.a), 2.0F, f(in.c)), std::fma(hi(in.a), 2.0F, hi(in.c)));
          }},
         {"v_pk_mov_b32 v[2:3], v[4:5], v[6:7] op_sel:[1,0]",
          [&](auto& in) { return in.a >> 32 | in.b << 32; }},
         {"v_pk_mov_b32 v[2:3], v[4:5], v[4:5] op_sel:[0,1]", [](auto& in) { return in.a; }}},
        run);
}

} // namespace vgpu::test
