// SPDX-License-Identifier: MIT
// 16-bit integer operations. Those of GFX9's VOP3 keep the other half of their destination, those
// inherited from GFX8 zero it.
#include "model/isa/vector/float_lanes.hpp"

#include <algorithm>

namespace vgpu::isa {

namespace {

// The exact result as 16 bits: cut off, or under CLAMP the nearest number that T has.
template <typename T> u32 narrowed(bool clamp, i64 value) {
    if (clamp) {
        value =
            std::clamp<i64>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
    }
    return static_cast<u16>(value);
}

template <typename T, unsigned sources, bool keep, auto operation>
void words(Execution& e, const VectorInstruction& i) {
    std::array<Words, 3> in{};
    for (unsigned slot = 0; slot < sources; ++slot) {
        source16(e, i, slot, false, in[slot]);
    }
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = narrowed<T>(i.clamp, operation(i64{static_cast<T>(in[0][lane])},
                                                   i64{static_cast<T>(in[1][lane])},
                                                   i64{static_cast<T>(in[2][lane])}));
    }
    store16(e, i, out, keep);
}

constexpr auto add = [](i64 a, i64 b, i64) { return a + b; };
constexpr auto sub = [](i64 a, i64 b, i64) { return a - b; };
constexpr auto subrev = [](i64 a, i64 b, i64) { return b - a; };
constexpr auto mul = [](i64 a, i64 b, i64) { return a * b; };
constexpr auto mad = [](i64 a, i64 b, i64 c) { return a * b + c; };
constexpr auto least = [](i64 a, i64 b, i64) { return std::min(a, b); };
constexpr auto greatest = [](i64 a, i64 b, i64) { return std::max(a, b); };
constexpr auto least3 = [](i64 a, i64 b, i64 c) { return std::min({a, b, c}); };
constexpr auto greatest3 = [](i64 a, i64 b, i64 c) { return std::max({a, b, c}); };
constexpr auto median = [](i64 a, i64 b, i64 c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
};
constexpr auto shift_left = [](i64 a, i64 b, i64) { return b << (a & 15); };
constexpr auto shift_right = [](i64 a, i64 b, i64) { return b >> (a & 15); };

// 16-bit factors, 32-bit sum.
template <typename T, typename Wide> void mad_wide(Execution& e, const VectorInstruction& i) {
    Words a;
    Words b;
    source16(e, i, 0, false, a);
    source16(e, i, 1, false, b);
    Words scratch;
    const Words& c = source32(e, i.src[2], 2, scratch);
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const i64 sum =
            i64{static_cast<T>(a[lane])} * static_cast<T>(b[lane]) + static_cast<Wide>(c[lane]);
        out[lane] =
            static_cast<u32>(i.clamp ? std::clamp<i64>(sum, std::numeric_limits<Wide>::min(),
                                                       std::numeric_limits<Wide>::max())
                                     : sum);
    }
    store32(e, i.vdst, out);
}

constexpr std::uint8_t selectable = takes::op_sel;
constexpr std::uint8_t clampable = takes::clamp;

constexpr std::array ops{
    VectorOp{0x126, "v_add_u16", words<u16, 2, false, add>, clampable},
    VectorOp{0x127, "v_sub_u16", words<u16, 2, false, sub>, clampable},
    VectorOp{0x128, "v_subrev_u16", words<u16, 2, false, subrev>, clampable},
    VectorOp{0x129, "v_mul_lo_u16", words<u16, 2, false, mul>},
    VectorOp{0x12a, "v_lshlrev_b16", words<u16, 2, false, shift_left>},
    VectorOp{0x12b, "v_lshrrev_b16", words<u16, 2, false, shift_right>},
    VectorOp{0x12c, "v_ashrrev_i16", words<i16, 2, false, shift_right>},
    VectorOp{0x12f, "v_max_u16", words<u16, 2, false, greatest>},
    VectorOp{0x130, "v_max_i16", words<i16, 2, false, greatest>},
    VectorOp{0x131, "v_min_u16", words<u16, 2, false, least>},
    VectorOp{0x132, "v_min_i16", words<i16, 2, false, least>},
    VectorOp{0x1eb, "v_mad_legacy_u16", words<u16, 3, false, mad>, clampable},
    VectorOp{0x1ec, "v_mad_legacy_i16", words<i16, 3, false, mad>, clampable},
    VectorOp{0x1f1, "v_mad_u32_u16", mad_wide<u16, u32>, clampable | selectable},
    VectorOp{0x1f2, "v_mad_i32_i16", mad_wide<i16, i32>, clampable | selectable},
    VectorOp{0x1f5, "v_min3_i16", words<i16, 3, true, least3>, selectable},
    VectorOp{0x1f6, "v_min3_u16", words<u16, 3, true, least3>, selectable},
    VectorOp{0x1f8, "v_max3_i16", words<i16, 3, true, greatest3>, selectable},
    VectorOp{0x1f9, "v_max3_u16", words<u16, 3, true, greatest3>, selectable},
    VectorOp{0x1fb, "v_med3_i16", words<i16, 3, true, median>, selectable},
    VectorOp{0x1fc, "v_med3_u16", words<u16, 3, true, median>, selectable},
    VectorOp{0x204, "v_mad_u16", words<u16, 3, true, mad>, clampable | selectable},
    VectorOp{0x205, "v_mad_i16", words<i16, 3, true, mad>, clampable | selectable},
    VectorOp{0x29e, "v_add_i16", words<i16, 2, true, add>, clampable | selectable},
    VectorOp{0x29f, "v_sub_i16", words<i16, 2, true, sub>, clampable | selectable},
};

} // namespace

std::span<const VectorOp> word_ops() {
    return ops;
}

} // namespace vgpu::isa
