// SPDX-License-Identifier: MIT
// Single and double precision under every rounding and denormal mode, NaNs, and modifiers.
#include "tests/isa/lanes.hpp"
#include "tests/isa/rounding.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace vgpu::test {

namespace {

float f(u64 a) {
    return std::bit_cast<float>(static_cast<u32>(a));
}
double d(u64 a) {
    return std::bit_cast<double>(a);
}
u64 bits(float a) {
    return std::bit_cast<u32>(a);
}
u64 bits(double a) {
    return std::bit_cast<u64>(a);
}

bool quiet32(u64 a) {
    return (a & 0x7fffffff) >= 0x7fc00000;
}
bool quiet64(u64 a) {
    return (a & 0x7fffffffffffffff) >= 0x7ff8000000000000;
}
bool same_single(u64 a, u64 b) {
    return a == b || (quiet32(a) && std::isnan(f(b)));
}
bool same_double(u64 a, u64 b) {
    return a == b || (quiet64(a) && std::isnan(d(b)));
}

LaneRun singles(u32 mode = 0x2f0) {
    LaneRun run;
    run.operand = random_single;
    run.same = same_single;
    run.mode = mode;
    run.rounds = 16;
    return run;
}
LaneRun doubles(u32 mode = 0x2f0) {
    LaneRun run;
    run.operand = random_double;
    run.same = same_double;
    run.mode = mode;
    run.wide = true;
    run.rounds = 16;
    return run;
}

u64 flush32(u64 a) {
    return (a & 0x7f800000) == 0 ? a & 0x80000000 : a;
}
u64 flush64(u64 a) {
    return (a & 0x7ff0000000000000) == 0 ? a & 0x8000000000000000 : a;
}

// A NaN loses, a -0 is less than a +0.
template <typename F> F minimum(F a, F b) {
    if (a == 0 && b == 0) {
        return std::signbit(a) ? a : b;
    }
    if (std::isnan(a)) {
        return b; // the host's fmin would make a NaN of a signalling one
    }
    return std::isnan(b) || a < b ? a : b;
}
bool signalling(u64 a) {
    return std::isnan(f(a)) && !quiet32(a);
}

} // namespace

TEST(Float, every_rounding_mode) {
    for (unsigned mode = 0; mode < 4; ++mode) {
        const auto with = [mode](auto operation) {
            return [mode, operation](const LaneInputs& in) {
                return rounded_as(mode, [&] { return operation(in); });
            };
        };
        check_lanes({{"v_add_f32 v2, v4, v6", with([](const LaneInputs& in) {
                          volatile float a = f(in.a);
                          return bits(a + f(in.b));
                      })},
                     {"v_mul_f32 v2, v4, v6", with([](const LaneInputs& in) {
                          volatile float a = f(in.a);
                          return bits(a * f(in.b));
                      })},
                     {"v_fma_f32 v2, v4, -v6, v8", with([](const LaneInputs& in) {
                          return bits(std::fma(f(in.a), -f(in.b), f(in.c)));
                      })},
                     {"v_cvt_f32_u32 v2, v4", with([](const LaneInputs& in) {
                          volatile u32 a = static_cast<u32>(in.a);
                          return bits(static_cast<float>(a));
                      })},
                     {"s_movk_i32 s10, -140\n v_ldexp_f32 v2, v4, s10",
                      with([](const LaneInputs& in) { return bits(std::scalbn(f(in.a), -140)); })}},
                    singles(0x2f0 | mode));
        check_lanes({{"v_add_f64 v[2:3], v[4:5], v[6:7]", with([](const LaneInputs& in) {
                          volatile double a = d(in.a);
                          return bits(a + d(in.b));
                      })},
                     {"v_mul_f64 v[2:3], v[4:5], |v[6:7]|", with([](const LaneInputs& in) {
                          volatile double a = d(in.a);
                          return bits(a * std::fabs(d(in.b)));
                      })},
                     {"v_fma_f64 v[2:3], v[4:5], v[6:7], v[8:9]", with([](const LaneInputs& in) {
                          return bits(std::fma(d(in.a), d(in.b), d(in.c)));
                      })}},
                    doubles(0x2f0 | mode << 2));
        // The narrow result rounds as single precision does.
        LaneRun narrow = doubles(0x2f0 | mode);
        narrow.wide = false;
        narrow.same = same_single;
        check_lanes({{"v_cvt_f32_f64 v2, v[4:5]", with([](const LaneInputs& in) {
                          volatile double a = d(in.a);
                          return bits(static_cast<float>(a));
                      })}},
                    narrow);
    }
}

