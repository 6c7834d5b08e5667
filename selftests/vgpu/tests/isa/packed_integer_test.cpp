// SPDX-License-Identifier: MIT
// 16-bit and packed integers, sums over bytes, dot products, and integer clamping.
#include "tests/isa/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace vgpu::test {

namespace {

i64 s16(u64 a) {
    return static_cast<i16>(a);
}
i64 u16_of(u64 a) {
    return static_cast<u16>(a);
}
i64 s32(u64 a) {
    return static_cast<i32>(a);
}
i64 u32_of(u64 a) {
    return static_cast<u32>(a);
}
u64 low16(i64 a) {
    return static_cast<u16>(a);
}
u64 low32(i64 a) {
    return static_cast<u32>(a);
}
u64 kept(const LaneInputs& in, i64 low) {
    return (in.old & 0xffff0000) | low16(low);
}
// The same on both halves.
template <typename Operation> u64 both(const LaneInputs& in, Operation operation) {
    return low16(operation(in.a, in.b, in.c)) | low16(operation(in.a >> 16, in.b >> 16, in.c >> 16))
                                                    << 16;
}
i64 median(i64 a, i64 b, i64 c) {
    return a + b + c - std::max({a, b, c}) - std::min({a, b, c});
}
u64 byte(u64 a, unsigned i) {
    return a >> (8 * i) & 0xff;
}
u64 byte_distance(u64 a, u64 b, bool masked = false) {
    u64 sum = 0;
    for (unsigned i = 0; i < 4; ++i) {
        if (!masked || byte(b, i) != 0) {
            sum += std::max(byte(a, i), byte(b, i)) - std::min(byte(a, i), byte(b, i));
        }
    }
    return sum;
}
i64 nibble(u64 a, unsigned i) {
    const i64 value = static_cast<i64>(a >> (4 * i) & 15);
    return value < 8 ? value : value - 16;
}

} // namespace

TEST(Words, old_operations_zero_the_upper_half) {
    check_lanes(
        {{"v_add_u16 v2, v4, v6", [](auto& in) { return low16(u16_of(in.a) + u16_of(in.b)); }},
         {"v_add_u16 v2, v4, v6 clamp",
          [](auto& in) { return low16(std::min<i64>(u16_of(in.a) + u16_of(in.b), 65535)); }},
         {"v_sub_u16 v2, v4, v6 clamp",
          [](auto& in) { return low16(std::max<i64>(u16_of(in.a) - u16_of(in.b), 0)); }},
         {"v_subrev_u16 v2, v4, v6", [](auto& in) { return low16(u16_of(in.b) - u16_of(in.a)); }},
         {"v_mul_lo_u16 v2, v4, v6", [](auto& in) { return low16(u16_of(in.a) * u16_of(in.b)); }},
         {"v_lshlrev_b16 v2, v4, v6", [](auto& in) { return low16(u16_of(in.b) << (in.a & 15)); }},
         {"v_lshrrev_b16 v2, v4, v6", [](auto& in) { return low16(u16_of(in.b) >> (in.a & 15)); }},
         {"v_ashrrev_i16 v2, v4, v6", [](auto& in) { return low16(s16(in.b) >> (in.a & 15)); }},
         {"v_max_u16 v2, v4, v6",
          [](auto& in) { return low16(std::max(u16_of(in.a), u16_of(in.b))); }},
         {"v_min_i16 v2, v4, v6", [](auto& in) { return low16(std::min(s16(in.a), s16(in.b))); }},
         {"v_mad_legacy_u16 v2, v4, v6, v8",
          [](auto& in) { return low16(u16_of(in.a) * u16_of(in.b) + u16_of(in.c)); }},
         {"v_cmp_lt_i16 vcc, v4, v6\n v_cndmask_b32 v2, 0, 1, vcc",
          [](auto& in) { return s16(in.a) < s16(in.b) ? 1 : 0; }},
         {"v_cmp_ge_u16 vcc, v4, v6\n v_cndmask_b32 v2, 0, 1, vcc",
          [](auto& in) { return u16_of(in.a) >= u16_of(in.b) ? 1 : 0; }}},
        LaneRun{});
}

