// SPDX-License-Identifier: MIT
// Choices of a GPU: its size, its seeds.
#pragma once

#include "model/regs/gpu.hpp"

#include <cstdint>
#include <optional>

namespace vgpu {

struct DeviceOptions {
    Gpu gpu = Gpu::mi300x;
    unsigned xccs = 1;
    unsigned compute_units = 4;                  // of each XCC: 4, 20 or 38
    std::optional<std::uint64_t> slot_seed = {}; // see SlotOrder
};

} // namespace vgpu
