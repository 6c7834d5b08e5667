// SPDX-License-Identifier: MIT
// How the matrix core adds products of narrow floats: a few of them and the sum so far in one step,
// with one rounding at its end and bits lost before.
//
// No document of AMD says it. Xie et al., "MMA-Sim: Bit-Accurate Reference Model of Tensor Cores
// and Matrix Cores" (arXiv 2511.10909) found it by tests of an MI300X:
// - The lowest 13 bits of XF32 inputs are dropped.
// - The exponent of a product is the sum of those of its factors. A product is cut towards zero, 24
//   bits below the highest exponent of its step.
// - The sum of the products and the sum so far are cut downwards, 31 and 24 bits below the higher
//   exponent of the two. Their sum is rounded to the nearest float, ties to even.
// - FP8 products of even k and of odd k are added apart first.
// And by tests of an MI100 and an MI250X, which have floats alone: products of a group are added in
// pairs, pairs in pairs, and their sum to the sum so far, each with a rounding. To an MI250X
// denormal inputs are zero, denormal sums a zero with their sign.
#ifndef KFD_PREEMPT_VGPU_MODEL_ISA_MATRIX_SUM_HPP
#define KFD_PREEMPT_VGPU_MODEL_ISA_MATRIX_SUM_HPP

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace vgpu::isa {

// An input with its exponent: of a subnormal the lowest of its format, of zero that of a float, of
// what is no finite number one above all.
struct Factor {
    float value = 0;
    int exponent = 0;
};

constexpr int lowest_float_exponent = -126;

inline Factor factor(float value, int lowest_exponent) {
    if (value == 0) {
        return {value, lowest_float_exponent};
    }
    return {value, std::isfinite(value) ? std::max(std::ilogb(value), lowest_exponent) : 512};
}

// units * 2^(exponent - fraction_bits)
struct MatrixSum {
    static constexpr int fraction_bits = 24;

    std::int64_t units = 0;
    int exponent = 0;
};

constexpr double power_of_two(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
}

// value * 2^by, cut downwards
constexpr std::int64_t shifted(std::int64_t value, int by) {
    return by >= 0 ? value << by : value >> std::min(-by, 63);
}

// Among each `stride`th product from `first` on.
inline int highest_exponent(std::span<const Factor> a, std::span<const Factor> b,
                            std::size_t first = 0, std::size_t stride = 1) {
    int highest = a[first].exponent + b[first].exponent;
    for (std::size_t k = first + stride; k < a.size(); k += stride) {
        highest = std::max(highest, a[k].exponent + b[k].exponent);
    }
    return highest;
}

inline MatrixSum sum_products(std::span<const Factor> a, std::span<const Factor> b,
                              std::size_t first, std::size_t stride) {
    MatrixSum sum{0, highest_exponent(a, b, first, stride)};
    const double scale = power_of_two(MatrixSum::fraction_bits - sum.exponent);
    for (std::size_t k = first; k < a.size(); k += stride) {
        sum.units +=
            static_cast<std::int64_t>(static_cast<double>(a[k].value) * b[k].value * scale);
    }
    return sum;
}

inline MatrixSum add(const MatrixSum& x, const MatrixSum& y) {
    const int exponent = std::max(x.exponent, y.exponent);
    return {shifted(x.units, x.exponent - exponent) + shifted(y.units, y.exponent - exponent),
            exponent};
}

// Not 0 where a factor or the sum so far is infinite or no number, or a product too large for a
// float.
inline double special_sum(std::span<const Factor> a, std::span<const Factor> b, float sum) {
    double all = sum;
    double too_large = 0; // infinities, or none
    for (std::size_t k = 0; k < a.size(); ++k) {
        const double product = static_cast<double>(a[k].value) * b[k].value;
        all += product;
        if (std::fabs(product) >= power_of_two(128)) {
            too_large += std::copysign(INFINITY, product);
        }
    }
    return std::isfinite(all) ? too_large : all;
}

enum class Step { of_all, of_even_and_odd };

// One step of a row of A and a column of B.
template <Step step>
float fused_sum(std::span<const Factor> a, std::span<const Factor> b, float sum) {
    if (!std::isfinite(sum) || highest_exponent(a, b) >= 127) {
        if (const double special = special_sum(a, b, sum); special != 0) { // NaN, too
            return static_cast<float>(special);
        }
    }
    constexpr int kept_bits = 31;
    constexpr std::size_t stride = step == Step::of_all ? 1 : 2;
    MatrixSum products = sum_products(a, b, 0, stride);
    if constexpr (step == Step::of_even_and_odd) {
        products = add(products, sum_products(a, b, 1, stride));
    }
    const Factor c = factor(sum, lowest_float_exponent);
    const int exponent = std::max(products.exponent, c.exponent);
    const auto c_units = static_cast<std::int64_t>(c.value * power_of_two(23 - c.exponent));
    // A sum so far that is far below FP8 products is dropped, even a negative one.
    const bool dropped = step == Step::of_even_and_odd && c.exponent < exponent - 25;
    const std::int64_t total =
        shifted(products.units,
                kept_bits - MatrixSum::fraction_bits + products.exponent - exponent) +
        (dropped ? 0 : shifted(c_units, 1 + c.exponent - exponent) << (kept_bits - 24));
    return static_cast<float>(static_cast<double>(total) * power_of_two(exponent - kept_bits));
}

enum class Denormals : bool { kept, flushed };

template <Denormals denormals> bool vanishes(float value) {
    return denormals == Denormals::flushed && std::fabs(value) < std::numeric_limits<float>::min();
}
template <Denormals denormals> float unsigned_zero(float value) {
    return vanishes<denormals>(value) ? 0.0F : value;
}
template <Denormals denormals> float signed_zero(float value) {
    return vanishes<denormals>(value) ? std::copysign(0.0F, value) : value;
}

template <unsigned count, Denormals denormals> float sum_of_pairs(const float* a, const float* b) {
    if constexpr (count == 1) {
        return signed_zero<denormals>(std::fma(*a, *b, 0.0F));
    } else {
        constexpr unsigned half = count / 2;
        return signed_zero<denormals>(sum_of_pairs<half, denormals>(a, b) +
                                      sum_of_pairs<half, denormals>(a + half, b + half));
    }
}

} // namespace vgpu::isa

#endif
