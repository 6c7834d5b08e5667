// SPDX-License-Identifier: MIT
// The driver's trap handlers.
#pragma once

#include "model/isa/isa.hpp"

#include <cstdint>
#include <span>

namespace vgpu::test {

std::span<const std::uint32_t> trap_handler(isa::Isa isa = isa::Isa::gfx942);

} // namespace vgpu::test
