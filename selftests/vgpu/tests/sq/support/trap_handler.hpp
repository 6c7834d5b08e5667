// SPDX-License-Identifier: MIT
// The driver's trap handler for gfx942.
#pragma once

#include <cstdint>
#include <span>

namespace vgpu::test {

std::span<const std::uint32_t> trap_handler();

} // namespace vgpu::test
