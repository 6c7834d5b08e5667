// SPDX-License-Identifier: MIT
// A long kernel in one stream and short ones in another, until they are told to end.
//
// DIRECTORY/progress has "LONG SHORT", rounds of the long kernel and number of short ones; a file
// DIRECTORY/stop ends both.
#pragma once

#include "../../examples/sequence.hpp"

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

namespace long_and_short {

constexpr unsigned lanes = 64, stride = 16;

struct Shared { // in host memory
    std::uint32_t stop;
    std::uint32_t progress;
};

__global__ void walk(std::uint32_t* words, std::uint32_t* rounds, Shared* shared) {
    std::uint32_t value = words[threadIdx.x], round = 0;
    while (__hip_atomic_load(&shared->stop, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
        for (unsigned i = 0; i < stride; ++i)
            value = step(value);
        round += stride;
        if (threadIdx.x == 0)
            __hip_atomic_store(&shared->progress, round, __ATOMIC_RELAXED,
                               __HIP_MEMORY_SCOPE_SYSTEM);
    }
    words[threadIdx.x] = value;
    rounds[threadIdx.x] = round;
}

__global__ void one_step(std::uint32_t* words) {
    words[threadIdx.x] = step(words[threadIdx.x]);
}

inline void must(hipError_t error, const char* call) {
    if (error == hipSuccess)
        return;
    std::fprintf(stderr, "%s: %s\n", call, hipGetErrorString(error));
    std::exit(1);
}

template <typename T> T* host_memory(std::size_t count) {
    void* memory = nullptr;
    must(hipHostMalloc(&memory, count * sizeof(T), 0), "hipHostMalloc");
    std::memset(memory, 0, count * sizeof(T));
    return static_cast<T*>(memory);
}

// Whole or not at all, for a reader meanwhile.
inline void report(const std::string& directory, std::uint32_t rounds, std::uint32_t kernels) {
    const std::string next = directory + "/progress.new", path = directory + "/progress";
    std::FILE* file = std::fopen(next.c_str(), "w");
    if (file == nullptr)
        std::exit(2);
    std::fprintf(file, "%u %u\n", rounds, kernels);
    std::fclose(file);
    if (std::rename(next.c_str(), path.c_str()) != 0)
        std::exit(2);
}

// Returns the exit status: 0 if every value is right.
inline int run(const std::string& directory, hipStream_t long_stream, hipStream_t short_stream) {
    const std::string stop = directory + "/stop";
    auto* shared = host_memory<Shared>(1);
    auto* long_words = host_memory<std::uint32_t>(lanes);
    auto* rounds = host_memory<std::uint32_t>(lanes);
    auto* short_words = host_memory<std::uint32_t>(lanes);
    for (unsigned i = 0; i < lanes; ++i)
        long_words[i] = short_words[i] = i * 2654435761U;
    walk<<<dim3(1), dim3(lanes), 0, long_stream>>>(long_words, rounds, shared);
    must(hipGetLastError(), "walk");
    std::uint32_t kernels = 0;
    while (access(stop.c_str(), F_OK) != 0) {
        one_step<<<dim3(1), dim3(lanes), 0, short_stream>>>(short_words);
        must(hipGetLastError(), "one_step");
        must(hipStreamSynchronize(short_stream), "hipStreamSynchronize");
        report(directory, __atomic_load_n(&shared->progress, __ATOMIC_RELAXED), ++kernels);
        usleep(20000);
    }
    __atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
    must(hipStreamSynchronize(long_stream), "hipStreamSynchronize");
    int wrong = 0;
    for (unsigned i = 0; i < lanes; ++i) {
        const std::uint32_t before = i * 2654435761U;
        wrong += long_words[i] != value_after(before, rounds[i]) || rounds[i] == 0;
        wrong += short_words[i] != value_after(before, kernels);
    }
    std::printf("# the long kernel walked %u rounds, %u short ones ran, %d values wrong\n",
                rounds[0], kernels, wrong);
    return wrong == 0 ? 0 : 1;
}

} // namespace long_and_short
