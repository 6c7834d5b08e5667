// SPDX-License-Identifier: MIT
// Resources of global wave sync that a VMID has: GDS_GWS_VMIDn.
#pragma once

#include <cstdint>

namespace vgpu::sq {

inline constexpr unsigned gws_resources = 64;

struct GwsRange {
    unsigned base = 0;
    unsigned size = 0;

    std::uint64_t mask() const { return size == 0 ? 0 : ~0ULL >> (gws_resources - size) << base; }
};

} // namespace vgpu::sq
