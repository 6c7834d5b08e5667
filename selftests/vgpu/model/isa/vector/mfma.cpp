// SPDX-License-Identifier: MIT
// The matrix core: D = A * B + C on blocks that lie over the registers of all lanes.
//
// Layouts: MI300 ISA, "Matrix Arithmetic Instructions". EXEC plays no part. Products of F32 and F64
// are added in the order of k with one rounding each (MMA-Sim, see matrix_sum.hpp), those of
// narrower floats in steps, or on older GPUs in pairs.
#include "model/isa/memory/vector_memory.hpp"
#include "model/isa/vector/matrix_elements.hpp"
#include "model/isa/vector/packed.hpp"

#include <algorithm>
#include <cmath>
#include <span>

namespace vgpu::isa {

namespace {

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

float multiply_add(float a, float b, float sum) {
    return std::fma(a, b, sum);
}
double multiply_add(double a, double b, double sum) {
    return std::fma(a, b, sum);
}
std::int32_t multiply_add(std::int32_t a, std::int32_t b, std::int32_t sum) {
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

template <typename Type, typename TypeB, unsigned m_size, unsigned n_size, unsigned k_size,
          unsigned blocks>
class Multiplication {
    using Layout = Shape<Type, m_size, n_size, k_size, blocks>;
    using Value = typename Type::Value;
    using Sum = typename Type::Sum;
    static constexpr bool wide = Type::bits == 64;
    static_assert(Type::bits == TypeB::bits);

public:
    explicit Multiplication(Execution& e) : i_(e) {
        constant_c_ = i_.src[2] < source::vgpr0;
        valid_ = vector_operand(e, i_.src[0], i_.acc_a, a_words_) &&
                 vector_operand(e, i_.src[1], i_.acc_b, b_words_) &&
                 (constant_c_ || vector_operand(e, i_.src[2], i_.acc_cd, c_words_)) &&
                 data_registers(e, i_.vdst, i_.acc_cd, d_words_);
        if (valid_ && constant_c_) {
            constant_ = constant_sum<Sum>(e, i_.src[2]);
        }
    }

    void run() {
        if (!valid_) {
            return;
        }
        // All is read before anything is written: D may be C, A or B.
        for (unsigned block = 0; block < blocks; ++block) {
            multiply(block);
        }
        for (unsigned block = 0; block < blocks; ++block) {
            for (unsigned row = 0; row < m_size; ++row) {
                for (unsigned column = 0; column < n_size; ++column) {
                    set_sum(d_words_, Layout::sum(row, column, block), sums_[block][row][column]);
                }
            }
        }
    }

private:
    // With F64 BLGP is which of A, B and C are negated.
    template <typename Number> Number negated_by(unsigned slot, Number value) const {
        if constexpr (wide) {
            return (i_.blgp >> slot & 1) != 0 ? -value : value;
        } else {
            return value;
        }
    }

    static Sum accumulate(std::span<const Value, k_size> a, std::span<const Value, k_size> b,
                          Sum sum) {
        if constexpr (AddsInSteps<Type>) {
            constexpr unsigned depth = std::min(Type::step_depth, k_size);
            static_assert(k_size % depth == 0);
            for (unsigned k = 0; k < k_size; k += depth) {
                sum = fused_sum<Type::step>(a.subspan(k, depth), b.subspan(k, depth), sum);
            }
        } else if constexpr (AddsInPairs<Type>) {
            constexpr unsigned depth = std::min(Type::group, k_size);
            constexpr Denormals denormals = Type::denormals;
            sum = unsigned_zero<denormals>(sum);
            for (unsigned k = 0; k < k_size; k += depth) {
                sum = signed_zero<denormals>(sum + sum_of_pairs<depth, denormals>(&a[k], &b[k]));
            }
        } else {
            for (unsigned k = 0; k < k_size; ++k) {
                sum = multiply_add(a[k], b[k], sum);
            }
        }
        return sum;
    }

    void multiply(unsigned block) {
        const unsigned shared = blocks > 1 ? 1U << i_.cbsz : 1;
        const unsigned a_block = (block & ~(shared - 1)) + (shared > 1 ? i_.abid % shared : 0);
        // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): hot, written before it is read
        std::array<std::array<Value, k_size>, n_size> b;
        for (unsigned column = 0; column < n_size; ++column) {
            for (unsigned k = 0; k < k_size; ++k) {
                Position at = Layout::input(column, k, block);
                at.lane = wide ? at.lane : source_lane(at.lane, i_.blgp);
                b[column][k] = negated_by(1, input_value<TypeB>(b_words_, at));
            }
        }
        for (unsigned row = 0; row < m_size; ++row) {
            // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): hot, as b is
            std::array<Value, k_size> a;
            for (unsigned k = 0; k < k_size; ++k) {
                a[k] = negated_by(0, input_value<Type>(a_words_, Layout::input(row, k, a_block)));
            }
            for (unsigned column = 0; column < n_size; ++column) {
                const Position at = Layout::sum(row, column, block);
                const Sum c = constant_c_ ? constant_ : sum_value<Sum>(c_words_, at);
                sums_[block][row][column] = accumulate(a, b[column], negated_by(2, c));
            }
        }
    }

    MatrixInstruction i_;
    bool valid_ = false;
    bool constant_c_ = false;
    Sum constant_{};
    std::array<Words*, Layout::input_words> a_words_{};
    std::array<Words*, Layout::input_words> b_words_{};
    std::array<Words*, Layout::sum_words> c_words_{};
    std::array<Words*, Layout::sum_words> d_words_{};
    std::array<std::array<std::array<Sum, n_size>, m_size>, blocks> sums_;
};

template <typename Type, unsigned m_size, unsigned n_size, unsigned k_size, unsigned blocks,
          typename TypeB = Type>
void mfma(Execution& e) {
    Multiplication<Type, TypeB, m_size, n_size, k_size, blocks>(e).run();
}

constexpr std::array ops{
    ScalarOp{0x3e, "v_mfma_f32_16x16x8_xf32", mfma<Xf32, 16, 16, 8, 1>, only::gfx942},
    ScalarOp{0x3f, "v_mfma_f32_32x32x4_xf32", mfma<Xf32, 32, 32, 4, 1>, only::gfx942},
    ScalarOp{0x40, "v_mfma_f32_32x32x1_2b_f32", mfma<F32, 32, 32, 1, 2>},
    ScalarOp{0x41, "v_mfma_f32_16x16x1_4b_f32", mfma<F32, 16, 16, 1, 4>},
    ScalarOp{0x42, "v_mfma_f32_4x4x1_16b_f32", mfma<F32, 4, 4, 1, 16>},
    ScalarOp{0x44, "v_mfma_f32_32x32x2_f32", mfma<F32, 32, 32, 2, 1>},
    ScalarOp{0x45, "v_mfma_f32_16x16x4_f32", mfma<F32, 16, 16, 4, 1>},
    ScalarOp{0x48, "v_mfma_f32_32x32x4_2b_f16", mfma<F16, 32, 32, 4, 2>, only::gfx942},
    ScalarOp{0x49, "v_mfma_f32_16x16x4_4b_f16", mfma<F16, 16, 16, 4, 4>, only::gfx942},
    ScalarOp{0x4a, "v_mfma_f32_4x4x4_16b_f16", mfma<F16, 4, 4, 4, 16>, only::gfx942},
    ScalarOp{0x4c, "v_mfma_f32_32x32x8_f16", mfma<F16, 32, 32, 8, 1>, only::gfx942},
    ScalarOp{0x4d, "v_mfma_f32_16x16x16_f16", mfma<F16, 16, 16, 16, 1>, only::gfx942},
    ScalarOp{0x50, "v_mfma_i32_32x32x4_2b_i8", mfma<I8, 32, 32, 4, 2>},
    ScalarOp{0x51, "v_mfma_i32_16x16x4_4b_i8", mfma<I8, 16, 16, 4, 4>},
    ScalarOp{0x52, "v_mfma_i32_4x4x4_16b_i8", mfma<I8, 4, 4, 4, 16>},
    ScalarOp{0x56, "v_mfma_i32_32x32x16_i8", mfma<I8, 32, 32, 16, 1>, only::gfx942},
    ScalarOp{0x57, "v_mfma_i32_16x16x32_i8", mfma<I8, 16, 16, 32, 1>, only::gfx942},
    ScalarOp{0x5d, "v_mfma_f32_32x32x4_2b_bf16", mfma<Bf16, 32, 32, 4, 2>, only::gfx942},
    ScalarOp{0x5e, "v_mfma_f32_16x16x4_4b_bf16", mfma<Bf16, 16, 16, 4, 4>, only::gfx942},
    ScalarOp{0x5f, "v_mfma_f32_4x4x4_16b_bf16", mfma<Bf16, 4, 4, 4, 16>, only::gfx942},
    ScalarOp{0x60, "v_mfma_f32_32x32x8_bf16", mfma<Bf16, 32, 32, 8, 1>, only::gfx942},
    ScalarOp{0x61, "v_mfma_f32_16x16x16_bf16", mfma<Bf16, 16, 16, 16, 1>, only::gfx942},
    ScalarOp{0x6e, "v_mfma_f64_16x16x4_f64", mfma<F64, 16, 16, 4, 1>, since_gfx90a},
    ScalarOp{0x6f, "v_mfma_f64_4x4x4_4b_f64", mfma<F64, 4, 4, 4, 4>, since_gfx90a},
    ScalarOp{0x70, "v_mfma_f32_16x16x32_bf8_bf8", mfma<Bf8, 16, 16, 32, 1, Bf8>, only::gfx942},
    ScalarOp{0x71, "v_mfma_f32_16x16x32_bf8_fp8", mfma<Bf8, 16, 16, 32, 1, Fp8>, only::gfx942},
    ScalarOp{0x72, "v_mfma_f32_16x16x32_fp8_bf8", mfma<Fp8, 16, 16, 32, 1, Bf8>, only::gfx942},
    ScalarOp{0x73, "v_mfma_f32_16x16x32_fp8_fp8", mfma<Fp8, 16, 16, 32, 1, Fp8>, only::gfx942},
    ScalarOp{0x74, "v_mfma_f32_32x32x16_bf8_bf8", mfma<Bf8, 32, 32, 16, 1, Bf8>, only::gfx942},
    ScalarOp{0x75, "v_mfma_f32_32x32x16_bf8_fp8", mfma<Bf8, 32, 32, 16, 1, Fp8>, only::gfx942},
    ScalarOp{0x76, "v_mfma_f32_32x32x16_fp8_bf8", mfma<Fp8, 32, 32, 16, 1, Bf8>, only::gfx942},
    ScalarOp{0x77, "v_mfma_f32_32x32x16_fp8_fp8", mfma<Fp8, 32, 32, 16, 1, Fp8>, only::gfx942},
    // LLVM's names, which for older GPUs say nothing of blocks.
    ScalarOp{0x48, "v_mfma_f32_32x32x4f16", mfma<PairedF16<Denormals::flushed>, 32, 32, 4, 2>,
             only::gfx90a},
    ScalarOp{0x48, "v_mfma_f32_32x32x4f16", mfma<PairedF16<Denormals::kept>, 32, 32, 4, 2>,
             only::gfx908},
    ScalarOp{0x49, "v_mfma_f32_16x16x4f16", mfma<PairedF16<Denormals::flushed>, 16, 16, 4, 4>,
             only::gfx90a},
    ScalarOp{0x49, "v_mfma_f32_16x16x4f16", mfma<PairedF16<Denormals::kept>, 16, 16, 4, 4>,
             only::gfx908},
    ScalarOp{0x4a, "v_mfma_f32_4x4x4f16", mfma<PairedF16<Denormals::flushed>, 4, 4, 4, 16>,
             only::gfx90a},
    ScalarOp{0x4a, "v_mfma_f32_4x4x4f16", mfma<PairedF16<Denormals::kept>, 4, 4, 4, 16>,
             only::gfx908},
    ScalarOp{0x4c, "v_mfma_f32_32x32x8f16", mfma<PairedF16<Denormals::flushed>, 32, 32, 8, 1>,
             only::gfx90a},
    ScalarOp{0x4c, "v_mfma_f32_32x32x8f16", mfma<PairedF16<Denormals::kept>, 32, 32, 8, 1>,
             only::gfx908},
    ScalarOp{0x4d, "v_mfma_f32_16x16x16f16", mfma<PairedF16<Denormals::flushed>, 16, 16, 16, 1>,
             only::gfx90a},
    ScalarOp{0x4d, "v_mfma_f32_16x16x16f16", mfma<PairedF16<Denormals::kept>, 16, 16, 16, 1>,
             only::gfx908},
    ScalarOp{0x54, "v_mfma_i32_32x32x8i8", mfma<I8, 32, 32, 8, 1>, until_gfx90a},
    ScalarOp{0x55, "v_mfma_i32_16x16x16i8", mfma<I8, 16, 16, 16, 1>, until_gfx90a},
    ScalarOp{0x63, "v_mfma_f32_32x32x4bf16_1k",
             mfma<PairedBf16<4, Denormals::flushed>, 32, 32, 4, 2>, only::gfx90a},
    ScalarOp{0x64, "v_mfma_f32_16x16x4bf16_1k",
             mfma<PairedBf16<4, Denormals::flushed>, 16, 16, 4, 4>, only::gfx90a},
    ScalarOp{0x65, "v_mfma_f32_4x4x4bf16_1k", mfma<PairedBf16<4, Denormals::flushed>, 4, 4, 4, 16>,
             only::gfx90a},
    ScalarOp{0x66, "v_mfma_f32_32x32x8bf16_1k",
             mfma<PairedBf16<4, Denormals::flushed>, 32, 32, 8, 1>, only::gfx90a},
    ScalarOp{0x67, "v_mfma_f32_16x16x16bf16_1k",
             mfma<PairedBf16<4, Denormals::flushed>, 16, 16, 16, 1>, only::gfx90a},
    ScalarOp{0x68, "v_mfma_f32_32x32x2bf16", mfma<PairedBf16<2, Denormals::flushed>, 32, 32, 2, 2>,
             only::gfx90a},
    ScalarOp{0x68, "v_mfma_f32_32x32x2bf16", mfma<PairedBf16<2, Denormals::kept>, 32, 32, 2, 2>,
             only::gfx908},
    ScalarOp{0x69, "v_mfma_f32_16x16x2bf16", mfma<PairedBf16<2, Denormals::flushed>, 16, 16, 2, 4>,
             only::gfx90a},
    ScalarOp{0x69, "v_mfma_f32_16x16x2bf16", mfma<PairedBf16<2, Denormals::kept>, 16, 16, 2, 4>,
             only::gfx908},
    ScalarOp{0x6b, "v_mfma_f32_4x4x2bf16", mfma<PairedBf16<2, Denormals::flushed>, 4, 4, 2, 16>,
             only::gfx90a},
    ScalarOp{0x6b, "v_mfma_f32_4x4x2bf16", mfma<PairedBf16<2, Denormals::kept>, 4, 4, 2, 16>,
             only::gfx908},
    ScalarOp{0x6c, "v_mfma_f32_32x32x4bf16", mfma<PairedBf16<2, Denormals::flushed>, 32, 32, 4, 1>,
             only::gfx90a},
    ScalarOp{0x6c, "v_mfma_f32_32x32x4bf16", mfma<PairedBf16<2, Denormals::kept>, 32, 32, 4, 1>,
             only::gfx908},
    ScalarOp{0x6d, "v_mfma_f32_16x16x8bf16", mfma<PairedBf16<2, Denormals::flushed>, 16, 16, 8, 1>,
             only::gfx90a},
    ScalarOp{0x6d, "v_mfma_f32_16x16x8bf16", mfma<PairedBf16<2, Denormals::kept>, 16, 16, 8, 1>,
             only::gfx908},
};

} // namespace

std::span<const ScalarOp> matrix_ops() {
    return ops;
}

} // namespace vgpu::isa
