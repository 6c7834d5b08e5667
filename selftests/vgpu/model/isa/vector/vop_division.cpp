// SPDX-License-Identifier: MIT
// Instructions for division and argument reduction: scale, fused step, fix-up, exponents and
// mantissas, and the bits of 2/pi. MI300 ISA, V_DIV_SCALE_F32 and its neighbours.
#include "model/isa/vector/float_operations.hpp"

#include <algorithm>

namespace vgpu::isa {

namespace {

template <typename F> struct Layout;
template <> struct Layout<float> {
    using Bits = u32;
    static constexpr unsigned mantissa = 23;
    static constexpr unsigned exponents = 0xff;
    static constexpr int far = 96;      // exponents this far apart: near the largest quotient
    static constexpr int scale = 64;    // what V_DIV_SCALE moves an operand by
    static constexpr int tiny = 23;     // numerators with this biased exponent lose digits
    static constexpr int nothing = 150; // quotients below 2 to minus this are zero
};
template <> struct Layout<double> {
    using Bits = u64;
    static constexpr unsigned mantissa = 52;
    static constexpr unsigned exponents = 0x7ff;
    static constexpr int far = 768;
    static constexpr int scale = 128;
    static constexpr int tiny = 53;
    static constexpr int nothing = 1075;
};

// Biased, as it is in the bits.
template <typename F> int exponent_of(F value) {
    using L = Layout<F>;
    return static_cast<int>(std::bit_cast<typename L::Bits>(value) >> L::mantissa & L::exponents);
}
template <typename F> bool is_subnormal(F value) {
    return std::fpclassify(value) == FP_SUBNORMAL;
}

template <typename F> struct Scaled {
    F value;
    bool undo; // V_DIV_FMAS must scale the quotient back
};

// `value` is `denominator` or `numerator`, whichever the instruction is to scale. The manual has
// the second case of a subnormal reciprocal scale the denominator up, which would overflow it; the
// quotient only comes out right with it scaled down.
template <typename F> Scaled<F> div_scale(F value, F denominator, F numerator) {
    using L = Layout<F>;
    if (numerator == 0 || denominator == 0) {
        return {std::numeric_limits<F>::quiet_NaN(), false};
    }
    const bool is_denominator = value == denominator;
    const bool small_reciprocal = is_subnormal(1 / denominator);
    const bool small_quotient = is_subnormal(numerator / denominator);
    if (exponent_of(numerator) - exponent_of(denominator) >= L::far) {
        return {is_denominator ? std::ldexp(value, L::scale) : value, true};
    }
    if (is_subnormal(denominator)) {
        return {std::ldexp(value, L::scale), false};
    }
    if (small_reciprocal && small_quotient) {
        return {is_denominator ? std::ldexp(value, -L::scale) : value, true};
    }
    if (small_reciprocal) {
        return {std::ldexp(value, -L::scale), false};
    }
    if (small_quotient) {
        return {value == numerator ? std::ldexp(value, L::scale) : value, true};
    }
    if (exponent_of(numerator) <= L::tiny) {
        return {std::ldexp(value, L::scale), false};
    }
    return {value, false};
}

template <typename Format> void div_scale_lanes(Execution& e, const VectorInstruction& i) {
    using F = typename Format::Value;
    std::array<Values<F>, 3> in{};
    for (unsigned slot = 0; slot < 3; ++slot) {
        fetch_raw<Format>(e, i, slot, in[slot]);
        apply_signs(i, slot, in[slot]);
    }
    u64 undo = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const F value = in[0][lane];
        const Scaled<F> scaled = div_scale(value, in[1][lane], in[2][lane]);
        in[0][lane] = gpu_nan(scaled.value, value);
        undo |= u64{scaled.undo} << lane;
    }
    store_values<Format>(e, i, in[0]);
    if (!e.failed()) {
        store_mask(e, i.sdst, undo);
    }
}

// a * b + c, times the power of two that undoes V_DIV_SCALE, rounded once.
float fused_scaled(float a, float b, float c) {
    const double factor = exponent_of(c) > 127 ? 0x1p64 : 0x1p-64;
    return static_cast<float>(fused_to_odd(a, b, c) * factor);
}
double fused_scaled(double a, double b, double c) {
    const __float128 factor = exponent_of(c) > 1023 ? 0x1p128 : 0x1p-128;
    const __float128 sum = static_cast<__float128>(a) * b + c;
    return static_cast<double>(sum * factor);
}

template <typename Format> void div_fmas(Execution& e, const VectorInstruction& i) {
    using F = typename Format::Value;
    std::array<Values<F>, 3> in{};
    for (unsigned slot = 0; slot < 3; ++slot) {
        fetch<Format>(e, i, slot, in[slot]);
    }
    const u64 undo = e.wave.vcc();
    {
        const RoundingScope rounding(host_rounding<Format>(e.wave));
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            const F a = in[0][lane];
            const F b = in[1][lane];
            const F c = in[2][lane];
            const F result = (undo >> lane & 1) != 0 ? fused_scaled(a, b, c) : std::fma(a, b, c);
            in[0][lane] = gpu_nan(result, a, b, c);
        }
    }
    finish<Format>(e, i, in[0]);
}

