// SPDX-License-Identifier: MIT
// The driver's trap handlers, from its source.
#include "tests/sq/support/trap_handler.hpp"

namespace vgpu::test {

std::span<const std::uint32_t> trap_handler(isa::Isa isa) {
    static constexpr std::uint32_t arcturus[] = {
#include "trap_handler_arcturus.inc"
    };
    static constexpr std::uint32_t aldebaran[] = {
#include "trap_handler_aldebaran.inc"
    };
    static constexpr std::uint32_t gfx9_4_3[] = {
#include "trap_handler_gfx9_4_3.inc"
    };
    switch (isa) {
    case isa::Isa::gfx908: return arcturus;
    case isa::Isa::gfx90a: return aldebaran;
    default: return gfx9_4_3;
    }
}

} // namespace vgpu::test
