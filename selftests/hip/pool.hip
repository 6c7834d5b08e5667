// SPDX-License-Identifier: MIT
// Memory of a stream: allocated, used and freed in the order of the stream, and used again by what
// comes after. Two streams share the pool; each must see its own values only.
#include "check.hpp"

#include <array>

namespace {

constexpr unsigned steps = 24;

constexpr unsigned count_of(unsigned step) {
    return 4096 + 1024 * (step * 7 % 13);
}

__global__ void fill(std::uint32_t* values, unsigned count, std::uint32_t salt) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count)
        return;
    std::uint32_t value = i + salt;
    for (unsigned step = 0; step < 100; ++step)
        value = test::scramble(value);
    values[i] = value;
}

// Wrapping sums don't depend on the order of the adds.
__global__ void sum(const std::uint32_t* values, unsigned count, std::uint32_t* result) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        atomicAdd(result, values[i]);
}

std::uint32_t expected(unsigned count, std::uint32_t salt) {
    std::uint32_t result = 0;
    for (unsigned i = 0; i < count; ++i) {
        std::uint32_t value = i + salt;
        for (unsigned step = 0; step < 100; ++step)
            value = test::scramble(value);
        result += value;
    }
    return result;
}

void queue_step(hipStream_t stream, unsigned step, std::uint32_t salt, std::uint32_t* result) {
    const unsigned count = count_of(step);
    std::uint32_t* values = nullptr;
    HIP_MUST(hipMallocAsync(reinterpret_cast<void**>(&values), count * sizeof(*values), stream));
    fill<<<(count + 255) / 256, 256, 0, stream>>>(values, count, salt);
    LAUNCH_MUST();
    sum<<<(count + 255) / 256, 256, 0, stream>>>(values, count, result);
    LAUNCH_MUST();
    HIP_MUST(hipFreeAsync(values, stream));
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("pool", argc, argv, 2);
    std::array<hipStream_t, 2> streams{};
    for (hipStream_t& stream : streams)
        HIP_MUST(hipStreamCreate(&stream));
    test::DeviceArray<std::uint32_t> sums(2 * steps);
    std::vector<std::uint32_t> want(2 * steps);
    for (unsigned i = 0; i < want.size(); ++i)
        want[i] = expected(count_of(i / 2), 0x10000 * i);
    test::Digest digest;
    digest.add(want);
    while (rounds.next()) {
        sums.clear();
        HIP_MUST(hipDeviceSynchronize());
        for (unsigned i = 0; i < want.size(); ++i)
            queue_step(streams[i % 2], i / 2, 0x10000 * i, sums.get() + i);
        HIP_MUST(hipDeviceSynchronize());
        test::must_equal("sum of memory from the pool", sums.to_host(), want);
    }
    for (hipStream_t stream : streams)
        HIP_MUST(hipStreamDestroy(stream));
    return test::passed(rounds, digest, "24 allocations in the order of each of 2 streams");
}
