// SPDX-License-Identifier: MIT
// Conversions between integers, floating point formats, and packed pairs.
#include "model/isa/vector/float_operations.hpp"

#include <algorithm>

namespace vgpu::isa {

namespace {

// Conversions to integers saturate, a NaN becomes 0.
template <typename I, typename F> I to_integer(F value) {
    if (std::isnan(value)) {
        return 0;
    }
    const auto whole = static_cast<double>(std::trunc(value));
    if (whole <= static_cast<double>(std::numeric_limits<I>::min())) {
        return std::numeric_limits<I>::min();
    }
    if (whole >= static_cast<double>(std::numeric_limits<I>::max())) {
        return std::numeric_limits<I>::max();
    }
    return static_cast<I>(whole);
}

constexpr auto to_nearest_up = [](auto a) { return std::floor(a + decltype(a){0.5}); };

// To an integer I, after `shape` has made a whole number of the value.
template <typename I, typename Format, auto shape = trunc>
void convert_to(Execution& e, const VectorInstruction& i) {
    Values<typename Format::Value> a;
    fetch<Format>(e, i, 0, a);
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const I whole = to_integer<I>(shape(a[lane]));
        out[lane] = sizeof(I) == 2 ? static_cast<u16>(whole) : static_cast<u32>(whole);
    }
    store32(e, i.vdst, out);
}
// The half added and the floor taken without rounding in between.
constexpr auto round_up_half = [](float a) { return to_nearest_up(double{a}); };

template <typename I, typename Format> void convert_from(Execution& e, const VectorInstruction& i) {
    using F = typename Format::Value;
    Words a;
    if constexpr (sizeof(I) == 2) {
        source16(e, i, 0, false, a);
    } else {
        Words scratch;
        a = source32(e, i.src[0], 0, scratch);
    }
    Values<F> out;
    {
        const RoundingScope rounding(host_rounding<Format>(e.wave));
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            out[lane] = static_cast<F>(static_cast<I>(a[lane]));
        }
    }
    finish<Format>(e, i, out);
}

template <typename To, typename From> void convert(Execution& e, const VectorInstruction& i) {
    using F = typename To::Value;
    Values<typename From::Value> a;
    fetch<From>(e, i, 0, a);
    Values<F> out;
    {
        const RoundingScope rounding(host_rounding<To>(e.wave));
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            const F value = static_cast<F>(a[lane]);
            out[lane] = gpu_nan(value, value);
        }
    }
    finish<To>(e, i, out);
}

template <unsigned byte> void convert_ubyte(Execution& e, const VectorInstruction& i) {
    Words scratch;
    const Words& a = source32(e, i.src[0], 0, scratch);
    Values<float> out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = static_cast<float>(a[lane] >> (8 * byte) & 0xff);
    }
    finish<Single>(e, i, out);
}

// Sixteenths from -8 to 7.
void convert_off_i4(Execution& e, const VectorInstruction& i) {
    Words scratch;
    const Words& a = source32(e, i.src[0], 0, scratch);
    Values<float> out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = static_cast<float>(static_cast<i32>(a[lane] << 28) >> 28) / 16;
    }
    finish<Single>(e, i, out);
}

// [-1, 1] or [0, 1] to the whole range of a 16-bit integer, to the nearest.
template <typename I> u32 normalised(double value) {
    const double least = std::is_signed_v<I> ? -1 : 0;
    if (std::isnan(value)) {
        return 0;
    }
    const double scaled = std::clamp(value, least, 1.0) * std::numeric_limits<I>::max();
    return static_cast<u16>(static_cast<i32>(std::nearbyint(scaled)));
}
template <typename I> void convert_norm(Execution& e, const VectorInstruction& i) {
    Values<double> a;
    fetch<Half>(e, i, 0, a);
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = normalised<I>(a[lane]);
    }
    store32(e, i.vdst, out);
}

// Two values of a format, each made 16 bits.
template <typename Format, auto operation>
void pack_values(Execution& e, const VectorInstruction& i) {
    Values<typename Format::Value> a;
    Values<typename Format::Value> b;
    fetch<Format>(e, i, 0, a);
    fetch<Format>(e, i, 1, b);
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = operation(double{a[lane]}) | operation(double{b[lane]}) << 16;
    }
    store32(e, i.vdst, out);
}
u32 half_to_zero(double value) {
    return half_from_double(value, Rounding::to_zero);
}

template <typename I, typename From> u32 saturated(u32 value) {
    return static_cast<u16>(std::clamp<From>(static_cast<From>(value),
                                             From{std::numeric_limits<I>::min()},
                                             From{std::numeric_limits<I>::max()}));
}
constexpr auto pack_u16_u32 = [](u32 a, u32 b) {
    return saturated<u16, u32>(a) | saturated<u16, u32>(b) << 16;
};
constexpr auto pack_i16_i32 = [](u32 a, u32 b) {
    return saturated<i16, i32>(a) | saturated<i16, i32>(b) << 16;
};
u32 unsigned_byte(u32 half) {
    return static_cast<u32>(std::clamp<i32>(static_cast<i16>(half), 0, 255));
}
constexpr auto sat_pk_u8_i16 = [](u32 a) { return unsigned_byte(a) | unsigned_byte(a >> 16) << 8; };

// Two 16-bit sources as they are, denormals flushed and signalling NaNs made quiet.
void pack_b32_f16(Execution& e, const VectorInstruction& i) {
    Values<double> a;
    Values<double> b;
    fetch<Half>(e, i, 0, a);
    fetch<Half>(e, i, 1, b);
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = rounded_half(e.wave, a[lane]) | rounded_half(e.wave, b[lane]) << 16;
    }
    store32(e, i.vdst, out);
}

