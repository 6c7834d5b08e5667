// SPDX-License-Identifier: MIT
// Vector instructions on random lanes against expected values that the test computes.
#pragma once

#include "tests/isa/snippets.hpp"

#include <functional>
#include <random>
#include <string>
#include <vector>

namespace vgpu::test {

// Inputs of one lane: v[4:5], v[6:7], v[8:9], and what v[2:3] held before.
struct LaneInputs {
    std::uint64_t a = 0;
    std::uint64_t b = 0;
    std::uint64_t c = 0;
    std::uint64_t old = 0;
};

// The instructions leave their result in v2, or with `wide` in v[2:3].
struct LaneCase {
    std::string text;
    std::function<std::uint64_t(const LaneInputs&)> expected;
};

using Operand = std::function<std::uint64_t(std::mt19937_64&)>;

// Bit patterns: uniformly random, mixed with what arithmetic stumbles over.
std::uint64_t random_half(std::mt19937_64& random); // two of them in 32 bits
std::uint64_t random_single(std::mt19937_64& random);
std::uint64_t random_double(std::mt19937_64& random);
std::uint64_t random_integer(std::mt19937_64& random);

struct LaneRun {
    isa::Isa isa = isa::Isa::gfx942;
    std::uint32_t mode = 0x2f0; // denormals in and out, IEEE, as HIP kernels run
    Operand operand = random_integer;
    bool wide = false;
    unsigned rounds = 8;
    // Equality of results: given by default, or that any NaN will do for another.
    std::function<bool(std::uint64_t, std::uint64_t)> same = std::equal_to<>();
};

// Some lanes are off: they must keep what they had.
void check_lanes(const std::vector<LaneCase>& cases, const LaneRun& run);

} // namespace vgpu::test
