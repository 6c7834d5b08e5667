// SPDX-License-Identifier: MIT
// What the build generates from amdgpu's register headers and blocks/*.regs.
#pragma once

#include "model/regs/gpu.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace vgpu {

enum class RegisterPolicy : std::uint8_t {
    unknown, // not declared: reading or writing it is unmodelled
    ram,     // keeps what was written and nothing reads a meaning into it
    unit,    // belongs to a unit of the model, which gives it a meaning
    port,    // as ram, but a data port that is written thousands of times: not traced
    errors,  // says what went wrong; nothing does, so it reads 0 and there is nothing to clear
};

struct NamedRegister {
    std::uint32_t dword;
    std::string_view name;
};

struct DeclaredRegister {
    std::uint32_t dword;
    RegisterPolicy policy;
};

// A dword of BAR 5 at which another GPU has a register of a MI300X, or of an SDMA engine behind the
// first; or one that a MI300X has not, in the place of another, which the model has elsewhere.
struct RegisterAlias {
    std::uint32_t dword;
    std::uint32_t place;
    std::uint32_t sdma_engine;
};

struct OtherGpu {
    std::span<const RegisterAlias> aliases;
    std::span<const NamedRegister> names; // of registers that a MI300X has not; sorted by dword
    std::span<const DeclaredRegister> declared;
};

OtherGpu other_gpu(Gpu gpu);                            // nothing for a MI300X
std::span<const NamedRegister> named_registers();       // sorted by dword
std::span<const DeclaredRegister> declared_registers(); // sorted by dword

} // namespace vgpu
