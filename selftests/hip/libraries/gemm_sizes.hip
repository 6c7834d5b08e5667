// SPDX-License-Identifier: MIT
// rocBLAS: products of bfloat16 matrices of every size from 1x1 to 200x200. At the edge of a tile a
// kernel loads single halves of a register, which must not keep what was in the other half.
#include "product.hpp"

int main(int argc, char** argv) {
    test::Rounds rounds("gemm_sizes", argc, argv, 1);
    constexpr test::Format format = {"bfloat16", rocblas_datatype_bf16_r, rocblas_datatype_f32_r,
                                     rocblas_datatype_f32_r};
    const test::Handle handle;
    test::Digest digest;
    while (rounds.next()) {
        digest = {};
        for (int size = 1; size <= 200; ++size)
            test::must_multiply(handle, format, {size, size, size, false}, digest);
    }
    return test::passed(rounds, digest, "bfloat16, sizes 1 to 200");
}
