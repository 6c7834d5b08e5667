// SPDX-License-Identifier: MIT
// Sum and maximum of each workgroup through LDS, barriers and shuffles between lanes.
#include "check.hpp"

namespace {

constexpr unsigned group_size = 256;
constexpr unsigned groups = 96;
constexpr unsigned passes =
    40; // each over the whole LDS array, so that a stop falls between barriers

struct Result {
    std::uint64_t sum;
    std::uint32_t maximum;
    std::uint32_t lane_xor;
};

__global__ void reduce(const std::uint32_t* in, Result* out) {
    __shared__ std::uint32_t tile[group_size];
    __shared__ std::uint64_t partial[group_size];
    const unsigned t = threadIdx.x;
    tile[t] = in[blockIdx.x * group_size + t];
    __syncthreads();

    for (unsigned pass = 0; pass < passes; ++pass) {
        const std::uint32_t mixed = tile[(t * 7 + pass) % group_size] + tile[group_size - 1 - t];
        __syncthreads();
        tile[t] = test::scramble(mixed + pass);
        __syncthreads();
    }

    partial[t] = tile[t];
    __syncthreads();
    for (unsigned stride = group_size / 2; stride > 0; stride /= 2) {
        if (t < stride)
            partial[t] += partial[t + stride];
        __syncthreads();
    }

    // Within the first wave: each lane takes every 64th element, then lanes are folded.
    if (t < 64) {
        std::uint32_t maximum = 0;
        std::uint32_t folded = 0;
        for (unsigned i = t; i < group_size; i += 64) {
            maximum = maximum > tile[i] ? maximum : tile[i];
            folded ^= tile[i];
        }
        for (int offset = 32; offset > 0; offset /= 2) {
            const std::uint32_t other = __shfl_down(maximum, static_cast<unsigned>(offset));
            maximum = maximum > other ? maximum : other;
            folded ^= __shfl_xor(folded, offset);
        }
        if (t == 0)
            out[blockIdx.x] = {partial[0], maximum, folded};
    }
}

std::vector<Result> expected(const std::vector<std::uint32_t>& in) {
    std::vector<Result> want;
    for (unsigned group = 0; group < groups; ++group) {
        std::vector<std::uint32_t> tile(in.begin() + group * group_size,
                                        in.begin() + (group + 1) * group_size);
        for (unsigned pass = 0; pass < passes; ++pass) {
            std::vector<std::uint32_t> next(group_size);
            for (unsigned t = 0; t < group_size; ++t)
                next[t] = test::scramble(tile[(t * 7 + pass) % group_size] +
                                         tile[group_size - 1 - t] + pass);
            tile = next;
        }
        Result result{0, 0, 0};
        for (const std::uint32_t value : tile) {
            result.sum += value;
            result.maximum = value > result.maximum ? value : result.maximum;
            result.lane_xor ^= value;
        }
        want.push_back(result);
    }
    return want;
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("reduce", argc, argv, 10);
    std::vector<std::uint32_t> in(groups * group_size);
    for (unsigned i = 0; i < in.size(); ++i)
        in[i] = test::scramble(i + 1);
    const std::vector<Result> want = expected(in);

    const test::DeviceArray<std::uint32_t> input(in);
    test::DeviceArray<Result> output(groups);
    test::Digest digest;
    digest.add(want);
    while (rounds.next()) {
        output.clear();
        reduce<<<groups, group_size>>>(input.get(), output.get());
        LAUNCH_MUST();
        test::must_equal("reduction of a workgroup", output.to_host(), want);
    }
    return test::passed(rounds, digest, std::to_string(groups) + " workgroups");
}
