// SPDX-License-Identifier: MIT
// Single and double precision arithmetic, conversions and comparisons, all vector encodings.
// MI300 ISA, "Floating Point": results are correctly rounded where hardware allows 1 ULP.
#include "model/isa/vector_alu.hpp"

#include <cmath>
#include <limits>

namespace vgpu::isa {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using i32 = std::int32_t;

template <typename F> using Values = std::array<F, lane_count>;
template <typename F> constexpr bool wide = sizeof(F) == 8;

// MODE.FP_DENORM: bit 0 lets denormals in, bit 1 lets them out. MODE.FP_ROUND 0 is to nearest.
template <typename F> bool denormals(const WaveState& wave, unsigned bit) {
    return (wave.mode >> ((wide<F> ? mode::denorm64_shift : mode::denorm32_shift) + bit) & 1) != 0;
}
template <typename F> bool rounds_to_nearest(Execution& e) {
    if ((e.wave.mode >> (wide<F> ? mode::round64_shift : mode::round32_shift) & 3) != 0) {
        e.illegal("rounding mode not modelled");
        return false;
    }
    return true;
}

template <typename F> F flushed(F value) {
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(F{0}, value) : value;
}

// A source with its modifiers.
template <typename F>
void fetch(Execution& e, const VectorInstruction& i, unsigned slot, Values<F>& out) {
    if constexpr (wide<F>) {
        DoubleWords scratch;
        const DoubleWords& bits = source64(e, i.src[slot], slot, Wide::floating, scratch);
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            out[lane] = std::bit_cast<F>(bits[lane]);
        }
    } else {
        Words scratch;
        const Words& bits = source32(e, i.src[slot], slot, scratch);
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            out[lane] = std::bit_cast<F>(bits[lane]);
        }
    }
    const bool absolute = (i.abs >> slot & 1) != 0;
    const bool negative = (i.neg >> slot & 1) != 0;
    const bool flush = !denormals<F>(e.wave, 0);
    for (F& value : out) {
        value = absolute ? std::fabs(value) : value;
        value = negative ? -value : value;
        value = flush ? flushed(value) : value;
    }
}

// Output modifiers: times 2, times 4, half; clamp to [0, 1], where a NaN becomes 0 under
// DX10_CLAMP.
template <typename F> void finish(Execution& e, const VectorInstruction& i, Values<F>& values) {
    const bool flush = !denormals<F>(e.wave, 1);
    constexpr std::array<F, 4> scale{1, 2, 4, F{0.5}};
    for (F& value : values) {
        value = i.omod != 0 ? value * scale[i.omod] : value;
        if (i.clamp) {
            const bool nan_to_zero = (e.wave.mode & mode::dx10_clamp) != 0;
            value = std::isnan(value) ? (nan_to_zero ? F{0} : value)
                                      : std::fmin(std::fmax(value, F{0}), F{1});
        }
        value = flush ? flushed(value) : value;
    }
    if constexpr (wide<F>) {
        DoubleWords bits;
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            bits[lane] = std::bit_cast<u64>(values[lane]);
        }
        store64(e, i.vdst, bits);
    } else {
        Words bits;
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            bits[lane] = std::bit_cast<u32>(values[lane]);
        }
        store32(e, i.vdst, bits);
    }
}

template <typename F> F quiet(F nan) {
    if constexpr (wide<F>) {
        return std::bit_cast<F>(std::bit_cast<u64>(nan) | 1ULL << 51);
    } else {
        return std::bit_cast<F>(std::bit_cast<u32>(nan) | 1U << 22);
    }
}

// The GPU's own NaN is positive, x86's is negative; a NaN source goes through, made quiet.
template <typename F, typename... Sources> F gpu_nan(F result, Sources... sources) {
    if (!std::isnan(result)) {
        return result;
    }
    F chosen = std::numeric_limits<F>::quiet_NaN();
    bool found = false;
    ((chosen = !found && std::isnan(sources) ? quiet(sources) : chosen,
      found = found || std::isnan(sources)),
     ...);
    return chosen;
}

