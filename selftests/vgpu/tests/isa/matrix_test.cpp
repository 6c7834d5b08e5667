// SPDX-License-Identifier: MIT
// The matrix core against products computed on the host. The test says which element a lane holds,
// the model which lane holds an element. Small whole numbers: exact in every format and order.
#include "tests/isa/matrices.hpp"
#include "tests/isa/snippets.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace vgpu::test {

namespace {

using Values = std::vector<std::vector<std::vector<int>>>; // block, row, column

Values zeros(const Matrix& m, unsigned columns) {
    return Values(m.blocks, std::vector<std::vector<int>>(m.size, std::vector<int>(columns)));
}

// By LLVM's names.
const std::vector<Matrix> matrices_of_gfx90a{
    {"v_mfma_f32_32x32x1f32", 32, 1, 2, Matrix::f32},
    {"v_mfma_f32_16x16x1f32", 16, 1, 4, Matrix::f32},
    {"v_mfma_f32_4x4x1f32", 4, 1, 16, Matrix::f32},
    {"v_mfma_f32_32x32x2f32", 32, 2, 1, Matrix::f32},
    {"v_mfma_f32_16x16x4f32", 16, 4, 1, Matrix::f32},
    {"v_mfma_f32_32x32x4f16", 32, 4, 2, Matrix::f16},
    {"v_mfma_f32_16x16x4f16", 16, 4, 4, Matrix::f16},
    {"v_mfma_f32_4x4x4f16", 4, 4, 16, Matrix::f16},
    {"v_mfma_f32_32x32x8f16", 32, 8, 1, Matrix::f16},
    {"v_mfma_f32_16x16x16f16", 16, 16, 1, Matrix::f16},
    {"v_mfma_i32_32x32x4i8", 32, 4, 2, Matrix::i8},
    {"v_mfma_i32_16x16x4i8", 16, 4, 4, Matrix::i8},
    {"v_mfma_i32_4x4x4i8", 4, 4, 16, Matrix::i8},
    {"v_mfma_i32_32x32x8i8", 32, 8, 1, Matrix::i8},
    {"v_mfma_i32_16x16x16i8", 16, 16, 1, Matrix::i8},
    {"v_mfma_f32_32x32x4bf16_1k", 32, 4, 2, Matrix::bf16},
    {"v_mfma_f32_16x16x4bf16_1k", 16, 4, 4, Matrix::bf16},
    {"v_mfma_f32_4x4x4bf16_1k", 4, 4, 16, Matrix::bf16},
    {"v_mfma_f32_32x32x8bf16_1k", 32, 8, 1, Matrix::bf16},
    {"v_mfma_f32_16x16x16bf16_1k", 16, 16, 1, Matrix::bf16},
    {"v_mfma_f32_32x32x2bf16", 32, 2, 2, Matrix::bf16},
    {"v_mfma_f32_16x16x2bf16", 16, 2, 4, Matrix::bf16},
    {"v_mfma_f32_4x4x2bf16", 4, 2, 16, Matrix::bf16},
    {"v_mfma_f32_32x32x4bf16", 32, 4, 1, Matrix::bf16},
    {"v_mfma_f32_16x16x8bf16", 16, 8, 1, Matrix::bf16},
    {"v_mfma_f64_16x16x4f64", 16, 4, 1, Matrix::f64},
    {"v_mfma_f64_4x4x4f64", 4, 4, 4, Matrix::f64},
};

const std::vector<Matrix> matrices{
    {"v_mfma_f32_32x32x1_2b_f32", 32, 1, 2, Matrix::f32},
    {"v_mfma_f32_16x16x1_4b_f32", 16, 1, 4, Matrix::f32},
    {"v_mfma_f32_4x4x1_16b_f32", 4, 1, 16, Matrix::f32},
    {"v_mfma_f32_32x32x2_f32", 32, 2, 1, Matrix::f32},
    {"v_mfma_f32_16x16x4_f32", 16, 4, 1, Matrix::f32},
    {"v_mfma_f32_16x16x8_xf32", 16, 8, 1, Matrix::xf32},
    {"v_mfma_f32_32x32x4_xf32", 32, 4, 1, Matrix::xf32},
    {"v_mfma_f32_32x32x4_2b_f16", 32, 4, 2, Matrix::f16},
    {"v_mfma_f32_16x16x4_4b_f16", 16, 4, 4, Matrix::f16},
    {"v_mfma_f32_4x4x4_16b_f16", 4, 4, 16, Matrix::f16},
    {"v_mfma_f32_32x32x8_f16", 32, 8, 1, Matrix::f16},
    {"v_mfma_f32_16x16x16_f16", 16, 16, 1, Matrix::f16},
    {"v_mfma_i32_32x32x4_2b_i8", 32, 4, 2, Matrix::i8},
    {"v_mfma_i32_16x16x4_4b_i8", 16, 4, 4, Matrix::i8},
    {"v_mfma_i32_4x4x4_16b_i8", 4, 4, 16, Matrix::i8},
    {"v_mfma_i32_32x32x16_i8", 32, 16, 1, Matrix::i8},
    {"v_mfma_i32_16x16x32_i8", 16, 32, 1, Matrix::i8},
    {"v_mfma_f32_32x32x4_2b_bf16", 32, 4, 2, Matrix::bf16},
    {"v_mfma_f32_16x16x4_4b_bf16", 16, 4, 4, Matrix::bf16},
    {"v_mfma_f32_4x4x4_16b_bf16", 4, 4, 16, Matrix::bf16},
    {"v_mfma_f32_32x32x8_bf16", 32, 8, 1, Matrix::bf16},
    {"v_mfma_f32_16x16x16_bf16", 16, 16, 1, Matrix::bf16},
    {"v_mfma_f64_16x16x4_f64", 16, 4, 1, Matrix::f64},
    {"v_mfma_f64_4x4x4_4b_f64", 4, 4, 4, Matrix::f64},
    {"v_mfma_f32_16x16x32_bf8_bf8", 16, 32, 1, Matrix::bf8, Matrix::bf8},
    {"v_mfma_f32_16x16x32_bf8_fp8", 16, 32, 1, Matrix::bf8, Matrix::fp8},
    {"v_mfma_f32_16x16x32_fp8_bf8", 16, 32, 1, Matrix::fp8, Matrix::bf8},
    {"v_mfma_f32_16x16x32_fp8_fp8", 16, 32, 1, Matrix::fp8, Matrix::fp8},
    {"v_mfma_f32_32x32x16_bf8_bf8", 32, 16, 1, Matrix::bf8, Matrix::bf8},
    {"v_mfma_f32_32x32x16_bf8_fp8", 32, 16, 1, Matrix::bf8, Matrix::fp8},
    {"v_mfma_f32_32x32x16_fp8_bf8", 32, 16, 1, Matrix::fp8, Matrix::bf8},
    {"v_mfma_f32_32x32x16_fp8_fp8", 32, 16, 1, Matrix::fp8, Matrix::fp8},
};

// D is in AccVGPRs; C too, unless it is a constant.
std::string instruction(const Matrix& m, const std::string& c, const std::string& modifiers) {
    return m.text + " " + registers('a', 0, m.sum_words()) + ", " +
           registers('v', a_register, m.input_words()) + ", " +
           registers('v', b_register, m.input_words()) + ", " +
           (c.empty() ? registers('a', 0, m.sum_words()) : c) + modifiers + "\ns_endpgm";
}

// Random A, B and C in the registers of the wave.
struct Operands {
    Operands(const Matrix& m, isa::WaveState& wave, Numbers& numbers)
        : a(zeros(m, m.depth)), b(zeros(m, m.depth)), c(zeros(m, m.size)) {
        for (unsigned lane = 0; lane < 64; ++lane) {
            for (unsigned j = 0; j < m.inputs(); ++j) {
                const Element at = input_element(m, lane, j);
                const int x = numbers.next();
                const int y = numbers.next();
                a[at.block][at.row][at.column] = x;
                b[at.block][at.row][at.column] = y;
                put(wave, a_register, lane, j, m.bits(), encoded(m.kind, x));
                put(wave, b_register, lane, j, m.bits(), encoded(m.kind_b.value_or(m.kind), y));
            }
            for (unsigned r = 0; r < m.sums(); ++r) {
                const Element at = sum_element(m, lane, r);
                c[at.block][at.row][at.column] = numbers.next();
                put(wave, wave.arch_vgprs, lane, r, m.kind == Matrix::f64 ? 64 : 32,
                    encoded_sum(m, c[at.block][at.row][at.column]));
            }
        }
    }
    Values a; // block, row, k
    Values b; // block, column, k
    Values c;
};

void expect_sums(const Matrix& m, const isa::WaveState& wave, const Values& a, const Values& b,
                 const Values& c) {
    for (unsigned lane = 0; lane < 64; ++lane) {
        for (unsigned r = 0; r < m.sums(); ++r) {
            const Element at = sum_element(m, lane, r);
            int sum = c[at.block][at.row][at.column];
            for (unsigned k = 0; k < m.depth; ++k) {
                sum += a[at.block][at.row][k] * b[at.block][at.column][k];
            }
            ASSERT_EQ(sum_of(m, wave, lane, r), encoded_sum(m, sum))
                << m.text << " lane " << lane << " value " << r;
        }
    }
}

const Matrix& matrix(const std::string& text) {
    for (const auto* all : {&matrices, &matrices_of_gfx90a}) {
        for (const Matrix& m : *all) {
            if (m.text == text) {
                return m;
            }
        }
    }
    throw std::invalid_argument(text);
}

} // namespace

