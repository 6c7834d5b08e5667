// SPDX-License-Identifier: MIT
// Random functions in LLVM's intermediate language, with one meaning on every machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu::differential {

// A function of a lane: it reads input_slots numbers of its lane and uniform_slots of the wave, and
// writes its results, each in 8 bytes.
inline constexpr unsigned input_slots = 16;
inline constexpr unsigned uniform_slots = 6;
inline constexpr unsigned result_slots = 64;

enum class Type : std::uint8_t { i16, i32, i64, f16, f32, f64, v2i16, v2f16 };
inline constexpr std::array types{Type::i16, Type::i32, Type::i64,   Type::f16,
                                  Type::f32, Type::f64, Type::v2i16, Type::v2f16};
// The type of each slot.
constexpr Type input_type(unsigned slot) {
    return types[slot % types.size()];
}
constexpr Type uniform_type(unsigned slot) {
    return types[slot % 3]; // the scalar unit computes with integers
}

enum class Results {
    last, // the values that nothing else uses
    each, // of every instruction outside loops and branches: which one is wrong first?
};

struct Function {
    std::string text;
    std::vector<std::string> results; // by slot: the name of the value
};

// A shader of gfx942. Needs no more than its arguments and @lds.
Function generate(std::uint64_t seed, std::string_view name, Results results);

// Before the functions of a module.
inline constexpr std::string_view prologue =
    "@lds = internal addrspace(3) global [512 x i8] undef, align 8\n";

// The same text for a machine with one kind of memory.
std::string for_host(std::string_view text);

} // namespace vgpu::differential