TEST(Words, new_operations_keep_the_other_half) {
    check_lanes(
        {{"v_mad_u16 v2, v4, v6, v8",
          [](auto& in) { return kept(in, u16_of(in.a) * u16_of(in.b) + u16_of(in.c)); }},
         {"v_mad_i16 v2, v4, v6, v8 clamp",
          [](auto& in) {
              return kept(in, std::clamp<i64>(s16(in.a) * s16(in.b) + s16(in.c), -32768, 32767));
          }},
         {"v_add_i16 v2, v4, v6 op_sel:[1,0,1]",
          [](auto& in) { return (in.old & 0xffff) | low16(s16(in.a >> 16) + s16(in.b)) << 16; }},
         {"v_sub_i16 v2, v4, v6 clamp",
          [](auto& in) { return kept(in, std::clamp<i64>(s16(in.a) - s16(in.b), -32768, 32767)); }},
         {"v_med3_i16 v2, v4, v6, v8 op_sel:[0,1,1,0]",
          [](auto& in) { return kept(in, median(s16(in.a), s16(in.b >> 16), s16(in.c >> 16))); }},
         {"v_min3_u16 v2, v4, v6, v8",
          [](auto& in) { return kept(in, std::min({u16_of(in.a), u16_of(in.b), u16_of(in.c)})); }},
         {"v_max3_i16 v2, v4, v6, v8",
          [](auto& in) { return kept(in, std::max({s16(in.a), s16(in.b), s16(in.c)})); }},
         {"v_mad_u32_u16 v2, v4, v6, v8 op_sel:[1,0,0,0]",
          [](auto& in) { return low32(u16_of(in.a >> 16) * u16_of(in.b) + u32_of(in.c)); }},
         {"v_mad_i32_i16 v2, v4, v6, v8",
          [](auto& in) { return low32(s16(in.a) * s16(in.b) + s32(in.c)); }}},
        LaneRun{});
}

TEST(Words, packed) {
    check_lanes(
        {{"v_pk_add_u16 v2, v4, v6",
          [](auto& in) {
              return both(in, [](u64 a, u64 b, u64) { return u16_of(a) + u16_of(b); });
          }},
         {"v_pk_add_i16 v2, v4, v6 clamp",
          [](auto& in) {
              return both(in, [](u64 a, u64 b, u64) {
                  return std::clamp<i64>(s16(a) + s16(b), -32768, 32767);
              });
          }},
         {"v_pk_sub_u16 v2, v4, v6 clamp",
          [](auto& in) {
              return both(
                  in, [](u64 a, u64 b, u64) { return std::max<i64>(u16_of(a) - u16_of(b), 0); });
          }},
         {"v_pk_mad_i16 v2, v4, v6, v8",
          [](auto& in) {
              return both(in, [](u64 a, u64 b, u64 c) { return s16(a) * s16(b) + s16(c); });
          }},
         {"v_pk_mul_lo_u16 v2, v4, v6 op_sel_hi:[1,0]",
          [](auto& in) {
              return low16(u16_of(in.a) * u16_of(in.b)) | low16(u16_of(in.a >> 16) * u16_of(in.b))
                                                              << 16;
          }},
         {"v_pk_ashrrev_i16 v2, v4, v6",
          [](auto& in) { return both(in, [](u64 a, u64 b, u64) { return s16(b) >> (a & 15); }); }},
         {"v_pk_lshlrev_b16 v2, 3, v6 op_sel_hi:[0,1]",
          [](auto& in) { return both(in, [](u64, u64 b, u64) { return u16_of(b) << 3; }); }},
         {"v_pk_max_i16 v2, v4, v6",
          [](auto& in) {
              return both(in, [](u64 a, u64 b, u64) { return std::max(s16(a), s16(b)); });
          }},
         {"v_pk_min_u16 v2, v4, v6",
          [](auto& in) {
              return both(in, [](u64 a, u64 b, u64) { return std::min(u16_of(a), u16_of(b)); });
          }}},
        LaneRun{});
}

