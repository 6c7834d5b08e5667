// SPDX-License-Identifier: MIT
// Where the registers of each XCC are.
#pragma once

#include <cstdint>

namespace vgpu {

// Each XCC has its own copy of the graphics core's registers. The driver keeps the low 16 bits of
// their offsets in packets (gfx_v9_4_3_normalize_xcc_reg_offset), in these two ranges, so the
// copies lie 0x10000 dwords apart. XCC 0 has the addresses of a real one; the others are where
// nothing else is, behind the first 512 KiB of BAR 5.
inline constexpr unsigned max_xccs = 8;
inline constexpr std::uint32_t xcc_aperture = 0x10000;
constexpr bool in_xcc_aperture(std::uint32_t dword) {
    return (dword >= 0x2000 && dword < 0x3400) || (dword >= 0xa000 && dword < 0x10000);
}
constexpr std::uint32_t xcc_offset(unsigned xcc) {
    return xcc == 0 ? 0 : (xcc + 1) * xcc_aperture;
}

} // namespace vgpu
