// SPDX-License-Identifier: MIT
// C = 2 * A * B - C by rocblas_gemm_ex, against the CPU. Matrices are stored by columns.
#pragma once

#include "integers.hpp"

namespace test {

struct Format {
    const char* name;
    rocblas_datatype in;
    rocblas_datatype out;
    rocblas_datatype sum; // what it accumulates in
};

struct Shape {
    int m, n, k;
    bool transposed; // A is stored by rows
};

inline Integers expected(const Shape& shape, const Integers& a, const Integers& b, Integers c) {
    const auto at = [](int row, int column, int rows) {
        return static_cast<std::size_t>(column) * static_cast<std::size_t>(rows) +
               static_cast<std::size_t>(row);
    };
    for (int column = 0; column < shape.n; ++column)
        for (int row = 0; row < shape.m; ++row) {
            std::int32_t sum = 0;
            for (int k = 0; k < shape.k; ++k)
                sum += a[shape.transposed ? at(k, row, shape.k) : at(row, k, shape.m)] *
                       b[at(k, column, shape.k)];
            std::int32_t& value = c[at(row, column, shape.m)];
            value = 2 * sum - value;
        }
    return c;
}

// A number of rocBLAS' host side, as the format sums.
struct Scalar {
    Scalar(rocblas_datatype type, std::int32_t value) : bytes(encoded(type, {value})) {}
    [[nodiscard]] const void* get() const { return bytes.data(); }
    Bytes bytes;
};

// Multiplies once, ends the program when a bit is wrong, and adds the product to the digest.
inline void must_multiply(const Handle& handle, const Format& format, const Shape& shape,
                          Digest& digest) {
    const auto count = [](int rows, int columns) {
        return static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns);
    };
    const auto seed = static_cast<std::uint32_t>(shape.m * 1000003 + shape.n * 1009 + shape.k);
    const Integers a = small_integers(count(shape.m, shape.k), seed);
    const Integers b = small_integers(count(shape.k, shape.n), seed + 0x1000000);
    const Integers c = small_integers(count(shape.m, shape.n), seed + 0x2000000);
    const DeviceArray<std::uint8_t> left(encoded(format.in, a));
    const DeviceArray<std::uint8_t> right(encoded(format.in, b));
    const DeviceArray<std::uint8_t> product(encoded(format.out, c));
    const Scalar two(format.sum, 2);
    const Scalar minus_one(format.sum, -1);
    ROCBLAS_MUST(rocblas_gemm_ex(
        handle.get(), shape.transposed ? rocblas_operation_transpose : rocblas_operation_none,
        rocblas_operation_none, shape.m, shape.n, shape.k, two.get(), left.get(), format.in,
        shape.transposed ? shape.k : shape.m, right.get(), format.in, shape.k, minus_one.get(),
        product.get(), format.out, shape.m, product.get(), format.out, shape.m, format.sum,
        rocblas_gemm_algo_standard, 0, 0));
    HIP_MUST(hipDeviceSynchronize());
    const Bytes got = product.to_host();
    const std::string what = std::string("byte of a product in ") + format.name + " of " +
                             std::to_string(shape.m) + "x" + std::to_string(shape.k) + " and " +
                             std::to_string(shape.k) + "x" + std::to_string(shape.n);
    must_equal(what.c_str(), got, encoded(format.out, expected(shape, a, b, c)));
    digest.add(got);
}

} // namespace test
