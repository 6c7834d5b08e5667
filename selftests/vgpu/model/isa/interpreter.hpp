// SPDX-License-Identifier: MIT
// Runs one instruction of one wave.
#pragma once

#include "model/isa/execution.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace vgpu::isa {

// Fetches, decodes and executes the instruction at wave.pc. The caller acts on `outcome`.
void step(Execution& e);

// Whether it is an instruction that accesses memory, by its format: SMEM, MUBUF or FLAT.
constexpr bool accesses_memory(std::uint32_t word0) {
    const std::uint32_t format = word0 >> 26;
    return format == 0b110000 || format == 0b110111 || format == 0b111000;
}

// LLVM's mnemonic of the instruction, or its format when the opcode isn't modelled.
std::string describe(std::uint32_t word0);

} // namespace vgpu::isa
