// SPDX-License-Identifier: MIT
// CPU and GPU add to the same word in host memory, each with its own atomic instruction: no addition
// of either is lost.
#include "check.hpp"

#include <numeric>

namespace {

constexpr unsigned lanes = 64;
constexpr unsigned additions = 100000; // of the CPU, all while the kernel adds

struct Shared {
    std::uint32_t sum;
    std::uint32_t begun; // by the kernel
    std::uint32_t done;  // by the CPU
    std::uint32_t counts[lanes];
};

__global__ void add(Shared* shared) {
    std::uint32_t count = 0;
    __hip_atomic_store(&shared->begun, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    while (__hip_atomic_load(&shared->done, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
        __hip_atomic_fetch_add(&shared->sum, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
        ++count;
    }
    shared->counts[threadIdx.x] = count;
}

void add_beside(Shared& shared) {
    while (__atomic_load_n(&shared.begun, __ATOMIC_RELAXED) == 0) {
    }
    for (unsigned i = 0; i < additions; ++i)
        __atomic_fetch_add(&shared.sum, 1, __ATOMIC_RELAXED);
    __atomic_store_n(&shared.done, 1, __ATOMIC_RELAXED);
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("tally", argc, argv, 10);
    void* memory = nullptr;
    HIP_MUST(hipHostMalloc(&memory, sizeof(Shared), hipHostMallocCoherent));
    auto* shared = static_cast<Shared*>(memory);
    test::Digest digest;
    digest.add(std::vector<std::uint32_t>{additions});
    while (rounds.next()) {
        *shared = {};
        add<<<1, lanes>>>(shared);
        LAUNCH_MUST();
        add_beside(*shared);
        HIP_MUST(hipDeviceSynchronize());
        const auto ours = std::accumulate(shared->counts, shared->counts + lanes, additions);
        test::must_equal<std::uint32_t>("sum of all additions", {shared->sum}, {ours});
    }
    HIP_MUST(hipHostFree(memory));
    return test::passed(rounds, digest, std::to_string(additions) + " additions of the CPU");
}
