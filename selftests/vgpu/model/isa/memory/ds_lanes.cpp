// SPDX-License-Identifier: MIT
// DS: lanes that read each other's registers through LDS's crossbar. Lanes that are off give 0.
#include "model/isa/memory/ds.hpp"

namespace vgpu::isa {

namespace {

using u32 = std::uint32_t;

// bpermute: lane reads from lane ADDR/4; permute: lane writes to lane ADDR/4.
template <bool backward> void permute(Execution& e) {
    const DsInstruction i(e);
    const Words* address = vgpr_lanes(e, i.address);
    const Words* from = data_lanes(e, i.data0, i.acc);
    Words* to = data_lanes(e, i.vdst, i.acc);
    if (address == nullptr || from == nullptr || to == nullptr) {
        return;
    }
    Words result{};
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const unsigned other = ((*address)[lane] + i.offset) / 4 % lane_count;
        if constexpr (backward) {
            result[lane] = (e.wave.exec >> other & 1) != 0 ? (*from)[other] : 0;
        } else {
            result[other] = (*from)[lane];
        }
    });
    merge_lanes(*to, result, e.wave.exec);
}

// Bit 15 of the offset: two bits for each lane of a quad. Else within 32 lanes: AND [4:0],
// OR [9:5], XOR [14:10].
unsigned swizzled_lane(u32 offset, unsigned lane) {
    if ((offset & 0x8000) != 0) {
        return (lane & ~3U) | (offset >> (2 * (lane & 3)) & 3);
    }
    const u32 within = (((lane & 31) & offset) | (offset >> 5 & 31)) ^ (offset >> 10 & 31);
    return (lane & 32) | (within & 31);
}

void swizzle(Execution& e) {
    constexpr u32 rotations = 0xc000; // from here on: rotation and FFT
    const DsInstruction i(e);
    const Words* from = data_lanes(e, i.address, i.acc);
    Words* to = data_lanes(e, i.vdst, i.acc);
    if (i.offset >= rotations) {
        e.illegal("ds_swizzle_b32 rotation not modelled");
    }
    if (from == nullptr || to == nullptr || e.failed()) {
        return;
    }
    Words result{};
    for_each_lane(e.wave.exec, [&](unsigned lane) {
        const unsigned other = swizzled_lane(i.offset, lane);
        result[lane] = (e.wave.exec >> other & 1) != 0 ? (*from)[other] : 0;
    });
    merge_lanes(*to, result, e.wave.exec);
}

constexpr std::array ops{
    ScalarOp{61, "ds_swizzle_b32", swizzle},
    ScalarOp{62, "ds_permute_b32", permute<false>},
    ScalarOp{63, "ds_bpermute_b32", permute<true>},
};

} // namespace

std::span<const ScalarOp> ds_lane_ops() {
    return ops;
}

} // namespace vgpu::isa
