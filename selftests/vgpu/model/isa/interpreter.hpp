// SPDX-License-Identifier: MIT
// Runs one instruction of one wave.
#pragma once

#include "model/isa/execution.hpp"

#include <string>
#include <string_view>

namespace vgpu::isa {

// Fetches, decodes and executes the instruction at wave.pc. The caller acts on `outcome`.
void step(Execution& e);

// LLVM's mnemonic of the instruction, or its format when the opcode isn't modelled.
std::string describe(std::uint32_t word0);

} // namespace vgpu::isa
