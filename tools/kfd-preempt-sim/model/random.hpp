// SPDX-License-Identifier: MIT
// Random numbers and distributions that are the same with every standard library.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace sim {

// xoshiro256**, seeded by splitmix64.
class Random {
public:
    explicit Random(std::uint64_t seed) {
        for (std::uint64_t& word : state_)
            word = mix(seed += 0x9e3779b97f4a7c15U);
    }
    // A stream of its own for each name, so that a job draws the same numbers in every run.
    Random(std::uint64_t seed, std::string_view name) : Random(seed ^ hash(name)) {}

    std::uint64_t next() {
        const std::uint64_t result = rotate(state_[1] * 5, 7) * 9, shifted = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= shifted;
        state_[3] = rotate(state_[3], 45);
        return result;
    }
    // In (0, 1): a logarithm of it is finite.
    double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1p-53; }
    double exponential(double mean) { return -mean * std::log(uniform()); }
    double normal() {
        return std::sqrt(-2 * std::log(uniform())) * std::cos(2 * std::numbers::pi * uniform());
    }
    double lognormal(double median, double sigma) { return median * std::exp(sigma * normal()); }
    // Marsaglia and Tsang, ACM TOMS 26 (2000).
    double gamma(double shape, double mean) {
        if (shape < 1) // the sequence of both draws must not depend on the compiler
        {
            const double base = gamma(shape + 1, 1) * (shape + 1);
            return mean / shape * base * std::pow(uniform(), 1 / shape);
        }
        const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
        for (;;) {
            const double x = normal(), root = 1 + c * x;
            if (root <= 0)
                continue;
            const double v = root * root * root;
            if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v))
                return mean / shape * d * v;
        }
    }

private:
    static std::uint64_t rotate(std::uint64_t word, int by) {
        return word << by | word >> (64 - by);
    }
    static std::uint64_t mix(std::uint64_t word) {
        word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9U;
        word = (word ^ word >> 27) * 0x94d049bb133111ebU;
        return word ^ word >> 31;
    }
    static std::uint64_t hash(std::string_view name) { // FNV-1a
        std::uint64_t hash = 0xcbf29ce484222325U;
        for (const char c : name)
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
        return hash;
    }

    std::array<std::uint64_t, 4> state_{};
};

} // namespace sim
