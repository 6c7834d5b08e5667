// SPDX-License-Identifier: MIT
// Conversions from and to the 8-bit floats.
#include "model/isa/vector/float8.hpp"
#include "model/isa/vector/float_lanes.hpp"

#include <algorithm>

namespace vgpu::isa {

namespace {

// Rounds to the nearest, or by adding random bits below the last place and cutting them off.
// Returns NaN for a value that is too large, or under FP16_OVFL the largest number.
template <unsigned mantissa_bits, bool stochastic>
u32 encode8(const WaveState& wave, float value, u32 random) {
    if (std::isnan(value) || value == 0) {
        return value == 0 ? 0 : nan8;
    }
    constexpr int least = 1 - float8_bias<mantissa_bits>; // exponent of the smallest normal number
    const u32 sign = std::signbit(value) ? 0x80 : 0;
    u32 magnitude = 0x80;
    if (std::isfinite(value)) {
        int exponent = 0;
        std::frexp(value, &exponent);
        const int scale = std::max(exponent - 1, least);
        const double places = std::ldexp(std::fabs(double{value}), int{mantissa_bits} - scale);
        const double added =
            stochastic ? std::ldexp(random >> (9 + mantissa_bits), -23 + int{mantissa_bits}) : 0;
        const double whole = stochastic ? std::floor(places + added) : std::nearbyint(places);
        magnitude = std::min(
            static_cast<u32>(whole) + (static_cast<u32>(scale - least) << mantissa_bits), 0x80U);
    }
    if (magnitude >= 0x80) {
        return (wave.mode & mode::fp16_ovfl) != 0 ? sign | 0x7f : nan8;
    }
    return magnitude == 0 ? 0 : sign | magnitude; // no minus zero
}

template <unsigned mantissa_bits> void convert_from8(Execution& e, const VectorInstruction& i) {
    Words scratch;
    const Words& a = source32(e, i.src[0], 0, scratch);
    Values<float> out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = decode8<mantissa_bits>(a[lane] & 0xff);
    }
    finish<Single>(e, i, out);
}

// Two bytes to two registers.
template <unsigned mantissa_bits> void unpack8(Execution& e, const VectorInstruction& i) {
    Words scratch;
    const Words& a = source32(e, i.src[0], 0, scratch);
    DoubleWords out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const auto low = std::bit_cast<u32>(decode8<mantissa_bits>(a[lane] & 0xff));
        const auto high = std::bit_cast<u32>(decode8<mantissa_bits>(a[lane] >> 8 & 0xff));
        out[lane] = low | static_cast<std::uint64_t>(high) << 32;
    }
    store64(e, i.vdst, out);
}

// Two values to half a register, the other half stays.
template <unsigned mantissa_bits> void pack8(Execution& e, const VectorInstruction& i) {
    Values<float> a;
    Values<float> b;
    fetch<Single>(e, i, 0, a);
    fetch<Single>(e, i, 1, b);
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = encode8<mantissa_bits, false>(e.wave, a[lane], 0) |
                    encode8<mantissa_bits, false>(e.wave, b[lane], 0) << 8;
    }
    store16(e, i, out, true);
}

// One value to the byte that op_sel[3:2] names, the others stay. The second source is random bits.
template <unsigned mantissa_bits> void stochastic8(Execution& e, const VectorInstruction& i) {
    Values<float> a;
    Words scratch;
    fetch<Single>(e, i, 0, a);
    const Words& random = source32(e, i.src[1], 1, scratch);
    const Words* old = vgpr_lanes(e, indexed_destination(e, i.vdst));
    if (old == nullptr) {
        return;
    }
    const unsigned shift = 8 * (i.op_sel >> 2 & 3);
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const u32 byte = encode8<mantissa_bits, true>(e.wave, a[lane], random[lane]);
        out[lane] = ((*old)[lane] & ~(0xffU << shift)) | byte << shift;
    }
    store32(e, i.vdst, out);
}

constexpr std::array ops{
    VectorOp{0x194, "v_cvt_f32_fp8", convert_from8<3>, takes::scale | takes::clamp, only::gfx942},
    VectorOp{0x195, "v_cvt_f32_bf8", convert_from8<2>, takes::scale | takes::clamp, only::gfx942},
    VectorOp{0x196, "v_cvt_pk_f32_fp8", unpack8<3>, 0, only::gfx942},
    VectorOp{0x197, "v_cvt_pk_f32_bf8", unpack8<2>, 0, only::gfx942},
    VectorOp{0x2a2, "v_cvt_pk_fp8_f32", pack8<3>, takes::sign | takes::op_sel, only::gfx942},
    VectorOp{0x2a3, "v_cvt_pk_bf8_f32", pack8<2>, takes::sign | takes::op_sel, only::gfx942},
    VectorOp{0x2a4, "v_cvt_sr_fp8_f32", stochastic8<3>, takes::sign | takes::op_sel, only::gfx942},
    VectorOp{0x2a5, "v_cvt_sr_bf8_f32", stochastic8<2>, takes::sign | takes::op_sel, only::gfx942},
};

} // namespace

std::span<const VectorOp> float8_ops() {
    return ops;
}

} // namespace vgpu::isa
