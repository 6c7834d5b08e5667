// SPDX-License-Identifier: MIT
// A private array too big for registers, indexed by data: spills to scratch. Also built at -O0.
#include "check.hpp"

namespace {

constexpr unsigned group_size = 128;
constexpr unsigned groups = 12;
constexpr unsigned items = group_size * groups;
constexpr unsigned words = 300;
#ifdef __OPTIMIZE__
constexpr unsigned swaps = 600;
constexpr const char* name = "scratch";
#else
constexpr unsigned swaps = 150;
constexpr const char* name = "scratch_O0";
#endif

// Shuffles a deck by swaps that depend on the deck itself, then reads it in its own order.
__host__ __device__ std::uint32_t shuffle(std::uint32_t seed) {
    std::uint32_t deck[words];
    for (unsigned i = 0; i < words; ++i)
        deck[i] = i * 0x9e3779b9u + seed;
    std::uint32_t x = seed;
    for (unsigned i = 0; i < swaps; ++i) {
        x = test::scramble(x + deck[x % words]);
        const unsigned a = x % words;
        const unsigned b = (x >> 16) % words;
        const std::uint32_t kept = deck[a];
        deck[a] = deck[b] + i;
        deck[b] = kept;
    }
    std::uint32_t sum = 0;
    for (unsigned i = 0; i < words; ++i)
        sum = sum * 31 + deck[(deck[i] ^ x) % words];
    return sum;
}

__global__ void shuffle_all(const std::uint32_t* seeds, std::uint32_t* sums) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    sums[i] = shuffle(seeds[i]);
}

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds(name, argc, argv, 4);
    std::vector<std::uint32_t> seeds(items);
    std::vector<std::uint32_t> want(items);
    for (unsigned i = 0; i < items; ++i) {
        seeds[i] = test::scramble(i * 3 + 1);
        want[i] = shuffle(seeds[i]);
    }
    const test::DeviceArray<std::uint32_t> input(seeds);
    test::DeviceArray<std::uint32_t> sums(items);
    test::Digest digest;
    digest.add(want);
    while (rounds.next()) {
        sums.clear();
        shuffle_all<<<groups, group_size>>>(input.get(), sums.get());
        LAUNCH_MUST();
        test::must_equal("sum over a private array", sums.to_host(), want);
    }
    return test::passed(rounds, digest, std::to_string(items) + " private arrays");
}
