// SPDX-License-Identifier: MIT
// A sequence that a kernel walks one step a round, and whose n-th value the host computes at once.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdint>

constexpr std::uint32_t factor = 1664525, summand = 1013904223;

__host__ __device__ inline std::uint32_t step(std::uint32_t value) {
    return value * factor + summand;
}

// The value after so many steps, in strides: value -> value * a + b is one step, two, four, ...
inline std::uint32_t value_after(std::uint32_t value, std::uint32_t steps) {
    std::uint32_t a = factor, b = summand;
    for (; steps != 0; steps >>= 1) {
        if ((steps & 1U) != 0)
            value = value * a + b;
        b = b * a + b;
        a = a * a;
    }
    return value;
}
