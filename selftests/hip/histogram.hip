// SPDX-License-Identifier: MIT
// Histogram of hashed values: counts of a workgroup in LDS atomics, of all in global ones.
#include "check.hpp"

namespace {

constexpr unsigned bins = 256;
constexpr unsigned group_size = 256;
constexpr unsigned groups = 64;
constexpr unsigned items = group_size * groups;
constexpr unsigned draws = 48; // of each work item

// Uneven on purpose: some bins are fought over.
__host__ __device__ std::uint32_t bin_of(std::uint32_t value) {
    const std::uint32_t a = value & 0xff;
    const std::uint32_t b = (value >> 8) & 0xff;
    return (a * b) >> 8;
}

__global__ void count(const std::uint32_t* seeds, std::uint32_t* histogram) {
    __shared__ std::uint32_t local[bins];
    local[threadIdx.x] = 0;
    __syncthreads();
    std::uint32_t x = seeds[blockIdx.x * group_size + threadIdx.x];
    for (unsigned i = 0; i < draws; ++i) {
        x = test::scramble(x + i);
        atomicAdd(&local[bin_of(x)], 1u);
        if ((x >> 28) == 0)
            atomicAdd(&histogram[bins + bin_of(x >> 12)], 1u);
    }
    __syncthreads();
    if (local[threadIdx.x] != 0)
        atomicAdd(&histogram[threadIdx.x], local[threadIdx.x]);
}

} // namespace

int main(int argc, char** argv) {
    static_assert(group_size == bins);
    test::Rounds rounds("histogram", argc, argv, 4);
    std::vector<std::uint32_t> seeds(items);
    std::vector<std::uint32_t> want(2 * bins, 0);
    for (unsigned i = 0; i < items; ++i) {
        seeds[i] = test::scramble(i + 5);
        std::uint32_t x = seeds[i];
        for (unsigned n = 0; n < draws; ++n) {
            x = test::scramble(x + n);
            ++want[bin_of(x)];
            if ((x >> 28) == 0)
                ++want[bins + bin_of(x >> 12)];
        }
    }
    const test::DeviceArray<std::uint32_t> input(seeds);
    test::DeviceArray<std::uint32_t> histogram(2 * bins);
    test::Digest digest;
    digest.add(want);
    while (rounds.next()) {
        histogram.clear();
        count<<<groups, group_size>>>(input.get(), histogram.get());
        LAUNCH_MUST();
        test::must_equal("bin", histogram.to_host(), want);
    }
    return test::passed(rounds, digest, std::to_string(items * draws) + " draws");
}