void multiplies(const std::vector<Matrix>& all, isa::Isa isa) {
    std::vector<std::string> texts;
    for (const Matrix& m : all) {
        texts.push_back(instruction(m, "", ""));
    }
    Snippets snippets(texts, isa);
    Numbers numbers(1);
    for (std::size_t i = 0; i < all.size(); ++i) {
        isa::WaveState wave = snippets.wave();
        wave.exec = i % 2 == 0 ? ~0ULL : 0x5;
        const Operands in(all[i], wave, numbers);
        ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended) << texts[i] << snippets.problem;
        expect_sums(all[i], wave, in.a, in.b, in.c);
    }
}

TEST(MatrixCore, multiplies_and_accumulates_whatever_exec_says) {
    multiplies(matrices, isa::Isa::gfx942);
}
TEST(MatrixCore, of_a_gfx90a_multiplies_and_accumulates_whatever_exec_says) {
    multiplies(matrices_of_gfx90a, isa::Isa::gfx90a);
}
TEST(MatrixCore, of_a_gfx908_multiplies_and_accumulates_whatever_exec_says) {
    std::vector<Matrix> some = matrices_of_gfx90a;
    std::erase_if(some,
                  [](const Matrix& m) { return m.kind == Matrix::f64 || m.text.ends_with("_1k"); });
    multiplies(some, isa::Isa::gfx908);
}

