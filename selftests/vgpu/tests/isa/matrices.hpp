// SPDX-License-Identifier: MIT
// Where a matrix instruction finds its elements, from the lane's side: which element a lane holds.
#pragma once

#include "model/isa/wave_state.hpp"

#include <cstdint>
#include <optional>
#include <random>
#include <string>

namespace vgpu::test {

constexpr unsigned a_register = 8;
constexpr unsigned b_register = 16;

struct Matrix {
    std::string text; // without operands
    unsigned size;    // rows of A, columns of B
    unsigned depth;
    unsigned blocks;
    enum Kind { f32, xf32, f16, bf16, f64, i8, fp8, bf8 } kind;
    std::optional<Kind> kind_b = std::nullopt; // when B differs from A

    unsigned bits() const { return kind == f64 ? 64 : kind <= xf32 ? 32 : kind >= i8 ? 8 : 16; }
    unsigned inputs() const { return size * depth * blocks / 64; } // of a lane
    unsigned input_words() const { return inputs() * bits() / 32; }
    unsigned sums() const { return size * size * blocks / 64; }
    unsigned sum_words() const { return sums() * (kind == f64 ? 2 : 1); }
};

struct Element {
    unsigned row; // of A, or column of B
    unsigned column;
    unsigned block;
};

// Returns the element of A (row and k) or B (column and k) that a lane has as value j.
Element input_element(const Matrix& m, unsigned lane, unsigned j);
// Returns the element of C and D that a lane has as value r.
Element sum_element(const Matrix& m, unsigned lane, unsigned r);

std::uint64_t encoded(Matrix::Kind kind, double value);
std::uint64_t encoded_sum(const Matrix& m, int value);

// Writes value `index` of `bits` into a lane's registers from `first` on.
void put(isa::WaveState& wave, unsigned first, unsigned lane, unsigned index, unsigned bits,
         std::uint64_t value);
// Value r of a lane of D, which is in AccVGPRs.
std::uint64_t sum_of(const Matrix& m, const isa::WaveState& wave, unsigned lane, unsigned r);

// "v8" or "v[8:11]".
std::string registers(char file, unsigned first, unsigned words);

// From -7 to 7: every input format has them.
struct Numbers {
    explicit Numbers(std::uint32_t seed) : random(seed) {}
    int next() { return static_cast<int>(random() % 15) - 7; }
    std::mt19937 random;
};

} // namespace vgpu::test
