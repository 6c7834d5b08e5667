// SPDX-License-Identifier: MIT
// Managed memory: CPU and GPU take turns on the same pointer, with no copy between.
#include "check.hpp"

namespace {

constexpr unsigned count = 64 * 1024;
constexpr unsigned turns = 6;

__host__ __device__ std::uint32_t next(std::uint32_t value, unsigned turn) {
    for (unsigned step = 0; step < 50; ++step)
        value = test::scramble(value + turn);
    return value;
}

__global__ void take_turn(std::uint32_t* values, unsigned turn) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    values[i] = next(values[i], turn);
}

std::vector<std::uint32_t> expected() {
    std::vector<std::uint32_t> values(count);
    for (unsigned i = 0; i < count; ++i) {
        values[i] = i;
        for (unsigned turn = 0; turn < turns; ++turn)
            values[i] = next(values[i], turn);
    }
    return values;
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("managed", argc, argv, 2);
    const std::vector<std::uint32_t> want = expected();
    std::uint32_t* values = nullptr;
    HIP_MUST(hipMallocManaged(reinterpret_cast<void**>(&values), count * sizeof(*values)));
    test::Digest digest;
    digest.add(want);
    while (rounds.next()) {
        for (unsigned i = 0; i < count; ++i)
            values[i] = i;
        for (unsigned turn = 0; turn < turns; ++turn) {
            if (turn % 2 == 0) {
                take_turn<<<count / 256, 256>>>(values, turn);
                LAUNCH_MUST();
                HIP_MUST(hipDeviceSynchronize());
            } else {
                for (unsigned i = 0; i < count; ++i)
                    values[i] = next(values[i], turn);
            }
        }
        test::must_equal("value after turns of CPU and GPU",
                         std::vector<std::uint32_t>(values, values + count), want);
    }
    HIP_MUST(hipFree(values));
    return test::passed(rounds, digest, "3 turns of the GPU and 3 of the CPU");
}
