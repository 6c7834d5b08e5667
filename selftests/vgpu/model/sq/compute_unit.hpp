// SPDX-License-Identifier: MIT
// The resources of a compute unit: wave slots and VGPRs of its SIMDs, and LDS.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace vgpu::sq {

// Where a wave sits: SIMD and wave slot in it.
struct WaveSlot {
    unsigned simd = 0;
    unsigned index = 0;
};

class ComputeUnit {
public:
    static constexpr unsigned simds = 4;
    static constexpr unsigned waves_per_simd = 8; // gfx90a and gfx942
    static constexpr unsigned vgprs_per_simd = 512;
    static constexpr unsigned lds_bytes = 65536;

    bool has_room(unsigned waves, unsigned vgprs, unsigned lds) const;
    // After has_room() said yes: LDS once for the workgroup, then each wave.
    void take_lds(unsigned bytes) { lds_used_ += bytes; }
    WaveSlot take_wave(unsigned vgprs);
    void give_lds(unsigned bytes) { lds_used_ -= bytes; }
    void give_wave(WaveSlot slot, unsigned vgprs);

private:
    struct Simd {
        std::uint32_t slots = 0; // bit per wave slot in use
        unsigned vgprs = 0;
        unsigned free_waves(unsigned wave_vgprs) const;
    };
    std::array<Simd, simds> simds_{};
    unsigned lds_used_ = 0;
};

} // namespace vgpu::sq
