// SPDX-License-Identifier: MIT
// Machine code from LLVM's assembler, at test run time.
#pragma once

#include "model/isa/isa.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace vgpu::test {

// Machine code of an assembly text. An error of the assembler ends the process: a test without
// its program means nothing.
std::vector<std::uint32_t> assemble(const std::string& text, isa::Isa isa = isa::Isa::gfx942);

struct Disassembled {
    std::string text;
    std::uint32_t first_word = 0;
};

// Returns LLVM's disassembly of the words. LLVM skips a word that it rejects, and may then decode
// the next word as an instruction.
std::vector<Disassembled> disassemble(const std::vector<std::vector<std::uint32_t>>& instructions,
                                      isa::Isa isa = isa::Isa::gfx942);

} // namespace vgpu::test
