// SPDX-License-Identifier: MIT
// Floating point operands and results of 64 lanes: modifiers, denormals, rounding, NaNs.
#pragma once

#include "model/isa/fused_lanes.hpp"
#include "model/isa/half.hpp"
#include "model/isa/vector_alu.hpp"

#include <cfenv>
#include <limits>

namespace vgpu::isa {

// A format: what lanes are computed in, and which fields of MODE rule it. Half precision is
// computed in double, where sums and products of two are exact, and rounded at the end.
struct Single {
    using Value = float;
    static constexpr unsigned round_shift = mode::round32_shift;
    static constexpr unsigned denorm_shift = mode::denorm32_shift;
};
struct Double {
    using Value = double;
    static constexpr unsigned round_shift = mode::round64_shift;
    static constexpr unsigned denorm_shift = mode::denorm64_shift;
};
struct Half {
    using Value = double;
    static constexpr unsigned round_shift = mode::round64_shift;
    static constexpr unsigned denorm_shift = mode::denorm64_shift;
    static constexpr bool keeps_other_half = false;
};
// For the operations that GFX9 brought: the other half of the destination stays as it was. The
// older ones zero it.
struct HalfKept : Half {
    static constexpr bool keeps_other_half = true;
};
template <typename Format> constexpr bool is_half = std::is_base_of_v<Half, Format>;
template <typename Format> constexpr bool is_double = std::is_same_v<Double, Format>;

// MODE.FP_DENORM: bit 0 lets denormals in, bit 1 lets them out.
template <typename Format> bool denormals(const WaveState& wave, unsigned bit) {
    return (wave.mode >> (Format::denorm_shift + bit) & 1) != 0;
}
template <typename Format> Rounding rounding_of(const WaveState& wave) {
    return static_cast<Rounding>(wave.mode >> Format::round_shift & 3);
}

// The host rounds as MODE says while this lives. To nearest, its own mode, costs nothing. Values
// that are rounded must be in memory: the barriers keep their computation inside.
class RoundingScope {
public:
    explicit RoundingScope(Rounding rounding) : changed_(rounding != Rounding::nearest_even) {
        if (changed_) [[unlikely]] {
            constexpr std::array<int, 4> host{FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
            std::fesetround(host[static_cast<unsigned>(rounding)]);
        }
        asm volatile("" ::: "memory");
    }
    ~RoundingScope() {
        asm volatile("" ::: "memory");
        if (changed_) [[unlikely]] {
            std::fesetround(FE_TONEAREST);
        }
    }
    RoundingScope(const RoundingScope&) = delete;
    RoundingScope& operator=(const RoundingScope&) = delete;

private:
    bool changed_;
};
// Half precision rounds in its own way: the host's arithmetic must stay exact.
template <typename Format> Rounding host_rounding(const WaveState& wave) {
    return is_half<Format> ? Rounding::nearest_even : rounding_of<Format>(wave);
}

template <typename F> F flushed(F value) {
    return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(F{0}, value) : value;
}

// A 16-bit source: the half that op_sel chooses. Constants have an upper half of zero.
void source16(Execution& e, const VectorInstruction& i, unsigned slot, bool floating, Words& out);
// A 16-bit result, to the half that op_sel chooses.
void store16(Execution& e, const VectorInstruction& i, const Words& value, bool keep_other_half);

// A source as it is in the registers.
template <typename Format>
void fetch_raw(Execution& e, const VectorInstruction& i, unsigned slot,
               Values<typename Format::Value>& out) {
    if constexpr (is_double<Format>) {
        DoubleWords scratch;
        const DoubleWords& bits = source64(e, i.src[slot], slot, Wide::floating, scratch);
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            out[lane] = std::bit_cast<double>(bits[lane]);
        }
    } else if constexpr (is_half<Format>) {
        Words bits;
        source16(e, i, slot, true, bits);
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            out[lane] = half_to_double(bits[lane]);
        }
    } else {
        Words scratch;
        out = std::bit_cast<Values<float>>(source32(e, i.src[slot], slot, scratch));
    }
}

