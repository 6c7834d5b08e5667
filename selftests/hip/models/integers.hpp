// SPDX-License-Identifier: MIT
// The arithmetic of the models, for host and GPU: exact, and without an order of its sums.
#pragma once

#include "../check.hpp"
#include "layers.hpp"

namespace models {

constexpr int most = 15; // of an activation

__host__ __device__ inline int clamped(int value, int least, int greatest) {
    return value < least ? least : value > greatest ? greatest : value;
}

// Rounded down, for a divisor from 1 on.
__host__ __device__ inline int divided(int value, int divisor) {
    const int quotient = value / divisor;
    return quotient * divisor > value ? quotient - 1 : quotient;
}

// By so many bits a sum of products is shifted to be as large as its factors: it grows with the
// root of their number.
__host__ __device__ inline int bits_of(int addends) {
    int bits = 1;
    while (1 << (2 * (bits - 1)) < addends)
        ++bits;
    return bits;
}

// The scale of a channel is 1 to 3.
__host__ __device__ inline int scale_of(int weight) {
    return 1 + (weight + 3) % 3;
}
__host__ __device__ inline int normed(int sum, int scale, int bias, int addends) {
    return clamped((sum * scale + 8 * bias) >> bits_of(addends), -most, most);
}

// Mean deviations of a position, from 1 on.
__host__ __device__ inline int layer_normed(int value, int mean, int deviation) {
    return clamped(divided((value - mean) * 4, deviation), -most, most);
}

// The weight of a score in a softmax to the base 2: 64 for the greatest, 1 for those far below.
__host__ __device__ inline int softmax_weight(int score, int greatest) {
    const int below = greatest - score;
    return 64 >> (below > 6 ? 6 : below);
}

// The gates of an LSTM, piecewise linear: from 0 to 8, and from -8 to 8.
__host__ __device__ inline int sigmoid(int sum, int bits) {
    return clamped((sum >> bits) + 4, 0, 8);
}
__host__ __device__ inline int tangent(int sum, int bits) {
    return clamped(sum >> bits, -8, 8);
}

struct Cell {
    int cell;
    int hidden;
};
__host__ __device__ inline Cell stepped(int in, int forget, int candidate, int out, int before,
                                        int bits) {
    const int cell =
        (sigmoid(forget, bits) * before + sigmoid(in, bits) * tangent(candidate, bits)) >> 3;
    return {cell, (sigmoid(out, bits) * clamped(cell, -8, 8)) >> 3};
}

// A result's share in the sum that folds a layer: any other value changes the sum.
__host__ __device__ inline unsigned long long folded(int index, std::uint32_t bits) {
    return static_cast<unsigned long long>(test::scramble(static_cast<std::uint32_t>(index)) | 1) *
           bits;
}

inline int weight_of(std::uint32_t parameter, std::uint32_t index) {
    return static_cast<int>(test::scramble(parameter * 0x9e3779b9u + index) % 7) - 3;
}

// An element of a batch of the data set: a number or a token.
inline int input_of(std::uint32_t batch, std::uint32_t index, int tokens) {
    const std::uint32_t random = test::scramble(batch * 0x85ebca6bu + index + 1);
    return tokens > 0 ? static_cast<int>(random % static_cast<std::uint32_t>(tokens))
                      : static_cast<int>(random % 15) - 7;
}

} // namespace models
