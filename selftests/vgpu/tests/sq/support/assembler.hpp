// SPDX-License-Identifier: MIT
// gfx942 machine code from LLVM's assembler, at test run time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace vgpu::test {

// Machine code of an assembly text. An error of the assembler ends the process: a test without
// its program means nothing.
std::vector<std::uint32_t> assemble(const std::string& text);

// What LLVM's disassembler makes of each group of dwords; empty for none.
std::vector<std::string> disassemble(const std::vector<std::vector<std::uint32_t>>& instructions);

} // namespace vgpu::test