TEST(Bytes, differences_averages_and_selection) {
    check_lanes(
        {{"v_sad_u8 v2, v4, v6, v8",
          [](auto& in) { return (byte_distance(in.a, in.b) + in.c) & 0xffffffff; }},
         {"v_sad_u8 v2, v4, v6, v8 clamp",
          [](auto& in) {
              return std::min<u64>(byte_distance(in.a, in.b) + (in.c & 0xffffffff), 0xffffffff);
          }},
         {"v_sad_hi_u8 v2, v4, v6, v8",
          [](auto& in) { return ((byte_distance(in.a, in.b) << 16) + in.c) & 0xffffffff; }},
         {"v_msad_u8 v2, v4, v6, v8",
          [](auto& in) { return (byte_distance(in.a, in.b, true) + in.c) & 0xffffffff; }},
         {"v_sad_u16 v2, v4, v6, v8",
          [](auto& in) {
              return low32(std::abs(u16_of(in.a) - u16_of(in.b)) +
                           std::abs(u16_of(in.a >> 16) - u16_of(in.b >> 16)) + u32_of(in.c));
          }},
         {"v_lerp_u8 v2, v4, v6, v8",
          [](auto& in) {
              u64 result = 0;
              for (unsigned i = 0; i < 4; ++i) {
                  result |= (byte(in.a, i) + byte(in.b, i) + (byte(in.c, i) & 1)) / 2 << (8 * i);
              }
              return result;
          }},
         {"v_and_b32 v8, 0x0f0f0f0f, v8\n v_perm_b32 v2, v4, v6, v8",
          [](auto& in) {
              u64 result = 0;
              for (unsigned i = 0; i < 4; ++i) {
                  const u64 selector = byte(in.c, i) & 15;
                  const u64 words[] = {in.b, in.b >> 16, in.a, in.a >> 16};
                  u64 chosen = selector == 12 ? 0 : 0xff;
                  if (selector < 8) {
                      chosen = byte(selector < 4 ? in.b : in.a, selector % 4);
                  } else if (selector < 12) {
                      chosen = s16(words[selector - 8]) < 0 ? 0xff : 0;
                  }
                  result |= chosen << (8 * i);
              }
              return result;
          }}},
        LaneRun{});
    LaneRun wide;
    wide.wide = true;
    const auto quad = [](const LaneInputs& in, bool masked) {
        u64 result = 0;
        for (unsigned i = 0; i < 4; ++i) {
            const u64 sum = byte_distance(in.a >> (8 * i), in.b, masked) + (in.c >> (16 * i));
            result |= (sum & 0xffff) << (16 * i);
        }
        return result;
    };
    check_lanes(
        {{"v_qsad_pk_u16_u8 v[2:3], v[4:5], v6, v[8:9]", [&](auto& in) { return quad(in, false); }},
         {"v_mqsad_pk_u16_u8 v[2:3], v[4:5], v6, v[8:9]", [&](auto& in) { return quad(in, true); }},
         {"v_mov_b32 v10, v8\n v_mov_b32 v11, v9\n"
          "v_mqsad_u32_u8 v[12:15], v[4:5], v6, v[8:11]\n"
          "v_mov_b32 v2, v13\n v_mov_b32 v3, v14",
          [](auto& in) {
              return low32(static_cast<i64>(byte_distance(in.a >> 8, in.b, true) + (in.c >> 32))) |
                     low32(static_cast<i64>(byte_distance(in.a >> 16, in.b, true) + in.c)) << 32;
          }}},
        wide);
}

TEST(Dot, products_of_integers) {
    const auto clamped = [](i64 a) { return low32(std::clamp<i64>(a, INT32_MIN, INT32_MAX)); };
    const auto dot2 = [](const LaneInputs& in, i64 c) {
        return s16(in.a) * s16(in.b) + s16(in.a >> 16) * s16(in.b >> 16) + c;
    };
    const auto dot4 = [](const LaneInputs& in, i64 c) {
        for (unsigned i = 0; i < 4; ++i) {
            c += i64{static_cast<std::int8_t>(byte(in.a, i))} *
                 static_cast<std::int8_t>(byte(in.b, i));
        }
        return c;
    };
    const auto dot8 = [](const LaneInputs& in, i64 c) {
        for (unsigned i = 0; i < 8; ++i) {
            c += nibble(in.a, i) * nibble(in.b, i);
        }
        return c;
    };
    check_lanes(
        {{"v_dot2_i32_i16 v2, v4, v6, v8", [=](auto& in) { return low32(dot2(in, s32(in.c))); }},
         {"v_dot2_i32_i16 v2, v4, v6, v8 clamp",
          [=](auto& in) { return clamped(dot2(in, s32(in.c))); }},
         {"v_dot2_u32_u16 v2, v4, v6, v8",
          [](auto& in) {
              return low32(u16_of(in.a) * u16_of(in.b) + u16_of(in.a >> 16) * u16_of(in.b >> 16) +
                           u32_of(in.c));
          }},
         {"v_dot4_i32_i8 v2, v4, v6, v8", [=](auto& in) { return low32(dot4(in, s32(in.c))); }},
         {"v_dot4_u32_u8 v2, v4, v6, v8",
          [](auto& in) {
              u64 sum = in.c;
              for (unsigned i = 0; i < 4; ++i) {
                  sum += byte(in.a, i) * byte(in.b, i);
              }
              return sum & 0xffffffff;
          }},
         {"v_dot8_i32_i4 v2, v4, v6, v8 clamp",
          [=](auto& in) { return clamped(dot8(in, s32(in.c))); }},
         {"v_dot8_u32_u4 v2, v4, v6, v8",
          [](auto& in) {
              u64 sum = in.c;
              for (unsigned i = 0; i < 8; ++i) {
                  sum += (in.a >> (4 * i) & 15) * (in.b >> (4 * i) & 15);
              }
              return sum & 0xffffffff;
          }},
         {"v_dot2c_i32_i16 v2, v4, v6", [=](auto& in) { return low32(dot2(in, s32(in.old))); }},
         {"v_dot4c_i32_i8 v2, v4, v6", [=](auto& in) { return low32(dot4(in, s32(in.old))); }},
         {"v_dot8c_i32_i4 v2, v4, v6", [=](auto& in) { return low32(dot8(in, s32(in.old))); }}},
        LaneRun{});
}

