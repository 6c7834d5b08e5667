// SPDX-License-Identifier: MIT
// Random numbers that are the same for a seed everywhere, unlike the library's distributions.
#pragma once

#include <cstdint>

namespace storm {

struct Range {
    std::uint64_t from;
    std::uint64_t to; // inclusive
};

// SplitMix64.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        std::uint64_t z = state_ += 0x9e3779b97f4a7c15ull;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    std::uint64_t below(std::uint64_t bound) { return next() % bound; }
    std::uint64_t in(Range range) { return range.from + below(range.to - range.from + 1); }

private:
    std::uint64_t state_;
};

} // namespace storm
