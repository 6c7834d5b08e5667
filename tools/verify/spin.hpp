// SPDX-License-Identifier: MIT
// The kernels of spin.s: what each of their launchers has to know of them.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

namespace verify::spin {

constexpr std::uint16_t group_size = 1024; // work items of a workgroup
constexpr std::uint32_t group_waves = group_size / 64;
constexpr unsigned kernels_of_request = 4; // one after the other: a request of the high program

struct Shape {
    std::uint32_t workgroups;
    std::uint32_t iterations; // of each wave
    std::uint32_t rounds;     // of arithmetic in an iteration
};

struct Arguments {
    std::uint64_t words; // address of one word of each wave, where it counts its iterations
    std::uint32_t iterations, rounds;
};

constexpr std::size_t waves_of(const Shape& shape) {
    return std::size_t{shape.workgroups} * group_waves;
}

// Iterations of all waves of one kernel.
constexpr std::uint64_t iterations_of(const Shape& shape) {
    return waves_of(shape) * std::uint64_t{shape.iterations};
}

// A shape whose kernels run for `wanted` ns, if one of `measured` with that many workgroups runs
// for `took`. At most as many rounds in an iteration, so that a wave counts as often.
constexpr Shape scaled(const Shape& measured, std::uint64_t took, std::uint64_t wanted) {
    const std::uint64_t rounds = std::uint64_t{measured.iterations} * measured.rounds;
    const std::uint64_t all =
        std::max(rounds * wanted / std::max(took, std::uint64_t{1}), std::uint64_t{1});
    const std::uint64_t iterations = (all + measured.rounds - 1) / measured.rounds;
    return {measured.workgroups, static_cast<std::uint32_t>(iterations),
            static_cast<std::uint32_t>(all / iterations)};
}

// Iterations of all waves of all kernels that have run, while waves count.
inline std::uint64_t sum_of(std::span<std::uint32_t> words) {
    return std::accumulate(
        words.begin(), words.end(), std::uint64_t{0},
        [](std::uint64_t sum, std::uint32_t& word) { return sum + std::atomic_ref(word).load(); });
}

} // namespace verify::spin
