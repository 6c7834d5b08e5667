// SPDX-License-Identifier: MIT
// Vector addition of 1 M floats, and what it took from first call to checked result.
#include "check.hpp"

namespace {

constexpr unsigned elements = 1u << 20;

__global__ void add(const float* a, const float* b, float* sum, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        sum[i] = a[i] + b[i];
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("vadd", argc, argv, 3);
    std::vector<float> a(elements);
    std::vector<float> b(elements);
    std::vector<float> want(elements);
    for (unsigned i = 0; i < elements; ++i) {
        a[i] = static_cast<float>(test::scramble(i) & 0xffffff) * 0x1p-12f;
        b[i] = static_cast<float>(i) * -0.37f;
        want[i] = a[i] + b[i];
    }
    HIP_MUST(hipInit(0));
    HIP_MUST(hipSetDevice(0));

    test::Digest digest;
    double first_ms = 0;
    while (rounds.next()) {
        const auto begin = std::chrono::steady_clock::now();
        const test::DeviceArray<float> left(a);
        const test::DeviceArray<float> right(b);
        const test::DeviceArray<float> sum(elements);
        add<<<(elements + 255) / 256, 256>>>(left.get(), right.get(), sum.get(), elements);
        LAUNCH_MUST();
        const std::vector<float> got = sum.to_host();
        const std::chrono::duration<double, std::milli> took =
            std::chrono::steady_clock::now() - begin;
        test::must_equal("sum", got, want);
        if (rounds.count() == 1) {
            first_ms = took.count();
            digest.add(got);
        }
    }
    return test::passed(rounds, digest,
                        "1048576 sums (first round " + std::to_string(first_ms) + " ms)");
}
