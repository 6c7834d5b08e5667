// SPDX-License-Identifier: MIT
// Bit fields of registers and packets.
#pragma once

#include <cstdint>

namespace vgpu {

// Field [high:low] of a 32-bit word.
constexpr std::uint32_t bits(std::uint32_t word, unsigned high, unsigned low) {
    const unsigned width = high - low + 1;
    const std::uint32_t mask = width >= 32 ? ~0U : (1U << width) - 1;
    return (word >> low) & mask;
}

constexpr bool bit(std::uint64_t word, unsigned index) {
    return ((word >> index) & 1) != 0;
}

constexpr std::uint64_t join(std::uint32_t low, std::uint32_t high) {
    return low | static_cast<std::uint64_t>(high) << 32;
}

constexpr std::uint32_t low_half(std::uint64_t value) {
    return static_cast<std::uint32_t>(value);
}

constexpr std::uint32_t high_half(std::uint64_t value) {
    return static_cast<std::uint32_t>(value >> 32);
}

} // namespace vgpu
