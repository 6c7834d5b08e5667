// SPDX-License-Identifier: MIT
// Floating-point atomics beyond the plain addition. MI300 ISA, "Atomic operations".
#pragma once

#include "model/isa/vector/half.hpp"

#include <bit>
#include <cmath>
#include <cstdint>

namespace vgpu::isa {

inline float bfloat_to_float(std::uint32_t bits) {
    return std::bit_cast<float>(bits << 16);
}
// To nearest even; a NaN stays one.
inline std::uint32_t bfloat_from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) {
        return bits >> 16 | 0x40;
    }
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

namespace atomic {

// The number, when one of the two is none.
inline constexpr auto min_float = [](auto old, auto data) { return std::fmin(old, data); };
inline constexpr auto max_float = [](auto old, auto data) { return std::fmax(old, data); };

inline constexpr auto pk_add_f16 = [](std::uint32_t old, std::uint32_t data) {
    const auto half = [](std::uint32_t a, std::uint32_t b) {
        return half_from_double(half_to_double(a & 0xffff) + half_to_double(b & 0xffff),
                                Rounding::nearest_even);
    };
    return half(old, data) | half(old >> 16, data >> 16) << 16;
};
inline constexpr auto pk_add_bf16 = [](std::uint32_t old, std::uint32_t data) {
    const auto half = [](std::uint32_t a, std::uint32_t b) {
        return bfloat_from_float(bfloat_to_float(a & 0xffff) + bfloat_to_float(b & 0xffff));
    };
    return half(old, data) | half(old >> 16, data >> 16) << 16;
};

} // namespace atomic

} // namespace vgpu::isa
