// SPDX-License-Identifier: MIT
// The instruction sets that are modelled.
#pragma once

#include <cstdint>

namespace vgpu::isa {

enum class Isa : std::uint8_t {
    gfx908, // MI100
    gfx90a, // MI250
    gfx942, // MI300X
};
inline constexpr unsigned isa_count = 3;

// Sets of them.
namespace only {
inline constexpr std::uint8_t gfx908 = 1U << static_cast<unsigned>(Isa::gfx908);
inline constexpr std::uint8_t gfx90a = 1U << static_cast<unsigned>(Isa::gfx90a);
inline constexpr std::uint8_t gfx942 = 1U << static_cast<unsigned>(Isa::gfx942);
} // namespace only
inline constexpr std::uint8_t until_gfx90a = only::gfx908 | only::gfx90a;
inline constexpr std::uint8_t since_gfx90a = only::gfx90a | only::gfx942;
inline constexpr std::uint8_t every_isa = only::gfx908 | since_gfx90a;

constexpr bool has(std::uint8_t isas, Isa isa) {
    return (isas >> static_cast<unsigned>(isa) & 1) != 0;
}

} // namespace vgpu::isa
