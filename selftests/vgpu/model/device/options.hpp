// SPDX-License-Identifier: MIT
// What of the GPU can be chosen.
#pragma once

#include <cstdint>
#include <optional>

namespace vgpu {

struct DeviceOptions {
    unsigned xccs = 1;
    std::optional<std::uint64_t> slot_seed = {}; // see SlotOrder
};

} // namespace vgpu
