// SPDX-License-Identifier: MIT
// One record of the table of IP blocks.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace vgpu {

// The part of the GPU that a block belongs to.
enum class IpOwner : std::uint8_t { gpu, aid, xcc, sdma };

struct IpBlock {
    std::string_view name;
    std::uint16_t hardware_id = 0;
    IpOwner owner = IpOwner::gpu;
    std::array<std::uint8_t, 3> version{};
    std::uint8_t base_count = 0;
    std::array<std::uint32_t, 10> bases{};
};

} // namespace vgpu
