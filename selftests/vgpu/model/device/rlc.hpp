// SPDX-License-Identifier: MIT
// The RLC's few registers with a meaning: safe mode handshake, busy flags and the GPU clock.
#pragma once

#include "model/base/clock.hpp"
#include "model/regs/register_file.hpp"

namespace vgpu {

void connect_rlc(const XccRegisters& registers, const Clock& clock);

} // namespace vgpu
