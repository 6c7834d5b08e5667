// SPDX-License-Identifier: MIT
// The driver's trap handler for gfx942, from its source.
#include "tests/sq/support/trap_handler.hpp"

namespace vgpu::test {

std::span<const std::uint32_t> trap_handler() {
    static constexpr std::uint32_t code[] = {
#include "trap_handler_gfx9_4_3.inc"
    };
    return code;
}

} // namespace vgpu::test