template <typename Format> bool is_denormal(typename Format::Value value) {
    if constexpr (is_half<Format>) {
        return value != 0 && std::fabs(value) < 0x1p-14;
    } else {
        return std::fpclassify(value) == FP_SUBNORMAL;
    }
}

template <typename Format> void flush_all(Values<typename Format::Value>& values) {
    for (auto& value : values) {
        value = is_denormal<Format>(value) ? std::copysign(decltype(value + 0){0}, value) : value;
    }
}

// Absolute value, then negation.
template <typename F> void apply_signs(const VectorInstruction& i, unsigned slot, Values<F>& out) {
    if ((i.abs >> slot & 1) != 0) {
        for (F& value : out) {
            value = std::fabs(value);
        }
    }
    if ((i.neg >> slot & 1) != 0) {
        for (F& value : out) {
            value = -value;
        }
    }
}

// A source with its modifiers.
template <typename Format>
void fetch(Execution& e, const VectorInstruction& i, unsigned slot,
           Values<typename Format::Value>& out) {
    fetch_raw<Format>(e, i, slot, out);
    apply_signs(i, slot, out);
    if (!denormals<Format>(e.wave, 0)) {
        flush_all<Format>(out);
    }
}

// [0, 1]; a NaN becomes 0 under DX10_CLAMP.
template <typename F> F clamped(F value, bool nan_to_zero) {
    if (std::isnan(value)) {
        return nan_to_zero ? F{0} : value;
    }
    return value > 0 ? (value < 1 ? value : F{1}) : F{0};
}

// Rounds to half precision bits: FP16_OVFL keeps finite what was finite.
inline std::uint32_t rounded_half(const WaveState& wave, double value) {
    std::uint32_t bits = half_from_double(value, rounding_of<Half>(wave));
    const bool infinite = (bits & 0x7fff) == half_bits::infinity;
    if ((wave.mode & mode::fp16_ovfl) != 0 && infinite && std::isfinite(value)) {
        --bits;
    }
    const bool denormal = (bits & half_bits::infinity) == 0;
    return denormal && !denormals<Half>(wave, 1) ? bits & half_bits::sign : bits;
}

template <typename Format>
void store_values(Execution& e, const VectorInstruction& i,
                  const Values<typename Format::Value>& values) {
    if constexpr (is_double<Format>) {
        DoubleWords bits;
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            bits[lane] = std::bit_cast<std::uint64_t>(values[lane]);
        }
        store64(e, i.vdst, bits);
    } else if constexpr (is_half<Format>) {
        Words bits;
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            bits[lane] = rounded_half(e.wave, values[lane]);
        }
        store16(e, i, bits, Format::keeps_other_half);
    } else {
        store32(e, i.vdst, std::bit_cast<Words>(values));
    }
}

// Output modifiers, in the hardware's order. OMOD is ignored where IEEE or denormals rule.
template <typename Format>
void finish(Execution& e, const VectorInstruction& i, Values<typename Format::Value>& values) {
    using F = typename Format::Value;
    const bool flush = !denormals<Format>(e.wave, 1);
    if (i.omod != 0 && flush && (e.wave.mode & mode::ieee) == 0) {
        constexpr std::array<F, 4> scale{1, 2, 4, F{0.5}};
        for (F& value : values) {
            value = value * scale[i.omod] + F{0}; // -0 becomes +0
        }
    }
    if (i.clamp) {
        for (F& value : values) {
            value = clamped(value, (e.wave.mode & mode::dx10_clamp) != 0);
        }
    }
    if (flush && !is_half<Format>) { // rounded_half flushes after it has rounded
        flush_all<Format>(values);
    }
    store_values<Format>(e, i, values);
}

template <typename F> F quiet(F nan) {
    if constexpr (sizeof(F) == 8) {
        return std::bit_cast<F>(std::bit_cast<std::uint64_t>(nan) | 1ULL << 51);
    } else {
        return std::bit_cast<F>(std::bit_cast<std::uint32_t>(nan) | 1U << 22);
    }
}
template <typename F> bool is_signalling(F value) {
    if constexpr (sizeof(F) == 8) {
        return std::isnan(value) && (std::bit_cast<std::uint64_t>(value) >> 51 & 1) == 0;
    } else {
        return std::isnan(value) && (std::bit_cast<std::uint32_t>(value) >> 22 & 1) == 0;
    }
}