TEST(Float, rounding_to_whole_numbers_ignores_the_mode) {
    for (const u32 mode : {0U, 1U, 2U, 3U}) {
        check_lanes({{"v_rndne_f32 v2, v4", [](auto& in) { return bits(std::nearbyint(f(in.a))); }},
                     {"v_trunc_f32 v2, v4", [](auto& in) { return bits(std::trunc(f(in.a))); }},
                     {"v_ceil_f32 v2, v4", [](auto& in) { return bits(std::ceil(f(in.a))); }},
                     {"v_floor_f32 v2, v4", [](auto& in) { return bits(std::floor(f(in.a))); }}},
                    singles(0x2f0 | mode | mode << 2));
        check_lanes(
            {{"v_rndne_f64 v[2:3], v[4:5]", [](auto& in) { return bits(std::nearbyint(d(in.a))); }},
             {"v_trunc_f64 v[2:3], v[4:5]", [](auto& in) { return bits(std::trunc(d(in.a))); }},
             {"v_ceil_f64 v[2:3], v[4:5]", [](auto& in) { return bits(std::ceil(d(in.a))); }},
             {"v_floor_f64 v[2:3], v[4:5]", [](auto& in) { return bits(std::floor(d(in.a))); }}},
            doubles(0x2f0 | mode | mode << 2));
    }
}

TEST(Float, denormals_are_let_in_and_out_as_the_mode_says) {
    for (const u32 denormals : {0U, 1U, 2U, 3U}) {
        const auto in32 = [=](u64 a) { return f((denormals & 1) != 0 ? a : flush32(a)); };
        const auto out32 = [=](float a) {
            return (denormals & 2) != 0 ? bits(a) : flush32(bits(a));
        };
        check_lanes(
            {{"v_add_f32 v2, v4, v6", [=](auto& in) { return out32(in32(in.a) + in32(in.b)); }},
             {"v_mul_f32 v2, v4, 0.5", [=](auto& in) { return out32(in32(in.a) / 2); }},
             {"v_max_f32 v2, |v4|, 0",
              [=](auto& in) {
                  const float a = std::fabs(in32(in.a));
                  return out32(a > 0 ? a : 0.0F); // 0 for a NaN
              }},
             {"v_cmp_lg_f32 vcc, 0, v4\n v_cndmask_b32 v2, 0, 1, vcc",
              [=](auto& in) { return in32(in.a) < 0 || in32(in.a) > 0 ? 1 : 0; }}},
            [=] {
                LaneRun run = singles(denormals << 4 | 0xc0);
                run.operand = [](std::mt19937_64& random) {
                    const u64 a = random_single(random);
                    return random() % 2 == 0 ? a & 0x807fffff : a;
                };
                return run;
            }());
        const auto in64 = [=](u64 a) { return d((denormals & 1) != 0 ? a : flush64(a)); };
        check_lanes({{"v_mul_f64 v[2:3], v[4:5], 0.5",
                      [=](auto& in) {
                          const u64 half = bits(in64(in.a) / 2);
                          return (denormals & 2) != 0 ? half : flush64(half);
                      }}},
                    doubles(denormals << 6 | 0x30));
    }
}

TEST(Float, extremes_of_two_and_three) {
    // IEEE: a signalling NaN wins, made quiet. Otherwise a NaN loses.
    for (const bool ieee : {false, true}) {
        const auto least = [](std::initializer_list<float> values) {
            float result = std::numeric_limits<float>::quiet_NaN();
            for (const float value : values) {
                result = minimum(result, value);
            }
            return bits(result);
        };
        const auto or_nan = [=](const LaneInputs& in, unsigned count, u64 otherwise) {
            const u64 nan = 0x7fc00000;
            const u64 sources[] = {in.a, in.b, in.c};
            for (unsigned i = 0; i < count; ++i) {
                if (ieee && signalling(sources[i])) {
                    return nan;
                }
            }
            return otherwise;
        };
        check_lanes({{"v_min_f32 v2, v4, v6",
                      [=](auto& in) { return or_nan(in, 2, least({f(in.a), f(in.b)})); }},
                     {"v_max_f32 v2, v4, v6",
                      [=](auto& in) {
                          // max(a, b) is -min(-a, -b)
                          return or_nan(in, 2, least({-f(in.a), -f(in.b)}) ^ 0x80000000);
                      }},
                     {"v_min3_f32 v2, v4, v6, v8",
                      [=](auto& in) { return or_nan(in, 3, least({f(in.a), f(in.b), f(in.c)})); }},
                     {"v_max3_f32 v2, v4, v6, v8",
                      [=](auto& in) {
                          return or_nan(in, 3, least({-f(in.a), -f(in.b), -f(in.c)}) ^ 0x80000000);
                      }},
                     {"v_med3_f32 v2, v4, v6, v8",
                      [=](auto& in) {
                          const float x = f(in.a), y = f(in.b), z = f(in.c);
                          if (std::isnan(x) || std::isnan(y) || std::isnan(z)) {
                              return or_nan(in, 3, least({x, y, z}));
                          }
                          const auto before = [](float l, float r) {
                              return l < r || (l == r && std::signbit(l) && !std::signbit(r));
                          };
                          const float low = std::min(x, y, before), high = std::max(x, y, before);
                          return bits(std::max(low, std::min(high, z, before), before));
                      }}},
                    singles(ieee ? 0x2f0 : 0xf0));
    }
}

