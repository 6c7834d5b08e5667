// SPDX-License-Identifier: MIT
// Conversions between number formats.
#include "tests/isa/lanes.hpp"

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

// Into the range of an integer type; a NaN is 0.
template <typename I> u64 saturated(double value) {
    if (std::isnan(value)) {
        return 0;
    }
    const double low = std::numeric_limits<I>::min();
    const double high = std::numeric_limits<I>::max();
    return static_cast<u32>(static_cast<std::int64_t>(std::min(std::max(value, low), high)));
}

// The value of an 8-bit float from its definition; a NaN for 0x80.
double value8(unsigned byte, int exponent_bits) {
    if (byte == 0x80) {
        return std::nan("");
    }
    const int mantissa_bits = 7 - exponent_bits;
    const int bias = exponent_bits == 4 ? 8 : 16;
    const int exponent = static_cast<int>(byte & 0x7f) >> mantissa_bits;
    const double fraction = (byte & ((1U << mantissa_bits) - 1)) / double(1U << mantissa_bits);
    const double magnitude = exponent == 0 ? fraction * std::pow(2.0, 1 - bias)
                                           : (1 + fraction) * std::pow(2.0, exponent - bias);
    return byte < 0x80 ? magnitude : -magnitude;
}

// The nearest of all values, ties to an even pattern; too far beyond the largest: a NaN.
unsigned nearest8(float value, int exponent_bits) {
    const double magnitude = std::fabs(double{value});
    const double largest = value8(0x7f, exponent_bits);
    const double step = largest - value8(0x7e, exponent_bits);
    if (std::isnan(value) || magnitude >= largest + step / 2) {
        return 0x80;
    }
    unsigned best = 0;
    for (unsigned byte = 1; byte < 0x80; ++byte) {
        const double distance = std::fabs(value8(byte, exponent_bits) - magnitude);
        const double record = std::fabs(value8(best, exponent_bits) - magnitude);
        if (distance < record || (distance == record && byte % 2 == 0)) {
            best = byte;
        }
    }
    return best == 0 || value >= 0 ? best : best | 0x80;
}

std::uint64_t small_single(std::mt19937_64& random) {
    const u64 any = random_single(random);
    return random() % 4 == 0 ? any : (random() & 0x807fffff) | (105 + random() % 40) << 23;
}

} // namespace

TEST(Convert, floats_to_integers_saturate) {
    LaneRun run;
    run.operand = random_single;
    run.rounds = 16;
    check_lanes(
        {{"v_cvt_u32_f32 v2, v4", [](auto& in) { return saturated<u32>(std::trunc(f(in.a))); }},
         {"v_cvt_i32_f32 v2, -v4", [](auto& in) { return saturated<i32>(std::trunc(-f(in.a))); }},
         {"v_cvt_flr_i32_f32 v2, v4", [](auto& in) { return saturated<i32>(std::floor(f(in.a))); }},
         {"v_cvt_rpi_i32_f32 v2, v4",
          [](auto& in) { return saturated<i32>(std::floor(double{f(in.a)} + 0.5)); }},
         {"v_cvt_pk_u8_f32 v2, v4, 2, v6",
          [](auto& in) {
              const u64 byte = saturated<std::uint8_t>(std::nearbyint(double{f(in.a)}));
              return (in.b & 0xff00ffff) | byte << 16;
          }},
         {"v_cvt_pknorm_i16_f32 v2, v4, v6",
          [](auto& in) {
              const auto norm = [](float a) {
                  return saturated<std::int16_t>(
                             std::nearbyint(std::fmin(std::fmax(double{a}, -1), 1) * 32767)) &
                         (std::isnan(a) ? 0 : 0xffff);
              };
              return norm(f(in.a)) | norm(f(in.b)) << 16;
          }},
         {"v_cvt_pknorm_u16_f32 v2, v4, v6",
          [](auto& in) {
              const auto norm = [](float a) {
                  return std::isnan(a) ? 0
                                       : saturated<u16>(std::nearbyint(
                                             std::fmin(std::fmax(double{a}, 0), 1) * 65535));
              };
              return norm(f(in.a)) | norm(f(in.b)) << 16;
          }}},
        run);
    run.operand = random_double;
    check_lanes(
        {{"v_cvt_u32_f64 v2, v[4:5]", [](auto& in) { return saturated<u32>(std::trunc(d(in.a))); }},
         {"v_cvt_i32_f64 v2, v[4:5]",
          [](auto& in) { return saturated<i32>(std::trunc(d(in.a))); }}},
        run);
}

