// SPDX-License-Identifier: MIT
// Frames of floating point operations: sources fetched, all lanes computed, the result finished.
#pragma once

#include "model/isa/vector/float_lanes.hpp"

namespace vgpu::isa {

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
// 0 times anything is 0, infinities and NaNs included.
inline constexpr auto mul_legacy = [](auto a, auto b) {
    return a == 0 || b == 0 ? decltype(a * b){0} : a * b;
};
inline constexpr auto trunc = [](auto a) { return std::trunc(a); };
inline constexpr auto ceil = [](auto a) { return std::ceil(a); };
inline constexpr auto rndne = [](auto a) { return std::nearbyint(a); };
inline constexpr auto floor = [](auto a) { return std::floor(a); };

} // namespace vgpu::isa
