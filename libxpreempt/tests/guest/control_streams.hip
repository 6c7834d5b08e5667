// SPDX-License-Identifier: MIT
// Two named streams that work until they are told to end, and say how far they are: for tests of
// the control socket from outside.   usage: control_streams DIRECTORY
//
// DIRECTORY/progress has "LOW HIGH", rounds of the one long kernel of low and kernels of high; a
// file DIRECTORY/stop ends both. Exits 0 when every value is right.
#include <xpreempt/xpreempt.h>

#include "../../examples/sequence.hpp"

#include <hip/hip_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

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

void must(hipError_t error, const char* call) {
    if (error == hipSuccess)
        return;
    std::fprintf(stderr, "control_streams: %s: %s\n", call, hipGetErrorString(error));
    std::exit(1);
}

void must(int error, const char* call) {
    if (error == 0)
        return;
    std::fprintf(stderr, "control_streams: %s: %s; %s\n", call, std::strerror(-error),
                 xp_last_detail());
    std::exit(1);
}

hipStream_t new_stream(const char* name) {
    void* stream = nullptr;
    must(xp_stream_create(&stream), "xp_stream_create");
    must(xp_stream_set_name(stream, name), "xp_stream_set_name");
    return static_cast<hipStream_t>(stream);
}

template <typename T> T* host_memory(std::size_t count) {
    void* memory = nullptr;
    must(hipHostMalloc(&memory, count * sizeof(T), 0), "hipHostMalloc");
    std::memset(memory, 0, count * sizeof(T));
    return static_cast<T*>(memory);
}

// Whole or not at all, for who reads it meanwhile.
void tell(const std::string& directory, std::uint32_t low, std::uint32_t high) {
    const std::string next = directory + "/progress.new", path = directory + "/progress";
    std::FILE* file = std::fopen(next.c_str(), "w");
    if (file == nullptr)
        std::exit(2);
    std::fprintf(file, "%u %u\n", low, high);
    std::fclose(file);
    if (std::rename(next.c_str(), path.c_str()) != 0)
        std::exit(2);
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr, "usage: control_streams DIRECTORY\n");
        return 2;
    }
    const std::string directory = argv[1], stop = directory + "/stop";
    hipStream_t low = new_stream("low"), high = new_stream("high");
    auto* shared = host_memory<Shared>(1);
    auto* low_words = host_memory<std::uint32_t>(lanes);
    auto* rounds = host_memory<std::uint32_t>(lanes);
    auto* high_words = host_memory<std::uint32_t>(lanes);
    for (unsigned i = 0; i < lanes; ++i)
        low_words[i] = high_words[i] = i * 2654435761U;
    walk<<<dim3(1), dim3(lanes), 0, low>>>(low_words, rounds, shared);
    must(hipGetLastError(), "walk");
    std::uint32_t kernels = 0;
    while (access(stop.c_str(), F_OK) != 0) {
        one_step<<<dim3(1), dim3(lanes), 0, high>>>(high_words);
        must(hipGetLastError(), "one_step");
        must(hipStreamSynchronize(high), "hipStreamSynchronize");
        tell(directory, __atomic_load_n(&shared->progress, __ATOMIC_RELAXED), ++kernels);
        usleep(20000);
    }
    __atomic_store_n(&shared->stop, 1, __ATOMIC_RELAXED);
    must(hipStreamSynchronize(low), "hipStreamSynchronize");
    int wrong = 0;
    for (unsigned i = 0; i < lanes; ++i) {
        const std::uint32_t before = i * 2654435761U;
        wrong += low_words[i] != value_after(before, rounds[i]) || rounds[i] == 0;
        wrong += high_words[i] != value_after(before, kernels);
    }
    std::printf("# low walked %u rounds, high ran %u kernels, %d values wrong\n", rounds[0],
                kernels, wrong);
    return wrong == 0 ? 0 : 1;
}