// The GPU's own NaN is positive, x86's is negative; a NaN source goes through, made quiet.
template <typename F, typename... Sources> F gpu_nan(F result, Sources... sources) {
    if (!std::isnan(result)) [[likely]] {
        return result;
    }
    F chosen = std::numeric_limits<F>::quiet_NaN();
    bool found = false;
    ((chosen = !found && std::isnan(sources) ? quiet(sources) : chosen,
      found = found || std::isnan(sources)),
     ...);
    return chosen;
}

template <typename F> bool any_nan(const Values<F>& values) {
    unsigned nans = 0;
    for (const F value : values) {
        nans |= value != value ? 1U : 0U;
    }
    return nans != 0;
}

// The same for all lanes. Results are rarely NaNs: looking for any first is what compilers make
// vector code of.
template <typename F, typename... Sources>
void settle_nans(Values<F>& results, const Sources&... sources) {
    if (!any_nan(results)) [[likely]] {
        return;
    }
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        results[lane] = gpu_nan(results[lane], sources[lane]...);
    }
}

// Nothing to be done to sources and result but the operation: so compilers leave it mostly.
inline bool is_plain_single(const Execution& e, const VectorInstruction& i) {
    constexpr std::uint32_t denormal_bits = 3U << Single::denorm_shift;
    return (i.abs | i.neg | i.omod) == 0 && !i.clamp &&
           (e.wave.mode & denormal_bits) == denormal_bits &&
           rounding_of<Single>(e.wave) == Rounding::nearest_even;
}

// Results of a plain operation: sources are looked at once more only to choose a NaN.
template <unsigned count>
void store_plain(Execution& e, const VectorInstruction& i, const Sources32& in,
                 Values<float>& results) {
    const auto values = [&in](unsigned slot) { return std::bit_cast<Values<float>>(in[slot]); };
    if (any_nan(results)) [[unlikely]] {
        if constexpr (count == 2) {
            settle_nans(results, values(0), values(1));
        } else {
            settle_nans(results, values(0), values(1), values(2));
        }
    }
    store32(e, i.vdst, std::bit_cast<Words>(results));
}

template <typename Format, auto operation> void unary(Execution& e, const VectorInstruction& i) {
    using F = typename Format::Value;
    Values<F> a;
    Values<F> out;
    fetch<Format>(e, i, 0, a);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = static_cast<F>(operation(a[lane]));
    }
    settle_nans(out, a);
    finish<Format>(e, i, out);
}

template <typename Format, auto operation> void binary(Execution& e, const VectorInstruction& i) {
    using F = typename Format::Value;
    if constexpr (std::is_same_v<Format, Single>) {
        if (is_plain_single(e, i)) [[likely]] {
            const Sources32 in(e, i, 2);
            const Words& a = in[0];
            const Words& b = in[1];
            Values<float> out;
            for (unsigned lane = 0; lane < lane_count; ++lane) {
                out[lane] = operation(std::bit_cast<float>(a[lane]), std::bit_cast<float>(b[lane]));
            }
            store_plain<2>(e, i, in, out);
            return;
        }
    }
    Values<F> a;
    Values<F> b;
    Values<F> out;
    fetch<Format>(e, i, 0, a);
    fetch<Format>(e, i, 1, b);
    {
        const RoundingScope rounding(host_rounding<Format>(e.wave));
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            out[lane] = static_cast<F>(operation(a[lane], b[lane]));
        }
    }
    settle_nans(out, a, b);
    finish<Format>(e, i, out);
}