// A value as a byte, at the place that the second source names. `accumulate` takes the rest of the
// destination from itself instead of from the third source.
template <bool accumulate> void pack_u8_f32(Execution& e, const VectorInstruction& i) {
    Values<float> a;
    fetch<Single>(e, i, 0, a);
    Words scratch_place;
    Words scratch_rest;
    const Words& place = source32(e, i.src[1], 1, scratch_place);
    const unsigned rest_code =
        accumulate ? source::vgpr0 + indexed_destination(e, i.vdst) : i.src[2];
    const Words& rest = source32(e, rest_code, 2, scratch_rest);
    Words out;
    const RoundingScope rounding(rounding_of<Single>(e.wave));
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const double whole = std::nearbyint(double{a[lane]});
        const u32 byte = std::isnan(whole) ? 0 : static_cast<u32>(std::clamp(whole, 0.0, 255.0));
        const unsigned shift = 8 * (place[lane] & 3);
        out[lane] = (rest[lane] & ~(0xffU << shift)) | byte << shift;
    }
    store32(e, i.vdst, out);
}

constexpr std::array ops{
    VectorOp{0x143, "v_cvt_i32_f64", convert_to<i32, Double>, takes::sign | takes::clamp},
    VectorOp{0x144, "v_cvt_f64_i32", convert_from<i32, Double>, takes::floating},
    VectorOp{0x145, "v_cvt_f32_i32", convert_from<i32, Single>, takes::floating},
    VectorOp{0x146, "v_cvt_f32_u32", convert_from<u32, Single>, takes::floating},
    VectorOp{0x147, "v_cvt_u32_f32", convert_to<u32, Single>, takes::sign | takes::clamp},
    VectorOp{0x148, "v_cvt_i32_f32", convert_to<i32, Single>, takes::sign | takes::clamp},
    VectorOp{0x14a, "v_cvt_f16_f32", convert<Half, Single>, takes::floating},
    VectorOp{0x14b, "v_cvt_f32_f16", convert<Single, Half>, takes::half},
    VectorOp{0x14c, "v_cvt_rpi_i32_f32", convert_to<i32, Single, round_up_half>,
             takes::sign | takes::clamp},
    VectorOp{0x14d, "v_cvt_flr_i32_f32", convert_to<i32, Single, floor>,
             takes::sign | takes::clamp},
    VectorOp{0x14e, "v_cvt_off_f32_i4", convert_off_i4, takes::floating},
    VectorOp{0x14f, "v_cvt_f32_f64", convert<Single, Double>, takes::floating},
    VectorOp{0x150, "v_cvt_f64_f32", convert<Double, Single>, takes::floating},
    VectorOp{0x151, "v_cvt_f32_ubyte0", convert_ubyte<0>, takes::floating},
    VectorOp{0x152, "v_cvt_f32_ubyte1", convert_ubyte<1>, takes::floating},
    VectorOp{0x153, "v_cvt_f32_ubyte2", convert_ubyte<2>, takes::floating},
    VectorOp{0x154, "v_cvt_f32_ubyte3", convert_ubyte<3>, takes::floating},
    VectorOp{0x155, "v_cvt_u32_f64", convert_to<u32, Double>, takes::sign | takes::clamp},
    VectorOp{0x156, "v_cvt_f64_u32", convert_from<u32, Double>, takes::floating},
    VectorOp{0x179, "v_cvt_f16_u16", convert_from<u16, Half>, takes::scale | takes::clamp},
    VectorOp{0x17a, "v_cvt_f16_i16", convert_from<i16, Half>, takes::scale | takes::clamp},
    VectorOp{0x17b, "v_cvt_u16_f16", convert_to<u16, Half>, takes::half},
    VectorOp{0x17c, "v_cvt_i16_f16", convert_to<i16, Half>, takes::half},
    VectorOp{0x18d, "v_cvt_norm_i16_f16", convert_norm<i16>, takes::half},
    VectorOp{0x18e, "v_cvt_norm_u16_f16", convert_norm<u16>, takes::half},
    VectorOp{0x18f, "v_sat_pk_u8_i16", lanes1<sat_pk_u8_i16>},
    VectorOp{0x1dd, "v_cvt_pk_u8_f32", pack_u8_f32<false>, takes::sign},
    VectorOp{0x1f0, "v_cvt_pkaccum_u8_f32", pack_u8_f32<true>, takes::sign},
    VectorOp{0x294, "v_cvt_pknorm_i16_f32", pack_values<Single, normalised<i16>>, takes::sign},
    VectorOp{0x295, "v_cvt_pknorm_u16_f32", pack_values<Single, normalised<u16>>, takes::sign},
    VectorOp{0x296, "v_cvt_pkrtz_f16_f32", pack_values<Single, half_to_zero>, takes::sign},
    VectorOp{0x297, "v_cvt_pk_u16_u32", lanes2<pack_u16_u32>},
    VectorOp{0x298, "v_cvt_pk_i16_i32", lanes2<pack_i16_i32>},
    VectorOp{0x299, "v_cvt_pknorm_i16_f16", pack_values<Half, normalised<i16>>,
             takes::half | takes::op_sel},
    VectorOp{0x29a, "v_cvt_pknorm_u16_f16", pack_values<Half, normalised<u16>>,
             takes::half | takes::op_sel},
    VectorOp{0x2a0, "v_pack_b32_f16", pack_b32_f16, takes::half | takes::op_sel},
};

} // namespace

std::span<const VectorOp> conversion_ops() {
    return ops;
}

} // namespace vgpu::isa
