// SPDX-License-Identifier: MIT
// Waves whose registers a debugger can tell: each lane knows what it has in v40, a7 and LDS, each
// wave what it has in s40. They wait until a line comes on stdin, and store v40, which the debugger
// may have changed. usage: registers WORKGROUPS
#include "../check.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr unsigned threads = 128;

#ifdef __gfx942__
#define FROM_MEMORY "sc0 sc1"
#else
#define FROM_MEMORY "glc"
#endif

__global__ void wait(const std::uint32_t* go, std::uint32_t* running, std::uint32_t* out) {
    __shared__ std::uint32_t lds[threads];
    const std::uint32_t id = blockIdx.x * threads + threadIdx.x;
    lds[threadIdx.x] = 0x1d50'0000 | id;
    __syncthreads();
    if (threadIdx.x % 64 == 0) {
        __hip_atomic_fetch_add(running, 1, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    }
    std::uint32_t left = 0;
    asm volatile("v_add_u32 v40, 0x5a000000, %1\n"
                 "s_mov_b32 s40, 0x600d0000\n"
                 "v_accvgpr_write_b32 a7, v40\n"
                 "1: global_load_dword v41, %2, off " FROM_MEMORY "\n"
                 "s_waitcnt vmcnt(0)\n"
                 "v_readfirstlane_b32 s41, v41\n"
                 "s_cmp_eq_u32 s41, 0\n"
                 "s_cbranch_scc1 1b\n"
                 "v_mov_b32 %0, v40\n"
                 : "=v"(left)
                 : "v"(id), "v"(go)
                 : "v40", "v41", "a7", "s40", "s41", "scc", "memory");
    out[id] = left | (lds[threadIdx.x] == (0x1d50'0000 | id) ? 0 : 0x8000'0000);
}

} // namespace

int main(int, char** arguments) {
    const unsigned groups = static_cast<unsigned>(std::atoi(arguments[1]));
    std::uint32_t *go = nullptr, *out = nullptr;
    HIP_MUST(hipHostMalloc(reinterpret_cast<void**>(&go), 64, hipHostMallocCoherent));
    HIP_MUST(hipHostMalloc(reinterpret_cast<void**>(&out), groups * threads * 4));
    std::uint32_t* running = go + 1;
    *go = *running = 0;
    wait<<<groups, threads>>>(go, running, out);
    while (__atomic_load_n(running, __ATOMIC_ACQUIRE) != groups * threads / 64) {
    }
    std::puts("ready");
    std::fflush(stdout);
    for (int got = 0; got != '\n' && got != EOF;) {
        got = std::getchar();
    }
    __atomic_store_n(go, 1, __ATOMIC_RELEASE);
    HIP_MUST(hipDeviceSynchronize());
    for (unsigned id = 0; id < groups * threads; ++id) {
        if (out[id] != 0x5a00'0000 + id) {
            std::printf("lane %u has %08x\n", id, out[id]);
        }
    }
    std::puts("end");
    return 0;
}