TEST(Convert, integers) {
    check_lanes(
        {{"v_cvt_f32_i32 v2, v4",
          [](auto& in) { return bits(static_cast<float>(static_cast<i32>(in.a))); }},
         {"v_cvt_f32_ubyte2 v2, v4",
          [](auto& in) { return bits(static_cast<float>(in.a >> 16 & 0xff)); }},
         {"v_cvt_off_f32_i4 v2, v4",
          [](auto& in) {
              const int low = static_cast<int>(in.a & 15);
              return bits(static_cast<float>(low < 8 ? low : low - 16) * 0.0625F);
          }},
         {"v_cvt_pk_u16_u32 v2, v4, v6",
          [](auto& in) {
              return std::min<u64>(in.a & 0xffffffff, 65535) |
                     std::min<u64>(in.b & 0xffffffff, 65535) << 16;
          }},
         {"v_cvt_pk_i16_i32 v2, v4, v6",
          [](auto& in) {
              const auto narrow = [](u64 a) {
                  return u64{static_cast<u16>(std::clamp(static_cast<i32>(a), -32768, 32767))};
              };
              return narrow(in.a) | narrow(in.b) << 16;
          }},
         {"v_sat_pk_u8_i16 v2, v4",
          [](auto& in) {
              const auto narrow = [](u64 a) {
                  return static_cast<u64>(std::clamp<int>(static_cast<std::int16_t>(a), 0, 255));
              };
              return narrow(in.a) | narrow(in.a >> 16) << 8;
          }}},
        LaneRun{});
    LaneRun wide;
    wide.wide = true;
    check_lanes(
        {{"v_cvt_f64_u32 v[2:3], v4",
          [](auto& in) { return std::bit_cast<u64>(static_cast<double>(static_cast<u32>(in.a))); }},
         {"v_cvt_f64_i32 v[2:3], v4",
          [](auto& in) {
              return std::bit_cast<u64>(static_cast<double>(static_cast<i32>(in.a)));
          }}},
        wide);
}

TEST(Convert, eight_bit_floats_decode) {
    const auto same = [](u64 got, u64 expected) {
        return got == expected || (std::isnan(f(got)) && std::isnan(f(expected)));
    };
    LaneRun run;
    run.rounds = 32;
    run.same = same;
    const auto single = [](double a) { return bits(static_cast<float>(a)); };
    check_lanes({{"v_cvt_f32_fp8 v2, v4", [=](auto& in) { return single(value8(in.a & 0xff, 4)); }},
                 {"v_cvt_f32_bf8 v2, v4", [=](auto& in) { return single(value8(in.a & 0xff, 5)); }},
                 {"v_cvt_f32_fp8_sdwa v2, v4 src0_sel:BYTE_3",
                  [=](auto& in) { return single(value8(in.a >> 24 & 0xff, 4)); }}},
                run);
    run.wide = true;
    run.same = [=](u64 got, u64 expected) {
        return same(got & 0xffffffff, expected & 0xffffffff) && same(got >> 32, expected >> 32);
    };
    check_lanes({{"v_cvt_pk_f32_fp8 v[2:3], v4",
                  [=](auto& in) {
                      return single(value8(in.a & 0xff, 4)) | single(value8(in.a >> 8 & 0xff, 4))
                                                                  << 32;
                  }},
                 {"v_cvt_pk_f32_bf8_sdwa v[2:3], v4 src0_sel:WORD_1",
                  [=](auto& in) {
                      return single(value8(in.a >> 16 & 0xff, 5)) |
                             single(value8(in.a >> 24 & 0xff, 5)) << 32;
                  }}},
                run);
}

TEST(Convert, eight_bit_floats_encode) {
    LaneRun run;
    run.operand = small_single;
    run.rounds = 32;
    check_lanes({{"v_cvt_pk_fp8_f32 v2, v4, v6",
                  [](auto& in) {
                      return (in.old & 0xffff0000) | nearest8(f(in.a), 4) |
                             nearest8(f(in.b), 4) << 8;
                  }},
                 {"v_cvt_pk_bf8_f32 v2, v4, -v6 op_sel:[0,0,1]",
                  [](auto& in) {
                      return (in.old & 0xffff) | nearest8(f(in.a), 5) << 16 |
                             u64{nearest8(-f(in.b), 5)} << 24;
                  }}},
                run);
    run.mode |= 1U << 23; // FP16_OVFL: finite, as large as can be
    check_lanes({{"v_cvt_pk_fp8_f32 v2, v4, v4",
                  [](auto& in) {
                      unsigned byte = nearest8(f(in.a), 4);
                      if (byte == 0x80 && !std::isnan(f(in.a))) {
                          byte = f(in.a) < 0 ? 0xff : 0x7f;
                      }
                      return (in.old & 0xffff0000) | byte | byte << 8;
                  }}},
                run);
}

TEST(Convert, stochastic_rounding_is_one_of_the_neighbours) {
    // With no random bits it cuts off; with all of them set it goes away from 0, unless exact.
    LaneRun run;
    run.operand = [](std::mt19937_64& random) {
        return (random() & 0x807fffff) | (121 + random() % 12) << 23; // normal in both formats
    };
    const auto encoded = [](float value, int exponent_bits, bool away) {
        unsigned below = 0;
        while (value8(below + 1, exponent_bits) <= std::fabs(value)) {
            ++below;
        }
        const bool exact = value8(below, exponent_bits) == std::fabs(value);
        return (away && !exact ? below + 1 : below) | (value < 0 ? 0x80U : 0);
    };
    check_lanes(
        {{"v_cvt_sr_fp8_f32 v2, v4, 0",
          [&](auto& in) { return (in.old & 0xffffff00) | encoded(f(in.a), 4, false); }},
         {"v_cvt_sr_bf8_f32 v2, v4, 0 op_sel:[0,0,0,1]",
          [&](auto& in) { return (in.old & 0xff00ffff) | encoded(f(in.a), 5, false) << 16; }},
         {"v_and_b32 v4, 0xfffff000, v4\n v_cvt_sr_fp8_f32 v2, v4, -1 op_sel:[0,0,1,1]",
          [&](auto& in) {
              // The low bits are gone: whatever is left rounds away.
              const float value = f(in.a & 0xfffff000);
              return (in.old & 0xffffff) | u64{encoded(value, 4, true)} << 24;
          }}},
        run);
}

} // namespace vgpu::test