// The quotient where nothing special happens; the answers of IEEE 754 where it does.
template <typename F> F div_fixup(F quotient, F denominator, F numerator) {
    if (std::isnan(numerator) || std::isnan(denominator)) {
        return quiet(std::isnan(numerator) ? numerator : denominator);
    }
    const bool negative = std::signbit(numerator) != std::signbit(denominator);
    const F sign = negative ? F{-1} : F{1};
    if ((numerator == 0 && denominator == 0) ||
        (std::isinf(numerator) && std::isinf(denominator))) {
        return -std::numeric_limits<F>::quiet_NaN();
    }
    if (denominator == 0 || std::isinf(numerator)) {
        return std::copysign(std::numeric_limits<F>::infinity(), sign);
    }
    if (numerator == 0 || std::isinf(denominator)) {
        return std::copysign(F{0}, sign);
    }
    return std::copysign(quotient, sign);
}

// Magnitudes beyond the format's range, rounded as MODE says: this runs in a RoundingScope.
template <typename F> F out_of_range(bool overflow, F sign) {
    volatile F magnitude =
        overflow ? std::numeric_limits<F>::max() : std::numeric_limits<F>::denorm_min();
    const F factor = overflow ? 4 : F{0.25};
    return std::copysign(factor, sign) * magnitude;
}

// A quotient that isn't finite although its operands are has overflowed on the way (the manual
// asks for the exponent of the denominator there, which can't be: infinities and NaNs are gone).
template <typename F> F div_fixup_range(F quotient, F fixed, F denominator, F numerator) {
    const auto usual = [](F value) { return std::isfinite(value) && value != 0; };
    if (!usual(numerator) || !usual(denominator)) {
        return fixed;
    }
    const int distance = exponent_of(numerator) - exponent_of(denominator);
    if (distance < -Layout<F>::nothing) {
        return out_of_range(false, fixed);
    }
    return std::isfinite(quotient) ? fixed : out_of_range(true, fixed);
}

template <typename Format> void div_fixup_lanes(Execution& e, const VectorInstruction& i) {
    using F = typename Format::Value;
    std::array<Values<F>, 3> in{};
    for (unsigned slot = 0; slot < 3; ++slot) {
        fetch<Format>(e, i, slot, in[slot]);
    }
    {
        const RoundingScope rounding(host_rounding<Format>(e.wave));
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            const F quotient = in[0][lane];
            F result = div_fixup(quotient, in[1][lane], in[2][lane]);
            if constexpr (!is_half<Format>) {
                result = div_fixup_range(quotient, result, in[1][lane], in[2][lane]);
            }
            in[0][lane] = result;
        }
    }
    finish<Format>(e, i, in[0]);
}

