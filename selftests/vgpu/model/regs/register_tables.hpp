// SPDX-License-Identifier: MIT
// What the build generates from amdgpu's register headers and blocks/*.regs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace vgpu {

enum class RegisterPolicy : std::uint8_t {
    unknown, // not declared: reading or writing it is unmodelled
    ram,     // keeps what was written and nothing reads a meaning into it
    unit,    // belongs to a unit of the model, which gives it a meaning
    port,    // as ram, but a data port that is written thousands of times: not traced
};

struct NamedRegister {
    std::uint32_t dword;
    std::string_view name;
};

struct DeclaredRegister {
    std::uint32_t dword;
    RegisterPolicy policy;
};

std::span<const NamedRegister> named_registers();       // sorted by dword
std::span<const DeclaredRegister> declared_registers(); // sorted by dword

} // namespace vgpu
