// SPDX-License-Identifier: MIT
// A sequence that the GPU walks step by step and the CPU jumps along, for long kernels with results
// that are known exactly.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

namespace test {

// One step of a linear congruential generator modulo 2^32. Steps compose to such a step again.
struct Step {
    std::uint32_t factor = 1664525;
    std::uint32_t addend = 1013904223;

    [[nodiscard]] __host__ __device__ std::uint32_t of(std::uint32_t x) const {
        return factor * x + addend;
    }
    // This step, and then that one.
    [[nodiscard]] Step then(const Step& next) const {
        return {next.factor * factor, next.factor * addend + next.addend};
    }
};

// `steps` of them in one.
inline Step jump(std::uint64_t steps) {
    Step result{1, 0};
    for (Step power; steps != 0; steps >>= 1, power = power.then(power))
        if ((steps & 1) != 0)
            result = result.then(power);
    return result;
}

// Each work item walks `steps` from the value that it finds.
__global__ void walk(const std::uint32_t* from, std::uint32_t* to, unsigned steps) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    std::uint32_t x = from[i];
    for (unsigned n = 0; n < steps; ++n)
        x = Step{}.of(x);
    to[i] = x;
}

} // namespace test
