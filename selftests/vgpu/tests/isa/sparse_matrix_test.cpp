// SPDX-License-Identifier: MIT
// The matrix core on a sparse A, against products of the dense A computed on the host.
#include "tests/isa/matrices.hpp"
#include "tests/isa/snippets.hpp"

#include <gtest/gtest.h>

#include <array>

namespace vgpu::test {

namespace {

constexpr unsigned index_register = 24;

// Pairs of places, of four, in which the two given elements can stand.
constexpr std::array<std::array<unsigned, 2>, 6> pairs{
    {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}}};

struct SparseMatrix {
    std::string text;
    unsigned size;
    unsigned depth; // of the dense A
    Matrix::Kind kind;
    Matrix::Kind kind_b = kind;

    Matrix given() const { return {text, size, depth / 2, 1, kind}; }
    Matrix dense() const { return {text, size, depth, 1, kind_b}; }
    // A register has room for so many sets of indices; a lane's elements need one.
    unsigned sets() const { return 16 / given().inputs(); }
    std::string instruction(const std::string& modifiers = "") const {
        return text + " " + registers('a', 0, given().sum_words()) + ", " +
               registers('v', a_register, given().input_words()) + ", " +
               registers('v', b_register, dense().input_words()) + ", " +
               registers('v', index_register, 1) + modifiers + "\ns_endpgm";
    }
};

const std::vector<SparseMatrix> matrices{
    {"v_smfmac_f32_16x16x32_f16", 16, 32, Matrix::f16},
    {"v_smfmac_f32_32x32x16_f16", 32, 16, Matrix::f16},
    {"v_smfmac_f32_16x16x32_bf16", 16, 32, Matrix::bf16},
    {"v_smfmac_f32_32x32x16_bf16", 32, 16, Matrix::bf16},
    {"v_smfmac_i32_16x16x64_i8", 16, 64, Matrix::i8},
    {"v_smfmac_i32_32x32x32_i8", 32, 32, Matrix::i8},
    {"v_smfmac_f32_16x16x64_bf8_bf8", 16, 64, Matrix::bf8},
    {"v_smfmac_f32_16x16x64_bf8_fp8", 16, 64, Matrix::bf8, Matrix::fp8},
    {"v_smfmac_f32_16x16x64_fp8_bf8", 16, 64, Matrix::fp8, Matrix::bf8},
    {"v_smfmac_f32_16x16x64_fp8_fp8", 16, 64, Matrix::fp8},
    {"v_smfmac_f32_32x32x32_bf8_bf8", 32, 32, Matrix::bf8},
    {"v_smfmac_f32_32x32x32_bf8_fp8", 32, 32, Matrix::bf8, Matrix::fp8},
    {"v_smfmac_f32_32x32x32_fp8_bf8", 32, 32, Matrix::fp8, Matrix::bf8},
    {"v_smfmac_f32_32x32x32_fp8_fp8", 32, 32, Matrix::fp8},
};

using Rows = std::vector<std::vector<int>>;

// Random given elements and places, B and D in the registers of the wave. `set` is where the
// indices are that the instruction reads; the others are of other places.
struct Operands {
    Operands(const SparseMatrix& m, unsigned set, isa::WaveState& wave, Numbers& numbers)
        : a(m.size, std::vector<int>(m.depth)), b(a), c(m.size, std::vector<int>(m.size)) {
        for (unsigned lane = 0; lane < 64; ++lane) {
            put_given(m, set, lane, wave, numbers);
            for (unsigned j = 0; j < m.dense().inputs(); ++j) {
                const Element at = input_element(m.dense(), lane, j);
                b[at.row][at.column] = numbers.next();
                put(wave, b_register, lane, j, m.dense().bits(),
                    encoded(m.kind_b, b[at.row][at.column]));
            }
            for (unsigned r = 0; r < m.given().sums(); ++r) {
                const Element at = sum_element(m.given(), lane, r);
                c[at.row][at.column] = numbers.next();
                put(wave, wave.arch_vgprs, lane, r, 32,
                    encoded_sum(m.given(), c[at.row][at.column]));
            }
        }
    }

