// SPDX-License-Identifier: MIT
// The 8-bit floats of gfx942: no infinities, no minus zero, 0x80 is the only NaN. FP8 has 4 bits of
// exponent and 3 of mantissa, BF8 5 and 2; the bias is one more than IEEE's.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace vgpu::isa {

inline constexpr std::uint32_t nan8 = 0x80;

template <unsigned mantissa_bits> inline constexpr int float8_bias = mantissa_bits == 3 ? 8 : 16;

template <unsigned mantissa_bits> float decode8(std::uint32_t byte) {
    if (byte == nan8) {
        return std::numeric_limits<float>::quiet_NaN();
    }
    const std::uint32_t mantissa = byte & ((1U << mantissa_bits) - 1);
    const int exponent = static_cast<int>(byte >> mantissa_bits & (0x7fU >> mantissa_bits));
    const std::uint32_t implied = exponent == 0 ? 0 : 1U << mantissa_bits;
    const int scale = std::max(exponent, 1) - float8_bias<mantissa_bits> - int{mantissa_bits};
    const float magnitude = std::ldexp(static_cast<float>(mantissa | implied), scale);
    return (byte & 0x80) != 0 ? -magnitude : magnitude;
}

} // namespace vgpu::isa