template <typename F, auto operation> void unary(Execution& e, const VectorInstruction& i) {
    Values<F> a;
    fetch(e, i, 0, a);
    if (rounds_to_nearest<F>(e)) {
        for (F& value : a) {
            value = gpu_nan(static_cast<F>(operation(value)), value);
        }
        finish(e, i, a);
    }
}
template <typename F, auto operation> void binary(Execution& e, const VectorInstruction& i) {
    Values<F> a;
    Values<F> b;
    fetch(e, i, 0, a);
    fetch(e, i, 1, b);
    if (rounds_to_nearest<F>(e)) {
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            a[lane] = gpu_nan(static_cast<F>(operation(a[lane], b[lane])), a[lane], b[lane]);
        }
        finish(e, i, a);
    }
}
// a * b + c, rounded once.
template <typename F> void fused(Execution& e, const VectorInstruction& i) {
    Values<F> a;
    Values<F> b;
    Values<F> c;
    fetch(e, i, 0, a);
    fetch(e, i, 1, b);
    fetch(e, i, 2, c);
    if (rounds_to_nearest<F>(e)) {
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            const F result = std::fma(a[lane], b[lane], c[lane]);
            a[lane] = gpu_nan(result, a[lane], b[lane], c[lane]);
        }
        finish(e, i, a);
    }
}

constexpr auto add = [](auto a, auto b) { return a + b; };
constexpr auto sub = [](auto a, auto b) { return a - b; };
constexpr auto subrev = [](auto a, auto b) { return b - a; };
constexpr auto mul = [](auto a, auto b) { return a * b; };
// One NaN gives the other source; -0 is less than +0.
constexpr auto minimum = [](auto a, auto b) {
    if (std::isnan(a) || std::isnan(b)) {
        return std::isnan(a) ? b : a;
    }
    return a < b || (a == b && std::signbit(a)) ? a : b;
};
constexpr auto maximum = [](auto a, auto b) {
    if (std::isnan(a) || std::isnan(b)) {
        return std::isnan(a) ? b : a;
    }
    return a > b || (a == b && !std::signbit(a)) ? a : b;
};
constexpr auto fract = [](auto a) { return a - std::floor(a); };
constexpr auto trunc = [](auto a) { return std::trunc(a); };
constexpr auto ceil = [](auto a) { return std::ceil(a); };
constexpr auto rndne = [](auto a) { return std::nearbyint(a); };
constexpr auto floor = [](auto a) { return std::floor(a); };
constexpr auto exp = [](auto a) { return std::exp2(a); };
constexpr auto log = [](auto a) { return std::log2(a); };
constexpr auto rcp = [](auto a) { return decltype(a){1} / a; };
constexpr auto rsq = [](auto a) { return decltype(a){1} / std::sqrt(a); };
constexpr auto sqrt = [](auto a) { return std::sqrt(a); };

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
template <typename I, typename F> void convert_to(Execution& e, const VectorInstruction& i) {
    Values<F> a;
    fetch(e, i, 0, a);
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = static_cast<u32>(to_integer<I>(a[lane]));
    }
    store32(e, i.vdst, out);
}
template <typename I, typename F> void convert_from(Execution& e, const VectorInstruction& i) {
    Words scratch;
    const Words& a = source32(e, i.src[0], 0, scratch);
    if (!rounds_to_nearest<F>(e)) {
        return;
    }
    Values<F> out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = static_cast<F>(static_cast<I>(a[lane]));
    }
    finish(e, i, out);
}
template <typename To, typename From> void convert(Execution& e, const VectorInstruction& i) {
    Values<From> a;
    fetch(e, i, 0, a);
    if (!rounds_to_nearest<To>(e)) {
        return;
    }
    Values<To> out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = gpu_nan(static_cast<To>(a[lane]), static_cast<To>(a[lane]));
    }
    finish(e, i, out);
}
template <unsigned byte> void convert_ubyte(Execution& e, const VectorInstruction& i) {
    Words scratch;
    const Words& a = source32(e, i.src[0], 0, scratch);
    Values<float> out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = static_cast<float>(a[lane] >> (8 * byte) & 0xff);
    }
    finish(e, i, out);
}
// 2 to the power of an integer source.
template <typename F> void ldexp(Execution& e, const VectorInstruction& i) {
    Values<F> a;
    fetch(e, i, 0, a);
    Words scratch;
    const Words& exponent = source32(e, i.src[1], 1, scratch);
    if (rounds_to_nearest<F>(e)) {
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            a[lane] = gpu_nan(std::ldexp(a[lane], static_cast<i32>(exponent[lane])), a[lane]);
        }
        finish(e, i, a);
    }
}