    void put_given(const SparseMatrix& m, unsigned set, unsigned lane, isa::WaveState& wave,
                   Numbers& numbers) {
        const unsigned inputs = m.given().inputs();
        put(wave, index_register, lane, 0, 32, numbers.random());
        for (unsigned j = 0; j < inputs; j += 2) {
            const auto& places = pairs[numbers.random() % pairs.size()];
            for (const unsigned second : {0U, 1U}) {
                const Element at = input_element(m.given(), lane, j + second);
                const int value = numbers.next();
                a[at.row][at.column / 2 * 4 + places[second]] = value;
                put(wave, a_register, lane, j + second, m.given().bits(), encoded(m.kind, value));
                put(wave, index_register, lane, set * inputs + j + second, 2, places[second]);
            }
        }
    }

    Rows a; // dense: row, k
    Rows b; // column, k
    Rows c;
};

void expect_sums(const SparseMatrix& m, const isa::WaveState& wave, const Operands& in) {
    for (unsigned lane = 0; lane < 64; ++lane) {
        for (unsigned r = 0; r < m.given().sums(); ++r) {
            const Element at = sum_element(m.given(), lane, r);
            int sum = in.c[at.row][at.column];
            for (unsigned k = 0; k < m.depth; ++k) {
                sum += in.a[at.row][k] * in.b[at.column][k];
            }
            ASSERT_EQ(sum_of(m.given(), wave, lane, r), encoded_sum(m.given(), sum))
                << m.text << " lane " << lane << " value " << r;
        }
    }
}

} // namespace

TEST(SparseMatrixCore, multiplies_and_accumulates_whatever_exec_says) {
    std::vector<std::string> texts;
    for (const SparseMatrix& m : matrices) {
        texts.push_back(m.instruction());
    }
    Snippets snippets(texts);
    Numbers numbers(1);
    for (std::size_t i = 0; i < matrices.size(); ++i) {
        isa::WaveState wave = snippets.wave();
        wave.exec = i % 2 == 0 ? ~0ULL : 0x5;
        const Operands in(matrices[i], 0, wave, numbers);
        ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended) << texts[i] << snippets.problem;
        expect_sums(matrices[i], wave, in);
    }
}

TEST(SparseMatrixCore, abid_selects_the_set_of_indices) {
    for (const SparseMatrix& m : {matrices[0], matrices[5]}) {
        for (unsigned set = 0; set < m.sets(); ++set) {
            Snippets snippets({m.instruction(" abid:" + std::to_string(set))});
            Numbers numbers(set);
            isa::WaveState wave = snippets.wave();
            const Operands in(m, set, wave, numbers);
            ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
            expect_sums(m, wave, in);
        }
    }
}

TEST(SparseMatrixCore, cbsz_selects_the_first_set_whatever_abid_says) {
    const SparseMatrix& m = matrices[2];
    Snippets snippets({m.instruction(" cbsz:1 abid:2")});
    Numbers numbers(7);
    isa::WaveState wave = snippets.wave();
    const Operands in(m, 0, wave, numbers);
    ASSERT_EQ(snippets.run(0, wave), isa::Outcome::ended) << snippets.problem;
    expect_sums(m, wave, in);
}

TEST(SparseMatrixCore, operands_must_be_vgprs_the_wave_has) {
    Snippets snippets({"v_smfmac_f32_32x32x16_f16 a[32:47], v[8:9], v[16:19], v24\ns_endpgm"});
    isa::WaveState wave = snippets.wave();
    EXPECT_NE(snippets.run(0, wave), isa::Outcome::ended);
    EXPECT_NE(snippets.problem, "");
}

} // namespace vgpu::test