TEST(MatrixCore, c_may_be_a_constant) {
    const Matrix& single = matrix("v_mfma_f32_16x16x4_f32");
    const Matrix& wide = matrix("v_mfma_f64_16x16x4_f64");
    const Matrix& byte = matrix("v_mfma_i32_16x16x32_i8");
    Snippets snippets(
        {instruction(single, "2.0", ""), instruction(wide, "2.0", ""), instruction(byte, "2", "")});
    Numbers numbers(2);
    std::size_t i = 0;
    for (const Matrix* m : {&single, &wide, &byte}) {
        isa::WaveState wave = snippets.wave();
        const Operands in(*m, wave, numbers);
        ASSERT_EQ(snippets.run(i++, wave), isa::Outcome::ended) << snippets.problem;
        const Values twos(m->blocks, {m->size, std::vector<int>(m->size, 2)});
        expect_sums(*m, wave, in.a, in.b, twos);
    }
}

// CBSZ: 2^cbsz neighbouring blocks take the same block of A, the ABIDth of them.
TEST(MatrixCore, blocks_share_a_block_of_a) {
    const Matrix& m = matrix("v_mfma_f32_4x4x4_16b_f16");
    Snippets snippets({instruction(m, "", " cbsz:2 abid:3"), instruction(m, "", " cbsz:4 abid:9")});
    Numbers numbers(3);
    for (const std::size_t i : {0, 1}) {
        isa::WaveState wave = snippets.wave();
        const Operands in(m, wave, numbers);
        ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended) << snippets.problem;
        Values a = in.a;
        for (unsigned block = 0; block < 16; ++block) {
            a[block] = in.a[i == 0 ? block / 4 * 4 + 3 : 9];
        }
        expect_sums(m, wave, a, in.b, in.c);
    }
}

// BLGP: lanes of B are broadcast by halves or quarters of the wave, or move down by 16.
TEST(MatrixCore, lanes_of_b_are_permuted) {
    const Matrix& m = matrix("v_mfma_f32_4x4x1_16b_f32");
    std::vector<std::string> texts;
    for (int pattern = 1; pattern < 8; ++pattern) {
        texts.push_back(instruction(m, "", " blgp:" + std::to_string(pattern)));
    }
    // The quarter of the wave that each quarter takes its data from.
    const unsigned quarters[7][4] = {{0, 1, 0, 1}, {2, 3, 2, 3}, {1, 2, 3, 0}, {0, 0, 0, 0},
                                     {1, 1, 1, 1}, {2, 2, 2, 2}, {3, 3, 3, 3}};
    Snippets snippets(texts);
    Numbers numbers(4);
    for (std::size_t i = 0; i < texts.size(); ++i) {
        isa::WaveState wave = snippets.wave();
        const Operands in(m, wave, numbers);
        ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended) << snippets.problem;
        Values b = in.b;
        for (unsigned block = 0; block < 16; ++block) {
            b[block] = in.b[quarters[i][block / 4] * 4 + block % 4];
        }
        expect_sums(m, wave, in.a, b, in.c);
    }
}

