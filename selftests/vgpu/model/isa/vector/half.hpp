// SPDX-License-Identifier: MIT
// Half precision as bits: exact to double, rounded from double.
#pragma once

#include "model/isa/operands.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

namespace vgpu::isa {

// MODE.FP_ROUND.
enum class Rounding : std::uint8_t { nearest_even, up, down, to_zero };

namespace half_bits {
inline constexpr std::uint32_t sign = 0x8000;
inline constexpr std::uint32_t infinity = 0x7c00;
inline constexpr std::uint32_t largest = 0x7bff;
inline constexpr std::uint32_t quiet = 0x0200;
} // namespace half_bits

inline double half_to_double(std::uint32_t half) {
    const std::uint64_t sign = static_cast<std::uint64_t>(half & half_bits::sign) << 48;
    const std::uint32_t exponent = half >> 10 & 31;
    const std::uint64_t mantissa = half & 0x3ff;
    if (exponent == 0) {
        return std::copysign(static_cast<double>(mantissa) * 0x1p-24, std::bit_cast<double>(sign));
    }
    const std::uint64_t wide_exponent = exponent == 31 ? 0x7ff : exponent + 1023 - 15;
    return std::bit_cast<double>(sign | wide_exponent << 52 | mantissa << 42);
}

inline bool rounds_away(Rounding rounding, bool negative, double remainder, bool odd) {
    switch (rounding) {
    case Rounding::nearest_even: return remainder > 0.5 || (remainder == 0.5 && odd);
    case Rounding::up: return remainder > 0 && !negative;
    case Rounding::down: return remainder > 0 && negative;
    default: return false;
    }
}

inline std::uint32_t half_overflow(Rounding rounding, bool negative) {
    const bool to_infinity = rounding == Rounding::nearest_even ||
                             (rounding == Rounding::up && !negative) ||
                             (rounding == Rounding::down && negative);
    return to_infinity ? half_bits::infinity : half_bits::largest;
}

inline std::uint32_t half_from_double(double value, Rounding rounding) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const bool negative = bits >> 63 != 0;
    const std::uint32_t sign = negative ? half_bits::sign : 0;
    const int exponent = static_cast<int>(bits >> 52 & 0x7ff) - 1023;
    if (exponent == 1024) {
        const auto payload = static_cast<std::uint32_t>(bits >> 42 & 0x3ff);
        const bool nan = (bits & 0xf'ffff'ffff'ffff) != 0;
        return sign | half_bits::infinity | payload | (nan ? half_bits::quiet : 0);
    }
    if (exponent > 15) {
        return sign | half_overflow(rounding, negative);
    }
    // The last place of the result is 2^(scale - 10): denormals share that of 2^-14.
    const int scale = exponent < -14 ? -14 : exponent;
    const auto unit = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + 10 - scale) << 52);
    const double places = std::fabs(value) * unit;
    auto whole = static_cast<std::uint32_t>(places);
    if (rounds_away(rounding, negative, places - whole, whole % 2 != 0)) {
        ++whole;
    }
    const std::uint32_t result = whole + (static_cast<std::uint32_t>(scale + 14) << 10);
    return sign | (result >= half_bits::infinity ? half_overflow(rounding, negative) : result);
}

// 0.5 -0.5 1.0 -1.0 2.0 -2.0 4.0 -4.0 and 1/(2*pi), as source codes 240 to 248 of f16 operands.
inline constexpr std::array<std::uint32_t, 9> half_constants{
    0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118,
};
inline bool is_float_constant(unsigned code) {
    return code >= source::half && code <= source::inverse_two_pi;
}

// a * b + c for a product that a double holds exactly, rounded to odd: rounded once more, to half
// the digits, the result is that of one rounding, in every rounding mode.
inline double fused_to_odd(double a, double b, double c) {
    const double product = a * b;
    const double sum = product + c;
    const double c_part = sum - product;
    const double error = (product - (sum - c_part)) + (c - c_part);
    const auto bits = std::bit_cast<std::uint64_t>(sum);
    if (!std::isfinite(sum) || error == 0 || bits % 2 != 0) {
        return sum;
    }
    return std::bit_cast<double>((error > 0) == (sum > 0) ? bits + 1 : bits - 1);
}

} // namespace vgpu::isa
