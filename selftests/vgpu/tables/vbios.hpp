// SPDX-License-Identifier: MIT
// A video BIOS with the few ATOM tables amdgpu wants of a compute card.
#pragma once

#include "model/device/options.hpp"

#include <cstddef>
#include <vector>

namespace vgpu::tables {

inline constexpr std::size_t vbios_bytes = 64 << 10;

// The image of the ROM BAR; its bytes sum up to zero.
std::vector<std::byte> vbios(const DeviceOptions& options = {});

} // namespace vgpu::tables
