// SPDX-License-Identifier: MIT
// Resource accounting of one compute unit.
#include "model/sq/compute_unit.hpp"

#include <algorithm>
#include <bit>

namespace vgpu::sq {

unsigned ComputeUnit::Simd::free_waves(unsigned wave_vgprs) const {
    const auto used = static_cast<unsigned>(std::popcount(slots));
    return std::min(waves_per_simd - used, (vgprs_per_simd - vgprs) / wave_vgprs);
}

bool ComputeUnit::has_room(unsigned waves, unsigned vgprs, unsigned lds) const {
    unsigned room = 0;
    for (const Simd& simd : simds_) {
        room += simd.free_waves(vgprs);
    }
    return room >= waves && lds_used_ + lds <= lds_bytes;
}

// The emptiest SIMD, as the dispatcher spreads waves.
WaveSlot ComputeUnit::take_wave(unsigned vgprs) {
    unsigned best = 0;
    for (unsigned i = 1; i < simds; ++i) {
        if (simds_.at(i).free_waves(vgprs) > simds_.at(best).free_waves(vgprs)) {
            best = i;
        }
    }
    Simd& simd = simds_.at(best);
    const auto index = static_cast<unsigned>(std::countr_one(simd.slots));
    simd.slots |= 1U << index;
    simd.vgprs += vgprs;
    return {best, index};
}

void ComputeUnit::give_wave(WaveSlot slot, unsigned vgprs) {
    Simd& simd = simds_.at(slot.simd);
    simd.slots &= ~(1U << slot.index);
    simd.vgprs -= vgprs;
}

} // namespace vgpu::sq