TEST(MatrixCore, double_precision_negates_by_blgp) {
    const Matrix& m = matrix("v_mfma_f64_16x16x4_f64");
    Snippets snippets({instruction(m, "", " neg:[1,0,0]"), instruction(m, "", " neg:[0,1,1]")});
    Numbers numbers(5);
    for (const std::size_t i : {0, 1}) {
        isa::WaveState wave = snippets.wave();
        const Operands in(m, wave, numbers);
        ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended) << snippets.problem;
        Values a = in.a;
        Values c = in.c;
        for (auto& row : a[0]) {
            for (int& value : row) {
                value = -value;
            }
        }
        for (auto& row : c[0]) {
            for (int& value : row) {
                value = i == 0 ? value : -value;
            }
        }
        expect_sums(m, wave, a, in.b, c);
    }
}

// One row of A, one column of B, one element of C: what is lost where, of MI300X (matrix_sum.hpp).
struct Sum {
    std::string text;
    std::vector<double> a;
    std::vector<double> b;
    double c;
    double d;
};

void expect_results(const std::vector<Sum>& sums, isa::Isa isa) {
    std::vector<std::string> texts;
    for (const Sum& sum : sums) {
        texts.push_back(instruction(matrix(sum.text), "", ""));
    }
    Snippets snippets(texts, isa);
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const Matrix& m = matrix(sums[i].text);
        isa::WaveState wave = snippets.wave();
        for (unsigned lane = 0; lane < 64; ++lane) {
            for (unsigned j = 0; j < m.inputs(); ++j) {
                const Element at = input_element(m, lane, j);
                const bool given = at.row == 0 && at.column < sums[i].a.size();
                const double a = given ? sums[i].a[at.column] : 0;
                const double b = given ? sums[i].b[at.column] : 0;
                put(wave, a_register, lane, j, m.bits(), encoded(m.kind, a));
                put(wave, b_register, lane, j, m.bits(), encoded(m.kind, b));
            }
        }
        put(wave, wave.arch_vgprs, 0, 0, 32, encoded(Matrix::f32, sums[i].c));
        ASSERT_EQ(snippets.run(i, wave), isa::Outcome::ended) << texts[i] << snippets.problem;
        EXPECT_EQ(std::bit_cast<float>(static_cast<std::uint32_t>(sum_of(m, wave, 0, 0))),
                  static_cast<float>(sums[i].d))
            << i << ": " << texts[i];
    }
}

TEST(MatrixCore, loses_the_bits_that_an_mi300x_loses) {
    const double tiny = std::ldexp(1, -24); // the unit of a step whose highest product is 1
    const std::string xf32 = "v_mfma_f32_16x16x8_xf32";
    const std::string f16 = "v_mfma_f32_16x16x16_f16";
    const std::string fp8 = "v_mfma_f32_16x16x32_fp8_fp8";
    const double big = 4096;
    const std::vector<Sum> sums{
        // XF32 has ten bits behind the point; the others are dropped, not rounded.
        {xf32, {1 + std::ldexp(1, -10)}, {1}, 0, 1 + std::ldexp(1, -10)},
        {xf32, {1 + std::ldexp(2047, -21)}, {1}, 0, 1},
        {xf32, {-1 - std::ldexp(2047, -21)}, {1}, 0, -1},
        // A product is cut towards zero,
        {f16, {1, std::ldexp(1.5, -14)}, {1, std::ldexp(-1, -11)}, 0, 1},
        {f16, {1, std::ldexp(1, -14)}, {1, std::ldexp(-1, -10)}, 0, 1 - tiny},
        // below the exponent of 1.5 and 1.5, not that of 2.25: two of 2^-24 are kept.
        {f16,
         {1.5, std::ldexp(1, -12), std::ldexp(1, -12)},
         {1.5, std::ldexp(1, -12), std::ldexp(1, -12)},
         std::ldexp(1, -23),
         2.25 + std::ldexp(1, -22)},
        // C downwards: a negative one that is tiny takes a whole unit.
        {f16, {1}, {1}, std::ldexp(-1, -40), 1 - tiny},
        {f16, {1}, {1}, std::ldexp(1, -25), 1},
        // So are the products, but seven bits lower: 2^-24 and a bit more is a tie here, not above
        // it.
        {xf32, {tiny, std::ldexp(1, -20)}, {1, std::ldexp(1, -20)}, 1, 1},
        {xf32, {tiny, std::ldexp(1, -11)}, {1, std::ldexp(1, -20)}, 1, 1 + std::ldexp(1, -23)},
        // A step of XF32 has four products: 2^24 + 3 is rounded to 2^24 + 4 before the rest is
        // added.
        {xf32, {big, 1, 1, 1, 1, 1}, {big, 1, 1, 1, 1, 1}, 0, big * big + 6},
        // One of F16 has eight.
        {f16, {big, 1, 1, 1, 1, 1}, {big, 1, 1, 1, 1, 1}, 0, big * big + 4},
        // FP8 cuts the products of even and of odd k separately, and drops C when it is far below.
        {fp8, {128, 0, 0.0078125}, {128, 0, -0.0078125}, 0, 16384},
        {fp8, {128, 0.0078125}, {128, -0.0078125}, 0, 16384 - std::ldexp(1, -10)},
        {fp8, {1}, {1}, std::ldexp(-1, -40), 1},
        {fp8, {1}, {1}, std::ldexp(-1, -25), 1 - tiny},
        // Products that no float holds are infinite.
        {"v_mfma_f32_16x16x16_bf16", {std::ldexp(1, 100)}, {std::ldexp(1, 100)}, 0, HUGE_VAL},
    };
    expect_results(sums, isa::Isa::gfx942);
}