// a * b + c, rounded once.
template <typename Format> void fused(Execution& e, const VectorInstruction& i) {
    using F = typename Format::Value;
    if constexpr (std::is_same_v<Format, Single>) {
        if (is_plain_single(e, i)) [[likely]] {
            const Sources32 in(e, i, 3);
            Values<float> out;
            fused_lanes(in[0], in[1], in[2], out);
            store_plain<3>(e, i, in, out);
            return;
        }
    }
    Values<F> a;
    Values<F> b;
    Values<F> c;
    Values<F> out;
    fetch<Format>(e, i, 0, a);
    fetch<Format>(e, i, 1, b);
    fetch<Format>(e, i, 2, c);
    if constexpr (is_half<Format>) {
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            out[lane] = fused_to_odd(a[lane], b[lane], c[lane]);
        }
    } else {
        const RoundingScope rounding(host_rounding<Format>(e.wave));
        fused_lanes(a, b, c, out);
    }
    settle_nans(out, a, b, c);
    finish<Format>(e, i, out);
}

// One NaN gives the other source; -0 is less than +0.
inline constexpr auto minimum = [](auto a, auto b) {
    if (std::isnan(a) || std::isnan(b)) {
        return std::isnan(a) ? b : a;
    }
    return a < b || (a == b && std::signbit(a)) ? a : b;
};
inline constexpr auto maximum = [](auto a, auto b) {
    if (std::isnan(a) || std::isnan(b)) {
        return std::isnan(a) ? b : a;
    }
    return a > b || (a == b && !std::signbit(a)) ? a : b;
};

// The first signalling NaN made quiet, which is the result under MODE.IEEE; or `otherwise`.
template <typename F, typename... Sources>
F signalling_or(const WaveState& wave, F otherwise, Sources... sources) {
    if ((wave.mode & mode::ieee) == 0) {
        return otherwise;
    }
    bool found = false;
    ((otherwise = !found && is_signalling(sources) ? quiet(sources) : otherwise,
      found = found || is_signalling(sources)),
     ...);
    return otherwise;
}

template <typename Format, auto operation> void extremum(Execution& e, const VectorInstruction& i) {
    using F = typename Format::Value;
    Values<F> a;
    Values<F> b;
    fetch<Format>(e, i, 0, a);
    fetch<Format>(e, i, 1, b);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const F chosen = operation(a[lane], b[lane]);
        a[lane] =
            signalling_or(e.wave, std::isnan(chosen) ? quiet(chosen) : chosen, a[lane], b[lane]);
    }
    finish<Format>(e, i, a);
}

template <typename Format, auto operation>
void ternary_choice(Execution& e, const VectorInstruction& i) {
    using F = typename Format::Value;
    Values<F> a;
    Values<F> b;
    Values<F> c;
    fetch<Format>(e, i, 0, a);
    fetch<Format>(e, i, 1, b);
    fetch<Format>(e, i, 2, c);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const F chosen = operation(a[lane], b[lane], c[lane]);
        a[lane] = signalling_or(e.wave, std::isnan(chosen) ? quiet(chosen) : chosen, a[lane],
                                b[lane], c[lane]);
    }
    finish<Format>(e, i, a);
}
inline constexpr auto minimum3 = [](auto a, auto b, auto c) { return minimum(minimum(a, b), c); };
inline constexpr auto maximum3 = [](auto a, auto b, auto c) { return maximum(maximum(a, b), c); };
// With a NaN among them, the least of the others.
inline constexpr auto median3 = [](auto a, auto b, auto c) {
    if (std::isnan(a) || std::isnan(b) || std::isnan(c)) {
        return minimum3(a, b, c);
    }
    return maximum(minimum(a, b), minimum(maximum(a, b), c));
};

inline constexpr auto add = [](auto a, auto b) { return a + b; };
inline constexpr auto sub = [](auto a, auto b) { return a - b; };
inline constexpr auto subrev = [](auto a, auto b) { return b - a; };
inline constexpr auto mul = [](auto a, auto b) { return a * b; };
inline constexpr auto trunc = [](auto a) { return std::trunc(a); };
inline constexpr auto ceil = [](auto a) { return std::ceil(a); };
inline constexpr auto rndne = [](auto a) { return std::nearbyint(a); };
inline constexpr auto floor = [](auto a) { return std::floor(a); };

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

} // namespace vgpu::isa
