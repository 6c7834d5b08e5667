// SPDX-License-Identifier: MIT
// C = A * B in float by tiles in LDS, bit for bit what fused multiply-adds in that order give.
#include "check.hpp"

#include <cmath>

namespace {

constexpr unsigned tile = 16;
constexpr unsigned rows = 128;
constexpr unsigned columns = 192;
constexpr unsigned depth = 320;

__global__ void multiply(const float* a, const float* b, float* c) {
    __shared__ float tile_a[tile][tile];
    __shared__ float tile_b[tile][tile];
    const unsigned x = threadIdx.x;
    const unsigned y = threadIdx.y;
    const unsigned row = blockIdx.y * tile + y;
    const unsigned column = blockIdx.x * tile + x;
    float sum = 0;
    for (unsigned begin = 0; begin < depth; begin += tile) {
        tile_a[y][x] = a[row * depth + begin + x];
        tile_b[y][x] = b[(begin + y) * columns + column];
        __syncthreads();
        for (unsigned k = 0; k < tile; ++k)
            sum = fmaf(tile_a[y][k], tile_b[k][x], sum);
        __syncthreads();
    }
    c[row * columns + column] = sum;
}

float element(std::uint32_t seed) {
    return (static_cast<float>(test::scramble(seed) & 0xffff) - 32768.0f) * 0x1p-13f;
}

std::vector<float> expected(const std::vector<float>& a, const std::vector<float>& b) {
    std::vector<float> c(rows * columns, 0.0f);
    for (unsigned row = 0; row < rows; ++row)
        for (unsigned k = 0; k < depth; ++k)
            for (unsigned column = 0; column < columns; ++column) {
                float& sum = c[row * columns + column];
                sum = std::fmaf(a[row * depth + k], b[k * columns + column], sum);
            }
    return c;
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("matmul", argc, argv, 3);
    std::vector<float> a(rows * depth);
    std::vector<float> b(depth * columns);
    for (unsigned i = 0; i < a.size(); ++i)
        a[i] = element(i);
    for (unsigned i = 0; i < b.size(); ++i)
        b[i] = element(i + 0x1000000);
    const std::vector<float> want = expected(a, b);

    const test::DeviceArray<float> left(a);
    const test::DeviceArray<float> right(b);
    test::DeviceArray<float> product(rows * columns);
    test::Digest digest;
    digest.add(want);
    while (rounds.next()) {
        product.clear();
        multiply<<<dim3(columns / tile, rows / tile), dim3(tile, tile)>>>(left.get(), right.get(),
                                                                          product.get());
        LAUNCH_MUST();
        test::must_equal("element of the product", product.to_host(), want);
    }
    return test::passed(rounds, digest, "128x320 times 320x192");
}