// As an MI250X does.
TEST(MatrixCore, of_a_gfx90a_adds_in_pairs_and_has_no_denormals) {
    const double big = 4096;
    const double smallest = std::ldexp(1, -126);
    const std::string f16 = "v_mfma_f32_16x16x16f16";
    const std::string bf16 = "v_mfma_f32_16x16x8bf16";
    const std::string bf16_1k = "v_mfma_f32_16x16x16bf16_1k";
    const std::vector<Sum> sums{
        // Each sum is rounded: 2^24 + 1 to 2^24, then 1 + 1 = 2 is added.
        {f16, {big, 1, 1, 1}, {big, 1, 1, 1}, 0, big * big + 2},
        // A group has four products: the fifth is added to their sum alone,
        {f16, {big, 0, 0, 0, 1, 1}, {big, 0, 0, 0, 1, 1}, 0, big * big + 2},
        {f16, {big, 0, 0, 0, 1, 0, 0, 0, 1}, {big, 0, 0, 0, 1, 0, 0, 0, 1}, 0, big * big},
        // with bf16 of gfx908 the third, with the later one the fifth.
        {bf16, {big, 0, 1, 0, 1}, {big, 0, 1, 0, 1}, 0, big * big},
        {bf16_1k, {big, 0, 0, 0, 1, 1}, {big, 0, 0, 0, 1, 1}, 0, big * big + 2},
        // Denormal inputs and sums are zero.
        {f16, {std::ldexp(1, -24)}, {1024}, 0, 0},
        {f16, {std::ldexp(1, -14)}, {1024}, 0, std::ldexp(1, -4)},
        {f16, {}, {}, smallest / 2, 0},
        {bf16, {std::ldexp(1, -100)}, {std::ldexp(1, -27)}, smallest, smallest},
        {bf16, {smallest}, {-0.75}, smallest, smallest},
        {bf16, {1}, {-1.5 * smallest}, smallest, 0},
    };
    expect_results(sums, isa::Isa::gfx90a);
}

// As an MI100 does.
TEST(MatrixCore, of_a_gfx908_adds_in_pairs_and_keeps_denormals) {
    const double smallest = std::ldexp(1, -126);
    const std::string f16 = "v_mfma_f32_16x16x16f16";
    const std::string bf16 = "v_mfma_f32_16x16x8bf16";
    const std::vector<Sum> sums{
        {f16, {4096, 1, 1, 1}, {4096, 1, 1, 1}, 0, 4096.0 * 4096 + 2},
        {f16, {std::ldexp(1, -24)}, {1024}, 0, std::ldexp(1, -14)},
        {f16, {}, {}, smallest / 2, smallest / 2},
        {bf16, {smallest}, {-0.75}, smallest, smallest / 4},
    };
    expect_results(sums, isa::Isa::gfx908);
}

TEST(MatrixCore, operands_must_be_vgprs_the_wave_has) {
    Snippets snippets({"v_mfma_f32_32x32x1_2b_f32 a[32:63], v8, v9, a[32:63]\ns_endpgm"});
    isa::WaveState wave = snippets.wave();
    EXPECT_NE(snippets.run(0, wave), isa::Outcome::ended);
    EXPECT_NE(snippets.problem, "");
}

} // namespace vgpu::test