// The sixteen relations in opcode order: f lt eq le gt lg ge o u nge nlg ngt nle neq nlt tru.
template <typename F, unsigned relation> bool holds(F a, F b) {
    constexpr unsigned base = relation < 8 ? relation : relation - 8;
    const bool unordered = std::isnan(a) || std::isnan(b);
    bool result = false;
    if constexpr (relation >= 8) {
        // u is not(o); nge..nlt are not(ge)..not(lt); tru is not(f).
        constexpr unsigned positive = 15 - relation;
        return !holds<F, positive>(a, b);
    } else {
        switch (base) {
        case 1: result = a < b; break;
        case 2: result = a == b; break;
        case 3: result = a <= b; break;
        case 4: result = a > b; break;
        case 5: result = a < b || a > b; break;
        case 6: result = a >= b; break;
        case 7: result = !unordered; break;
        default: break;
        }
    }
    return result;
}
template <typename F, unsigned relation, bool write_exec>
void compare(Execution& e, const VectorInstruction& i) {
    Values<F> a;
    Values<F> b;
    fetch(e, i, 0, a);
    fetch(e, i, 1, b);
    u64 mask = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        mask |= u64{holds<F, relation>(a[lane], b[lane])} << lane;
    }
    mask &= e.wave.exec;
    store_mask(e, i.sdst, mask);
    if (write_exec && !e.failed()) {
        e.wave.exec = mask;
    }
}

// clang-format off
#define VGPU_FLOAT_RELATIONS(F, suffix, base, prefix, write_exec)                                  \
    VectorOp{(base) + 0, prefix "f_" suffix, compare<F, 0, write_exec>, true},                     \
    VectorOp{(base) + 1, prefix "lt_" suffix, compare<F, 1, write_exec>, true},                    \
    VectorOp{(base) + 2, prefix "eq_" suffix, compare<F, 2, write_exec>, true},                    \
    VectorOp{(base) + 3, prefix "le_" suffix, compare<F, 3, write_exec>, true},                    \
    VectorOp{(base) + 4, prefix "gt_" suffix, compare<F, 4, write_exec>, true},                    \
    VectorOp{(base) + 5, prefix "lg_" suffix, compare<F, 5, write_exec>, true},                    \
    VectorOp{(base) + 6, prefix "ge_" suffix, compare<F, 6, write_exec>, true},                    \
    VectorOp{(base) + 7, prefix "o_" suffix, compare<F, 7, write_exec>, true},                     \
    VectorOp{(base) + 8, prefix "u_" suffix, compare<F, 8, write_exec>, true},                     \
    VectorOp{(base) + 9, prefix "nge_" suffix, compare<F, 9, write_exec>, true},                   \
    VectorOp{(base) + 10, prefix "nlg_" suffix, compare<F, 10, write_exec>, true},                 \
    VectorOp{(base) + 11, prefix "ngt_" suffix, compare<F, 11, write_exec>, true},                 \
    VectorOp{(base) + 12, prefix "nle_" suffix, compare<F, 12, write_exec>, true},                 \
    VectorOp{(base) + 13, prefix "neq_" suffix, compare<F, 13, write_exec>, true},                 \
    VectorOp{(base) + 14, prefix "nlt_" suffix, compare<F, 14, write_exec>, true},                 \
    VectorOp{(base) + 15, prefix "tru_" suffix, compare<F, 15, write_exec>, true}

