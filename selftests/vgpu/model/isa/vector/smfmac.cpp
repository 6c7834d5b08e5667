// SPDX-License-Identifier: MIT
// The matrix core on a sparse A: D = A * B + D, where of four neighbouring elements in a row of A
// at most two are given, and an index of two bits says for each of them which one it is.
//
// Layouts: MI300 ISA, "Sparse matrices". The indices of a lane's elements lie side by side in SRC2;
// a VGPR has room for several sets, of which ABID chooses one unless CBSZ is set. No document says
// in which order the products are added: here, as if the given elements were all of a dense A.
#include "model/isa/vector/matrix_operands.hpp"
#include "model/isa/vector/packed.hpp"

#include <array>
#include <span>

namespace vgpu::isa {

namespace {

template <typename Type, typename TypeB, unsigned size, unsigned k_size>
class SparseMultiplication {
    static constexpr unsigned given = k_size / 2; // elements in a row of A
    static constexpr unsigned index_bits = 2;

    using LayoutA = Shape<Type, size, size, given, 1>;
    using LayoutB = Shape<TypeB, size, size, k_size, 1>;
    using Value = typename Type::Value;
    using Sum = typename Type::Sum;
    static constexpr unsigned set_bits = LayoutA::inputs_per_lane * index_bits;

public:
    explicit SparseMultiplication(Execution& e) : i_(e) {
        set_ = i_.cbsz == 0 ? i_.abid % (32 / set_bits) : 0;
        valid_ = vector_operand(e, i_.src[0], i_.acc_a, a_words_) &&
                 vector_operand(e, i_.src[1], i_.acc_b, b_words_) &&
                 vector_operand(e, i_.src[2], false, indices_) &&
                 data_registers(e, i_.vdst, i_.acc_cd, d_words_);
    }

    void run() {
        if (!valid_) {
            return;
        }
        // All is read before anything is written: D may be A or B.
        std::array<std::array<Sum, size>, size> sums{};
        for (unsigned row = 0; row < size; ++row) {
            multiply(row, sums[row]);
        }
        for (unsigned row = 0; row < size; ++row) {
            for (unsigned column = 0; column < size; ++column) {
                set_sum(d_words_, LayoutA::sum(row, column, 0), sums[row][column]);
            }
        }
    }

private:
    // The k of the dense matrix at which the row's given element `j` stands.
    unsigned dense_k(unsigned row, unsigned j) const {
        const Position at = LayoutA::input(row, j, 0);
        const unsigned shift = set_ * set_bits + at.value * index_bits;
        return j / 2 * 4 + ((*indices_[0])[at.lane] >> shift & 3);
    }

    void multiply(unsigned row, std::array<Sum, size>& sums) const {
        std::array<Value, given> a{};
        std::array<unsigned, given> ks{};
        for (unsigned j = 0; j < given; ++j) {
            a[j] = input_value<Type>(a_words_, LayoutA::input(row, j, 0));
            ks[j] = dense_k(row, j);
        }
        for (unsigned column = 0; column < size; ++column) {
            std::array<Value, given> b{};
            for (unsigned j = 0; j < given; ++j) {
                b[j] = input_value<TypeB>(b_words_, LayoutB::input(column, ks[j], 0));
            }
            const Sum sum = sum_value<Sum>(d_words_, LayoutA::sum(row, column, 0));
            sums[column] = accumulate<Type, given>(a, b, sum);
        }
    }

    MatrixInstruction i_;
    unsigned set_ = 0; // of indices
    bool valid_ = false;
    std::array<Words*, LayoutA::input_words> a_words_{};
    std::array<Words*, LayoutB::input_words> b_words_{};
    std::array<Words*, 1> indices_{};
    std::array<Words*, LayoutA::sum_words> d_words_{};
};

template <typename Type, unsigned size, unsigned k_size, typename TypeB = Type>
void smfmac(Execution& e) {
    SparseMultiplication<Type, TypeB, size, k_size>(e).run();
}

constexpr std::array ops{
    ScalarOp{0x62, "v_smfmac_f32_16x16x32_f16", smfmac<F16, 16, 32>, only::gfx942},
    ScalarOp{0x64, "v_smfmac_f32_32x32x16_f16", smfmac<F16, 32, 16>, only::gfx942},
    ScalarOp{0x66, "v_smfmac_f32_16x16x32_bf16", smfmac<Bf16, 16, 32>, only::gfx942},
    ScalarOp{0x68, "v_smfmac_f32_32x32x16_bf16", smfmac<Bf16, 32, 16>, only::gfx942},
    ScalarOp{0x6a, "v_smfmac_i32_16x16x64_i8", smfmac<I8, 16, 64>, only::gfx942},
    ScalarOp{0x6c, "v_smfmac_i32_32x32x32_i8", smfmac<I8, 32, 32>, only::gfx942},
    ScalarOp{0x78, "v_smfmac_f32_16x16x64_bf8_bf8", smfmac<Bf8, 16, 64, Bf8>, only::gfx942},
    ScalarOp{0x79, "v_smfmac_f32_16x16x64_bf8_fp8", smfmac<Bf8, 16, 64, Fp8>, only::gfx942},
    ScalarOp{0x7a, "v_smfmac_f32_16x16x64_fp8_bf8", smfmac<Fp8, 16, 64, Bf8>, only::gfx942},
    ScalarOp{0x7b, "v_smfmac_f32_16x16x64_fp8_fp8", smfmac<Fp8, 16, 64, Fp8>, only::gfx942},
    ScalarOp{0x7c, "v_smfmac_f32_32x32x32_bf8_bf8", smfmac<Bf8, 32, 32, Bf8>, only::gfx942},
    ScalarOp{0x7d, "v_smfmac_f32_32x32x32_bf8_fp8", smfmac<Bf8, 32, 32, Fp8>, only::gfx942},
    ScalarOp{0x7e, "v_smfmac_f32_32x32x32_fp8_bf8", smfmac<Fp8, 32, 32, Bf8>, only::gfx942},
    ScalarOp{0x7f, "v_smfmac_f32_32x32x32_fp8_fp8", smfmac<Fp8, 32, 32, Fp8>, only::gfx942},
};

} // namespace

std::span<const ScalarOp> sparse_matrix_ops() {
    return ops;
}

} // namespace vgpu::isa
