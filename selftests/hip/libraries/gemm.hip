// SPDX-License-Identifier: MIT
// rocBLAS: products in each format, of sizes that no tile divides, and a triangular system.
#include "product.hpp"

namespace {

constexpr test::Format formats[] = {
    {"float", rocblas_datatype_f32_r, rocblas_datatype_f32_r, rocblas_datatype_f32_r},
    {"double", rocblas_datatype_f64_r, rocblas_datatype_f64_r, rocblas_datatype_f64_r},
    {"half", rocblas_datatype_f16_r, rocblas_datatype_f16_r, rocblas_datatype_f32_r},
    {"bfloat16", rocblas_datatype_bf16_r, rocblas_datatype_f32_r, rocblas_datatype_f32_r},
    {"int8", rocblas_datatype_i8_r, rocblas_datatype_i32_r, rocblas_datatype_i32_r},
};

constexpr test::Shape shapes[] = {{97, 80, 65, false}, {33, 47, 129, true}};

// L X = B for a lower triangle L with ones on its diagonal and in each second place below: each
// step of it is exact.
void must_solve(const test::Handle& handle, test::Digest& digest) {
    constexpr int n = 96;
    constexpr int columns = 40;
    test::Integers triangle(n * n, 0);
    for (int i = 0; i < n; ++i) {
        triangle[static_cast<std::size_t>(i * n + i)] = 1;
        if (i + 1 < n)
            triangle[static_cast<std::size_t>(i * n + i + 1)] = i % 2;
    }
    const test::Integers want = test::small_integers(n * columns, 7);
    test::Integers product = want;
    for (int column = 0; column < columns; ++column)
        for (int i = 1; i < n; ++i)
            product[static_cast<std::size_t>(column * n + i)] +=
                (i - 1) % 2 * want[static_cast<std::size_t>(column * n + i - 1)];
    const test::DeviceArray<std::uint8_t> left(test::encoded(rocblas_datatype_f32_r, triangle));
    const test::DeviceArray<std::uint8_t> right(test::encoded(rocblas_datatype_f32_r, product));
    const float one = 1;
    ROCBLAS_MUST(rocblas_strsm(handle.get(), rocblas_side_left, rocblas_fill_lower,
                               rocblas_operation_none, rocblas_diagonal_non_unit, n, columns, &one,
                               reinterpret_cast<const float*>(left.get()), n,
                               reinterpret_cast<float*>(right.get()), n));
    HIP_MUST(hipDeviceSynchronize());
    const test::Bytes got = right.to_host();
    test::must_equal("byte of the solution", got, test::encoded(rocblas_datatype_f32_r, want));
    digest.add(got);
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("gemm", argc, argv, 1);
    const test::Handle handle;
    test::Digest digest;
    while (rounds.next()) {
        digest = {};
        for (const test::Format& format : formats)
            for (const test::Shape& shape : shapes)
                test::must_multiply(handle, format, shape, digest);
        must_solve(handle, digest);
    }
    return test::passed(rounds, digest, "products in 5 formats, a triangular system");
}
