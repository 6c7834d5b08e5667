// SPDX-License-Identifier: MIT
// All opcodes of all formats, as the model and as LLVM's disassembler call them.
#pragma once

#include "model/isa/encodings.hpp"

#include <functional>
#include <set>
#include <string>
#include <vector>

namespace vgpu::test {

using MachineCode = std::vector<std::uint32_t>;

struct Format {
    std::string name;
    std::uint32_t opcodes = 0;
    // Encodings of one opcode with different operand fields: some opcodes refuse some.
    std::function<std::vector<MachineCode>(std::uint32_t)> encode;
    std::vector<isa::OpName> modelled;
    std::string prefix; // of the modelled names
};

std::vector<Format> formats();

// LLVM's mnemonics for each opcode of the format, without _e32 and _e64.
std::vector<std::set<std::string>> llvm_names(const Format& format, isa::Isa isa);

} // namespace vgpu::test
