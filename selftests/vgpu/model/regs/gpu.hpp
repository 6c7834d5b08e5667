// SPDX-License-Identifier: MIT
// Which GPU the device is.
#pragma once

#include <cstdint>

namespace vgpu {

enum class Gpu : std::uint8_t {
    mi300x, // gfx942
    mi250,  // gfx90a, one of its two dies
};

constexpr std::uint16_t pci_device(Gpu gpu) {
    return gpu == Gpu::mi250 ? 0x740c : 0x74a1;
}

constexpr unsigned sdma_engines_of_one_die(Gpu gpu) {
    return gpu == Gpu::mi250 ? 5 : 2;
}

} // namespace vgpu
