// SPDX-License-Identifier: MIT
// DS: lanes that read each other's registers through LDS's crossbar. Lanes that are off give 0.
#include "model/isa/memory/ds.hpp"

#include <bit>

namespace vgpu::isa {

namespace {

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

// The order of the lanes in which a FFT finds its results: the bits of a lane's number reversed,
// but for those of the mask.
u32 fft_lane(u32 mask, u32 lane) {
    u32 reversed = 0;
    for (unsigned bit = 0; bit < 5; ++bit) {
        reversed |= (lane >> bit & 1) << (4 - bit);
    }
    return reversed >> std::popcount(mask) | (lane & mask);
}

// Lanes of 32 read each other, as the offset says. From 0xe000 on: FFT. From 0xc000 on: rotation by
// [9:5], down with bit 10, of the bits that [4:0] does not keep. From 0x8000 on: two bits for each
// lane of a quad. Else AND [4:0], OR [9:5], XOR [14:10].
unsigned swizzled_lane(u32 offset, unsigned lane) {
    const u32 low = offset & 31;
    const u32 middle = offset >> 5 & 31;
    u32 within = lane & 31;
    if (offset >= 0xe000) {
        within = fft_lane(low, within);
    } else if (offset >= 0xc000) {
        const u32 rotated = (offset & 0x400) != 0 ? within - middle : within + middle;
        within = (within & low) | (rotated & ~low);
    } else if (offset >= 0x8000) {
        within = (within & ~3U) | (offset >> (2 * (lane & 3)) & 3);
    } else {
        within = ((within & low) | middle) ^ (offset >> 10 & 31);
    }
    return (lane & 32) | (within & 31);
}

void swizzle(Execution& e) {
    const DsInstruction i(e);
    const Words* from = data_lanes(e, i.address, i.acc);
    Words* to = data_lanes(e, i.vdst, i.acc);
    if (from == nullptr || to == nullptr) {
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