constexpr std::array ops{
    VGPU_FLOAT_RELATIONS(float, "f32", 0x40, "v_cmp_", false),
    VGPU_FLOAT_RELATIONS(float, "f32", 0x50, "v_cmpx_", true),
    VGPU_FLOAT_RELATIONS(double, "f64", 0x60, "v_cmp_", false),
    VGPU_FLOAT_RELATIONS(double, "f64", 0x70, "v_cmpx_", true),
    VectorOp{0x101, "v_add_f32", binary<float, add>, true},
    VectorOp{0x102, "v_sub_f32", binary<float, sub>, true},
    VectorOp{0x103, "v_subrev_f32", binary<float, subrev>, true},
    VectorOp{0x104, "v_fmac_f64", fused<double>, true},
    VectorOp{0x105, "v_mul_f32", binary<float, mul>, true},
    VectorOp{0x10a, "v_min_f32", binary<float, minimum>, true},
    VectorOp{0x10b, "v_max_f32", binary<float, maximum>, true},
    VectorOp{0x117, "v_fmamk_f32", fused<float>, true},
    VectorOp{0x118, "v_fmaak_f32", fused<float>, true},
    VectorOp{0x13b, "v_fmac_f32", fused<float>, true},
    VectorOp{0x143, "v_cvt_i32_f64", convert_to<i32, double>, true},
    VectorOp{0x144, "v_cvt_f64_i32", convert_from<i32, double>, true},
    VectorOp{0x145, "v_cvt_f32_i32", convert_from<i32, float>, true},
    VectorOp{0x146, "v_cvt_f32_u32", convert_from<u32, float>, true},
    VectorOp{0x147, "v_cvt_u32_f32", convert_to<u32, float>, true},
    VectorOp{0x148, "v_cvt_i32_f32", convert_to<i32, float>, true},
    VectorOp{0x14f, "v_cvt_f32_f64", convert<float, double>, true},
    VectorOp{0x150, "v_cvt_f64_f32", convert<double, float>, true},
    VectorOp{0x151, "v_cvt_f32_ubyte0", convert_ubyte<0>, true},
    VectorOp{0x152, "v_cvt_f32_ubyte1", convert_ubyte<1>, true},
    VectorOp{0x153, "v_cvt_f32_ubyte2", convert_ubyte<2>, true},
    VectorOp{0x154, "v_cvt_f32_ubyte3", convert_ubyte<3>, true},
    VectorOp{0x155, "v_cvt_u32_f64", convert_to<u32, double>, true},
    VectorOp{0x156, "v_cvt_f64_u32", convert_from<u32, double>, true},
    VectorOp{0x157, "v_trunc_f64", unary<double, trunc>, true},
    VectorOp{0x158, "v_ceil_f64", unary<double, ceil>, true},
    VectorOp{0x159, "v_rndne_f64", unary<double, rndne>, true},
    VectorOp{0x15a, "v_floor_f64", unary<double, floor>, true},
    VectorOp{0x15b, "v_fract_f32", unary<float, fract>, true},
    VectorOp{0x15c, "v_trunc_f32", unary<float, trunc>, true},
    VectorOp{0x15d, "v_ceil_f32", unary<float, ceil>, true},
    VectorOp{0x15e, "v_rndne_f32", unary<float, rndne>, true},
    VectorOp{0x15f, "v_floor_f32", unary<float, floor>, true},
    VectorOp{0x160, "v_exp_f32", unary<float, exp>, true},
    VectorOp{0x161, "v_log_f32", unary<float, log>, true},
    VectorOp{0x162, "v_rcp_f32", unary<float, rcp>, true},
    VectorOp{0x163, "v_rcp_iflag_f32", unary<float, rcp>, true},
    VectorOp{0x164, "v_rsq_f32", unary<float, rsq>, true},
    VectorOp{0x165, "v_rcp_f64", unary<double, rcp>, true},
    VectorOp{0x166, "v_rsq_f64", unary<double, rsq>, true},
    VectorOp{0x167, "v_sqrt_f32", unary<float, sqrt>, true},
    VectorOp{0x168, "v_sqrt_f64", unary<double, sqrt>, true},
    VectorOp{0x1cb, "v_fma_f32", fused<float>, true},
    VectorOp{0x1cc, "v_fma_f64", fused<double>, true},
    VectorOp{0x280, "v_add_f64", binary<double, add>, true},
    VectorOp{0x281, "v_mul_f64", binary<double, mul>, true},
    VectorOp{0x282, "v_min_f64", binary<double, minimum>, true},
    VectorOp{0x283, "v_max_f64", binary<double, maximum>, true},
    VectorOp{0x284, "v_ldexp_f64", ldexp<double>, true},
    VectorOp{0x288, "v_ldexp_f32", ldexp<float>, true},
};
#undef VGPU_FLOAT_RELATIONS
// clang-format on

} // namespace

std::span<const VectorOp> float_ops() {
    return ops;
}

} // namespace vgpu::isa