TEST(Float, output_modifiers) {
    // OMOD works only without IEEE and with denormals flushed; a -0 becomes +0.
    const auto scaled = [](float factor) {
        return [factor](const LaneInputs& in) {
            const float sum = f(flush32(in.a)) + f(flush32(in.b));
            return flush32(bits(f(flush32(bits(sum))) * factor + 0.0F));
        };
    };
    LaneRun run = singles(0xc0);
    run.operand = [](std::mt19937_64& random) {
        // Sums whose double doesn't round: no denormals on the way.
        return (random() & 0x807fffff) | (100 + random() % 50) << 23;
    };
    check_lanes({{"v_add_f32 v2, v4, v6 mul:2", scaled(2)},
                 {"v_add_f32 v2, v4, v6 mul:4", scaled(4)},
                 {"v_add_f32 v2, v4, v6 div:2", scaled(0.5F)}},
                run);
    for (const u32 mode : {0x2c0U, 0xf0U}) {
        run.mode = mode;
        check_lanes(
            {{"v_add_f32 v2, v4, v6 mul:2", [](auto& in) { return bits(f(in.a) + f(in.b)); }}},
            run);
    }
    for (const bool nan_to_zero : {false, true}) {
        LaneRun clamping = singles(nan_to_zero ? 0x3f0 : 0x2f0);
        check_lanes({{"v_add_f32 v2, v4, v6 clamp",
                      [=](auto& in) {
                          const float sum = f(in.a) + f(in.b);
                          if (std::isnan(sum)) {
                              return nan_to_zero ? u64{0} : bits(sum);
                          }
                          return bits(sum <= 0 ? 0.0F : std::fmin(sum, 1.0F));
                      }}},
                    clamping);
    }
}

TEST(Float, odds_and_ends) {
    check_lanes(
        {{"v_mul_legacy_f32 v2, v4, v6",
          [](auto& in) { return f(in.a) == 0 || f(in.b) == 0 ? u64{0} : bits(f(in.a) * f(in.b)); }},
         {"v_fract_f32 v2, v4",
          [](auto& in) {
              // From double precision, where nothing rounds up to 1.
              const double a = double{f(in.a)} - std::floor(double{f(in.a)});
              return std::isfinite(f(in.a)) && a >= 0x1.fffffep-1
                         ? u64{0x3f7fffff}
                         : bits(static_cast<float>(f(in.a) - std::floor(f(in.a))));
          }},
         {"v_cndmask_b32 v2, -v4, |v6|, s[10:11]",
          [](auto& in) { return (in.a & 0xffffffff) ^ 0x80000000; }},
         {"s_not_b64 s[10:11], s[10:11]\n v_cndmask_b32 v2, -v4, |v6|, s[10:11]",
          [](auto& in) { return in.b & 0x7fffffff; }}},
        [] {
            LaneRun run = singles();
            run.same = [](u64 a, u64 b) { return a == b || same_single(a, b); };
            return run;
        }());
    check_lanes({{"v_cmp_class_f32 vcc, v4, v7\n v_cndmask_b32 v2, 0, 1, vcc",
                  [](auto& in) {
                      const float a = f(in.a);
                      const int kind = std::fpclassify(a);
                      const int rank = kind == FP_INFINITE    ? 3
                                       : kind == FP_NORMAL    ? 2
                                       : kind == FP_SUBNORMAL ? 1
                                                              : 0;
                      int bit = std::signbit(a) ? 5 - rank : 6 + rank;
                      if (kind == FP_NAN) {
                          bit = quiet32(in.a) ? 1 : 0;
                      }
                      return in.b >> (32 + bit) & 1;
                  }}},
                [] {
                    LaneRun run = singles(0x200); // no denormals: classes don't care
                    run.operand = [](std::mt19937_64& random) {
                        return random_single(random) | random() << 32;
                    };
                    return run;
                }());
}

