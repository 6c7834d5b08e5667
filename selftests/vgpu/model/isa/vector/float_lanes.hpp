// SPDX-License-Identifier: MIT
// Floating point operands and results of 64 lanes: formats, modifiers, denormals, rounding.
#pragma once

#include "model/isa/vector/half.hpp"
#include "model/isa/vector/nan.hpp"
#include "model/isa/vector/vector_alu.hpp"

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

// a * b + c of all lanes, rounded once as the host rounds now. `out` is no source.
void fused_lanes(const Values<float>& a, const Values<float>& b, const Values<float>& c,
                 Values<float>& out);
// The same of sources that are still bits.
void fused_lanes(const Values<std::uint32_t>& a, const Values<std::uint32_t>& b,
                 const Values<std::uint32_t>& c, Values<float>& out);
void fused_lanes(const Values<double>& a, const Values<double>& b, const Values<double>& c,
                 Values<double>& out);

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

} // namespace vgpu::isa
