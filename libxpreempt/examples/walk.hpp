// SPDX-License-Identifier: MIT
// A kernel that works until it is told to end, and whose result the host can compute.
#pragma once

#include "sequence.hpp"

#include <hip/hip_runtime.h>

#include <cstdint>

constexpr std::uint32_t lanes = 64;

// In memory that both see while the kernel runs (hipHostMallocCoherent).
struct Walk {
    std::uint32_t rounds; // of lane 0, so far
    std::uint32_t end;    // 1: no more
    struct {
        std::uint32_t value, rounds;
    } lane[lanes]; // how far each got
};

// One workgroup; each lane walks a sequence of its own.
__device__ inline void walk_lane(Walk* shared) {
    std::uint32_t value = threadIdx.x, rounds = 0;
    do {
        value = step(value);
        ++rounds;
        if (threadIdx.x == 0)
            __hip_atomic_store(&shared->rounds, rounds, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    } while (__hip_atomic_load(&shared->end, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) == 0);
    shared->lane[threadIdx.x] = {value, rounds};
}

__global__ void walk(Walk* shared) {
    walk_lane(shared);
}

inline std::uint32_t rounds_of(const Walk& shared) {
    return __atomic_load_n(&shared.rounds, __ATOMIC_RELAXED);
}

// After the kernel: has each lane made all its rounds, each once?
inline bool is_right(const Walk& shared) {
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const auto& [value, rounds] = shared.lane[lane];
        if (rounds == 0 || value != value_after(lane, rounds))
            return false;
    }
    return true;
}