// The mantissa is in [0.5, 1); neither is defined for 0, infinities and NaNs.
template <typename F> bool has_exponent(F value) {
    return std::isfinite(value) && value != 0;
}
constexpr auto mantissa = [](auto a) {
    int ignored = 0;
    return has_exponent(a) ? std::frexp(a, &ignored) : a;
};
template <typename Format> void frexp_exponent(Execution& e, const VectorInstruction& i) {
    Values<typename Format::Value> a;
    fetch<Format>(e, i, 0, a);
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        int exponent = 0;
        if (has_exponent(a[lane])) {
            std::frexp(a[lane], &exponent);
        }
        out[lane] = static_cast<u32>(exponent) & (is_half<Format> ? 0xffffU : ~0U);
    }
    store32(e, i.vdst, out);
}

// The 1201 bits of 2/pi behind the point that the hardware has: enough for the largest double.
constexpr std::array<u64, 19> two_over_pi{
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000,
};

// 53 of those digits, from `shift` on, at their place. Large arguments start further on.
double preop(double argument, u32 segment) {
    const int exponent = exponent_of(argument);
    const int shift = static_cast<int>(segment & 31) * 53 + std::max(exponent - 1077, 0);
    const auto word = static_cast<unsigned>(shift) / 64;
    const auto bit = static_cast<unsigned>(shift) % 64;
    const u64 high = word < two_over_pi.size() ? two_over_pi[word] : 0;
    const u64 low = word + 1 < two_over_pi.size() ? two_over_pi[word + 1] : 0;
    const u64 digits = (bit == 0 ? high : high << bit | low >> (64 - bit)) >> 11;
    return std::ldexp(static_cast<double>(digits), -53 - shift + (exponent >= 1968 ? 128 : 0));
}

void trig_preop(Execution& e, const VectorInstruction& i) {
    Values<double> a;
    Words scratch;
    fetch<Double>(e, i, 0, a);
    const Words& segment = source32(e, i.src[1], 1, scratch);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        a[lane] = preop(a[lane], segment[lane]);
    }
    finish<Double>(e, i, a);
}

constexpr std::uint8_t selectable = takes::half | takes::op_sel;

constexpr std::array ops{
    VectorOp{0x170, "v_frexp_exp_i32_f64", frexp_exponent<Double>, takes::sign},
    VectorOp{0x171, "v_frexp_mant_f64", unary<Double, mantissa>, takes::floating},
    VectorOp{0x173, "v_frexp_exp_i32_f32", frexp_exponent<Single>, takes::sign},
    VectorOp{0x174, "v_frexp_mant_f32", unary<Single, mantissa>, takes::floating},
    VectorOp{0x182, "v_frexp_mant_f16", unary<Half, mantissa>, takes::half},
    VectorOp{0x183, "v_frexp_exp_i16_f16", frexp_exponent<Half>,
             takes::sign | takes::half_constants},
    VectorOp{0x1de, "v_div_fixup_f32", div_fixup_lanes<Single>, takes::floating},
    VectorOp{0x1df, "v_div_fixup_f64", div_fixup_lanes<Double>, takes::floating},
    VectorOp{0x1e0, "v_div_scale_f32", div_scale_lanes<Single>, takes::sign},
    VectorOp{0x1e1, "v_div_scale_f64", div_scale_lanes<Double>, takes::sign},
    VectorOp{0x1e2, "v_div_fmas_f32", div_fmas<Single>, takes::floating},
    VectorOp{0x1e3, "v_div_fmas_f64", div_fmas<Double>, takes::floating},
    VectorOp{0x1ef, "v_div_fixup_legacy_f16", div_fixup_lanes<Half>, takes::half},
    VectorOp{0x207, "v_div_fixup_f16", div_fixup_lanes<HalfKept>, selectable},
    VectorOp{0x292, "v_trig_preop_f64", trig_preop, takes::floating},
};

} // namespace

std::span<const VectorOp> division_ops() {
    return ops;
}

} // namespace vgpu::isa