TEST(Float, transcendentals_are_near_the_hosts) {
    const double tau = 6.283185307179586;
    const auto flushed = [](u64 a) { return double{f(flush32(a))}; };
    LaneRun run = singles();
    run.same = [](u64 got, u64 expected) {
        const auto distance = static_cast<std::int64_t>(got) - static_cast<std::int64_t>(expected);
        return same_single(got, expected) || std::llabs(distance) <= 1;
    };
    const auto round = [](double a) { return flush32(bits(static_cast<float>(a))); };
    check_lanes(
        {{"v_rcp_f32 v2, v4", [=](auto& in) { return round(1 / flushed(in.a)); }},
         {"v_rsq_f32 v2, v4", [=](auto& in) { return round(1 / std::sqrt(flushed(in.a))); }},
         {"v_sqrt_f32 v2, v4", [=](auto& in) { return round(std::sqrt(flushed(in.a))); }},
         {"v_exp_f32 v2, v4", [=](auto& in) { return round(std::pow(2.0, flushed(in.a))); }},
         {"v_log_f32 v2, v4",
          [=](auto& in) { return round(std::log(flushed(in.a)) / std::log(2.0)); }},
         {"v_sin_f32 v2, v4",
          [=](auto& in) {
              const double a = flushed(in.a);
              const double angle = (a - std::rint(a)) * tau;
              return round(std::fabs(a) > 256 && !std::isinf(a) ? 0 : std::sin(angle));
          }},
         {"v_cos_f32 v2, v4",
          [=](auto& in) {
              const double a = flushed(in.a);
              const double angle = (a - std::rint(a)) * tau;
              return round(std::fabs(a) > 256 && !std::isinf(a) ? 1 : std::cos(angle));
          }}},
        [&] {
            LaneRun near = run;
            near.same = [](u64 got, u64 expected) {
                // Near its zeros a sine's last place is smaller than the angle's error.
                return same_single(got, expected) ||
                       std::fabs(double{f(got)} - double{f(expected)}) <=
                           std::fmax(1e-6 * std::fabs(double{f(expected)}), 1e-9);
            };
            return near;
        }());
    check_lanes({{"v_sqrt_f64 v[2:3], v[4:5]", [](auto& in) { return bits(std::sqrt(d(in.a))); }},
                 {"v_rcp_f64 v[2:3], v[4:5]", [](auto& in) { return bits(1 / d(in.a)); }}},
                doubles());
}

// Denormals are zero, although MODE keeps them.
TEST(Float, of_a_gfx90a_multiplies_and_adds_with_two_roundings) {
    const auto flush = [](float a) {
        return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0F, a) : a;
    };
    const auto mad = [&](u64 a, u64 b, u64 c) {
        return bits(flush(flush(flush(f(a)) * flush(f(b))) + flush(f(c))));
    };
    constexpr u32 constant = 0x40490fdb;
    LaneRun run = singles();
    run.isa = isa::Isa::gfx90a;
    check_lanes({{"v_mad_f32 v2, v4, v6, v8", [&](auto& in) { return mad(in.a, in.b, in.c); }},
                 {"v_mad_f32 v2, -v4, |v6|, v8",
                  [&](auto& in) { return mad(in.a ^ 0x80000000, in.b & 0x7fffffff, in.c); }},
                 {"v_mac_f32 v2, v4, v6", [&](auto& in) { return mad(in.a, in.b, in.old); }},
                 {"v_madmk_f32 v2, v4, 0x40490fdb, v6",
                  [&](auto& in) { return mad(in.a, constant, in.b); }},
                 {"v_madak_f32 v2, v4, v6, 0x40490fdb",
                  [&](auto& in) { return mad(in.a, in.b, constant); }},
                 {"v_mad_legacy_f32 v2, v4, v6, v8",
                  [&](auto& in) {
                      const bool zero = flush(f(in.a)) == 0 || flush(f(in.b)) == 0;
                      return mad(zero ? 0 : in.a, zero ? 0 : in.b, in.c);
                  }}},
                run);
}

} // namespace vgpu::test