TEST(Dot, products_of_halves) {
    const auto half = [](u64 a) {
        return static_cast<double>(
            static_cast<float>(std::bit_cast<_Float16>(static_cast<u16>(a))));
    };
    const auto sum = [=](const LaneInputs& in, u64 c) {
        const double total = half(in.a) * half(in.b) + half(in.a >> 16) * half(in.b >> 16) +
                             double{std::bit_cast<float>(static_cast<u32>(c))};
        return u64{std::bit_cast<u32>(static_cast<float>(total))};
    };
    LaneRun run;
    // Small numbers: every order of additions gives the same sum.
    run.operand = [](std::mt19937_64& random) {
        const auto whole = [&] {
            const auto value = static_cast<float>(static_cast<int>(random() % 201) - 100);
            return u64{std::bit_cast<u16>(static_cast<_Float16>(value))};
        };
        return whole() | whole() << 16;
    };
    check_lanes(
        {{"v_cvt_f32_f16 v8, v8\n v_dot2_f32_f16 v2, v4, v6, v8",
          [=](auto& in) { return sum(in, std::bit_cast<u32>(static_cast<float>(half(in.c)))); }},
         {"v_cvt_f32_f16 v2, v8\n v_dot2c_f32_f16 v2, v4, v6",
          [=](auto& in) { return sum(in, std::bit_cast<u32>(static_cast<float>(half(in.c)))); }}},
        run);
}

TEST(Clamp, integers_stop_at_the_ends_of_their_range) {
    check_lanes(
        {{"v_add_u32 v2, v4, v6 clamp",
          [](auto& in) { return low32(std::min<i64>(u32_of(in.a) + u32_of(in.b), 0xffffffff)); }},
         {"v_sub_u32 v2, v4, v6 clamp",
          [](auto& in) { return low32(std::max<i64>(u32_of(in.a) - u32_of(in.b), 0)); }},
         {"v_subrev_u32 v2, v4, v6 clamp",
          [](auto& in) { return low32(std::max<i64>(u32_of(in.b) - u32_of(in.a), 0)); }},
         {"v_add_i32 v2, v4, v6 clamp",
          [](auto& in) {
              return low32(std::clamp<i64>(s32(in.a) + s32(in.b), INT32_MIN, INT32_MAX));
          }},
         {"v_sub_i32 v2, v4, v6 clamp",
          [](auto& in) {
              return low32(std::clamp<i64>(s32(in.a) - s32(in.b), INT32_MIN, INT32_MAX));
          }},
         {"v_add_co_u32 v2, vcc, v4, v6 clamp",
          [](auto& in) { return low32(std::min<i64>(u32_of(in.a) + u32_of(in.b), 0xffffffff)); }},
         {"v_mad_u32_u24 v2, v4, v6, v8 clamp",
          [](auto& in) {
              const u64 sum = (in.a & 0xffffff) * (in.b & 0xffffff) + (in.c & 0xffffffff);
              return std::min<u64>(sum, 0xffffffff);
          }}},
        LaneRun{});
}

TEST(Cube, faces_of_a_cube_map) {
    LaneRun run;
    run.operand = [](std::mt19937_64& random) {
        return u64{std::bit_cast<u32>(static_cast<float>(static_cast<int>(random() % 9) - 4))};
    };
    run.rounds = 16;
    const auto f = [](u64 a) { return std::bit_cast<float>(static_cast<u32>(a)); };
    const auto axis = [=](const LaneInputs& in) {
        const float x = std::fabs(f(in.a));
        const float y = std::fabs(f(in.b));
        return std::fabs(f(in.c)) >= std::max(x, y) ? 2 : y >= x ? 1 : 0;
    };
    check_lanes({{"v_cubeid_f32 v2, v4, v6, v8",
                  [=](auto& in) {
                      const u64 parts[] = {in.a, in.b, in.c};
                      const int main = axis(in);
                      const int face = 2 * main + (f(parts[main]) < 0 ? 1 : 0);
                      return std::bit_cast<u32>(static_cast<float>(face));
                  }},
                 {"v_cubema_f32 v2, v4, v6, v8",
                  [=](auto& in) {
                      const u64 parts[] = {in.a, in.b, in.c};
                      return std::bit_cast<u32>(f(parts[axis(in)]) + f(parts[axis(in)]));
                  }}},
                run);
}

} // namespace vgpu::test
