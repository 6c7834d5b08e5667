// SPDX-License-Identifier: MIT
// The GPUs that the device can be.
#pragma once

#include <cstdint>

namespace vgpu {

enum class Gpu : std::uint8_t {
    mi300x, // gfx942
    mi250,  // gfx90a, one of its two dies
    mi100,  // gfx908
};

constexpr std::uint16_t pci_device(Gpu gpu) {
    switch (gpu) {
    case Gpu::mi250: return 0x740c;
    case Gpu::mi100: return 0x738c;
    default: return 0x74a1;
    }
}

constexpr unsigned sdma_engines_of_one_die(Gpu gpu) {
    switch (gpu) {
    case Gpu::mi250: return 5;
    case Gpu::mi100: return 8;
    default: return 2;
    }
}

} // namespace vgpu
