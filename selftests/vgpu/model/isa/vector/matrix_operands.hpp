// SPDX-License-Identifier: MIT
// The fields of matrix instructions, and where elements of A, B, C and D lie in the registers of
// the lanes. Layouts: MI300 ISA, "Matrix Arithmetic Instructions".
#pragma once

#include "model/isa/memory/vector_memory.hpp"
#include "model/isa/vector/matrix_elements.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace vgpu::isa {

// VOP3P-MAI fields.
struct MatrixInstruction {
    explicit MatrixInstruction(const Execution& e)
        : vdst(e.word0 & 0xff), src{e.word1 & 0x1ff, e.word1 >> 9 & 0x1ff, e.word1 >> 18 & 0x1ff},
          cbsz(e.word0 >> 8 & 7), abid(e.word0 >> 11 & 15),
          acc_cd(e.wave.isa == Isa::gfx908 || (e.word0 >> 15 & 1) != 0),
          acc_a((e.word1 >> 27 & 1) != 0), acc_b((e.word1 >> 28 & 1) != 0), blgp(e.word1 >> 29) {}

    unsigned vdst;
    std::array<unsigned, 3> src;
    unsigned cbsz; // 2^cbsz blocks share one block of A
    unsigned abid; // which of them
    bool acc_cd;   // C and D are AccVGPRs, as they always are on a gfx908
    bool acc_a;
    bool acc_b;
    unsigned blgp; // pattern of B's lanes; of double precision: negate A, B, C
};

inline float multiply_add(float a, float b, float sum) {
    return std::fma(a, b, sum);
}
inline double multiply_add(double a, double b, double sum) {
    return std::fma(a, b, sum);
}
inline std::int32_t multiply_add(std::int32_t a, std::int32_t b, std::int32_t sum) {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(a * b) +
                                     static_cast<std::uint32_t>(sum));
}

struct Position {
    unsigned lane = 0;
    unsigned value = 0; // which of the lane's values
};

template <typename Type, unsigned m_size, unsigned n_size, unsigned k_size, unsigned blocks>
struct Shape {
    static constexpr unsigned inputs_per_lane = m_size * k_size * blocks / lane_count;
    static constexpr unsigned input_words = inputs_per_lane * Type::bits / 32;
    static constexpr unsigned sums_per_lane = m_size * n_size * blocks / lane_count;
    static constexpr unsigned sum_words = sums_per_lane * sizeof(typename Type::Sum) / 4;
    static_assert(input_words >= 1 && sum_words >= 1 && m_size == n_size);

    // Position of an element of A (index: row) or of B (index: column).
    static constexpr Position input(unsigned index, unsigned k, unsigned block) {
        return {index + m_size * (block + blocks * (k / inputs_per_lane)), k % inputs_per_lane};
    }

    static constexpr Position sum(unsigned row, unsigned column, unsigned block) {
        if constexpr (Type::bits == 64) {
            return m_size == 4 ? Position{column + 4 * block + 16 * row, 0}
                               : Position{column + 16 * (row % 4), row / 4};
        } else if constexpr (m_size == 4) {
            return {column + 4 * block, row};
        } else {
            constexpr unsigned row_groups = lane_count / m_size; // of 4 rows, side by side in lanes
            return {column + m_size * (row / 4 % row_groups),
                    block * (m_size * n_size / lane_count) + row / (4 * row_groups) * 4 + row % 4};
        }
    }
};

// The lane that B's data comes from. MI300 ISA, "BLGP".
constexpr unsigned source_lane(unsigned lane, unsigned blgp) {
    switch (blgp) {
    case 1: return lane % 32;
    case 2: return lane % 32 + 32;
    case 3: return (lane + 16) % 64;
    case 4:
    case 5:
    case 6:
    case 7: return lane % 16 + (blgp - 4) * 16;
    default: return lane;
    }
}

using Registers = std::span<Words* const>;

template <typename Type> typename Type::Value input_value(Registers registers, Position at) {
    if constexpr (Type::bits == 64) {
        return Type::decode((*registers[0])[at.lane] |
                            static_cast<std::uint64_t>((*registers[1])[at.lane]) << 32);
    } else {
        const unsigned bit = at.value * Type::bits;
        return Type::decode((*registers[bit / 32])[at.lane] >> bit % 32);
    }
}

template <typename Sum> Sum sum_value(Registers registers, Position at) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): hot, written before it is read
    std::array<std::uint32_t, words_of<Sum>> words;
    for (unsigned i = 0; i < words.size(); ++i) {
        words[i] = (*registers[at.value * words.size() + i])[at.lane];
    }
    return std::bit_cast<Sum>(words);
}

template <typename Sum> void set_sum(Registers registers, Position at, Sum value) {
    const auto words = std::bit_cast<std::array<std::uint32_t, words_of<Sum>>>(value);
    for (unsigned i = 0; i < words.size(); ++i) {
        (*registers[at.value * words.size() + i])[at.lane] = words[i];
    }
}

// An inline constant for all of C.
template <typename Sum> Sum constant_sum(Execution& e, unsigned code) {
    if constexpr (sizeof(Sum) == 8) {
        DoubleWords scratch;
        return std::bit_cast<Sum>(source64(e, code, 2, Wide::floating, scratch)[0]);
    } else {
        Words scratch;
        return std::bit_cast<Sum>(source32(e, code, 2, scratch)[0]);
    }
}

template <std::size_t count>
bool vector_operand(Execution& e, unsigned code, bool acc, std::array<Words*, count>& registers) {
    if (code < source::vgpr0) {
        e.illegal("matrix operand is no VGPR");
        return false;
    }
    return data_registers(e, code - source::vgpr0, acc, registers);
}

// The products of a row of A and a column of B, in the order of k, and the sum so far.
template <typename Type, unsigned depth>
typename Type::Sum accumulate(std::span<const typename Type::Value, depth> a,
                              std::span<const typename Type::Value, depth> b,
                              typename Type::Sum sum) {
    if constexpr (AddsInSteps<Type>) {
        constexpr unsigned step = std::min(Type::step_depth, depth);
        static_assert(depth % step == 0);
        for (unsigned k = 0; k < depth; k += step) {
            sum = fused_sum<Type::step>(a.subspan(k, step), b.subspan(k, step), sum);
        }
    } else if constexpr (AddsInPairs<Type>) {
        constexpr unsigned group = std::min(Type::group, depth);
        constexpr Denormals denormals = Type::denormals;
        sum = unsigned_zero<denormals>(sum);
        for (unsigned k = 0; k < depth; k += group) {
            sum = signed_zero<denormals>(sum + sum_of_pairs<group, denormals>(&a[k], &b[k]));
        }
    } else {
        for (unsigned k = 0; k < depth; ++k) {
            sum = multiply_add(a[k], b[k], sum);
        }
    }
    return sum;
}

} // namespace vgpu::isa
