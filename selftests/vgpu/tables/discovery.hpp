// SPDX-License-Identifier: MIT
// The IP discovery table: which blocks the GPU has, where their registers are, how large it is.
#pragma once

#include "model/device/options.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace vgpu::tables {

// The driver looks for the table this far before the end of VRAM (DISCOVERY_TMR_OFFSET).
inline constexpr std::size_t discovery_bytes_from_end = 64 << 10;
inline constexpr std::size_t discovery_table_bytes = 10 << 10;

std::vector<std::byte> discovery_table(const DeviceOptions& options = {});

// Sum of bytes, as the table's checksums are.
std::uint16_t discovery_checksum(std::span<const std::byte> bytes);

} // namespace vgpu::tables
