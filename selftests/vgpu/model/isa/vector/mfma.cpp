// SPDX-License-Identifier: MIT
// The matrix core: D = A * B + C on blocks that lie over the registers of all lanes.
//
// Layouts: MI300 ISA, "Matrix Arithmetic Instructions". EXEC plays no part. Products of F32 and F64
// are added in the order of k with one rounding each (MMA-Sim, see matrix_sum.hpp), those of
// narrower floats in steps, or on older GPUs in pairs.
#include "model/isa/vector/matrix_operands.hpp"
#include "model/isa/vector/packed.hpp"

#include <span>

namespace vgpu::isa {

namespace {

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
                sums_[block][row][column] =
                    accumulate<Type, k_size>(a, b[column], negated_by(2, c));
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
