// SPDX-License-Identifier: MIT
// A cooperative launch: workgroups that wait for each other in the middle of the kernel, which is
// right only when all of them are on the GPU, before a stop and after it.
#include "check.hpp"

#include <hip/hip_cooperative_groups.h>

namespace {

constexpr unsigned groups = 32;
constexpr unsigned lanes = 128;
constexpr unsigned count = groups * lanes;
constexpr unsigned steps = 40;

// Each step takes values that other workgroups wrote in the step before.
__global__ void step_together(std::uint32_t* from, std::uint32_t* to) {
    const auto grid = cooperative_groups::this_grid();
    const unsigned i = blockIdx.x * lanes + threadIdx.x;
    for (unsigned step = 0; step < steps; ++step) {
        const std::uint32_t far = from[(i + lanes * (step + 1)) % count];
        to[i] = test::scramble(from[i] + far + step);
        grid.sync();
        std::uint32_t* const swap = from;
        from = to;
        to = swap;
    }
}

std::vector<std::uint32_t> expected(std::vector<std::uint32_t> from) {
    std::vector<std::uint32_t> to(count);
    for (unsigned step = 0; step < steps; ++step) {
        for (unsigned i = 0; i < count; ++i)
            to[i] = test::scramble(from[i] + from[(i + lanes * (step + 1)) % count] + step);
        from.swap(to);
    }
    return from;
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("cooperative", argc, argv, 2);
    std::vector<std::uint32_t> begin(count);
    for (unsigned i = 0; i < count; ++i)
        begin[i] = test::scramble(i);
    const std::vector<std::uint32_t> want = expected(begin);
    test::DeviceArray<std::uint32_t> values(count);
    test::DeviceArray<std::uint32_t> others(count);
    test::Digest digest;
    digest.add(want);
    while (rounds.next()) {
        values.copy_from(begin);
        std::uint32_t* from = values.get();
        std::uint32_t* to = others.get();
        void* arguments[] = {&from, &to};
        HIP_MUST(hipLaunchCooperativeKernel(reinterpret_cast<void*>(step_together), dim3(groups),
                                            dim3(lanes), arguments, 0, nullptr));
        HIP_MUST(hipDeviceSynchronize());
        test::must_equal("value after steps together", values.to_host(), want);
    }
    return test::passed(rounds, digest, "32 workgroups, 40 steps together");
}
