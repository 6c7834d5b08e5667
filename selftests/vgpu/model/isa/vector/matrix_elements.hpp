// SPDX-License-Identifier: MIT
// Inputs of the matrix core, and the format in which it adds their products.
#pragma once

#include "model/isa/vector/float8.hpp"
#include "model/isa/vector/half.hpp"
#include "model/isa/vector/matrix_sum.hpp"

namespace vgpu::isa {

// How many bits each input has, what it becomes, and in what is accumulated.
struct F32 {
    using Value = float;
    using Sum = float;
    static constexpr unsigned bits = 32;
    static float decode(std::uint64_t raw) {
        return std::bit_cast<float>(static_cast<std::uint32_t>(raw));
    }
};
// Floats of which `step_depth` products are added in a step.
template <unsigned width, unsigned depth, Step kind = Step::of_all> struct AddedInSteps {
    using Value = Factor;
    using Sum = float;
    static constexpr unsigned bits = width;
    static constexpr unsigned step_depth = depth;
    static constexpr Step step = kind;
};
struct Xf32 : AddedInSteps<32, 4> {
    static Factor decode(std::uint64_t raw) {
        return factor(F32::decode(raw & ~0x1fffULL), lowest_float_exponent);
    }
};
struct F16 : AddedInSteps<16, 8> {
    static Factor decode(std::uint64_t raw) {
        return factor(static_cast<float>(half_to_double(static_cast<std::uint32_t>(raw))), -14);
    }
};
struct Bf16 : AddedInSteps<16, 8> {
    static Factor decode(std::uint64_t raw) {
        return factor(F32::decode(raw << 16), lowest_float_exponent);
    }
};
struct F64 {
    using Value = double;
    using Sum = double;
    static constexpr unsigned bits = 64;
    static double decode(std::uint64_t raw) { return std::bit_cast<double>(raw); }
};
struct I8 {
    using Value = std::int32_t;
    using Sum = std::int32_t;
    static constexpr unsigned bits = 8;
    static std::int32_t decode(std::uint64_t raw) { return static_cast<std::int8_t>(raw); }
};

template <unsigned mantissa_bits> struct Float8 : AddedInSteps<8, 16, Step::of_even_and_odd> {
    static Factor decode(std::uint64_t raw) {
        return factor(decode8<mantissa_bits>(static_cast<std::uint32_t>(raw & 0xff)),
                      mantissa_bits == 3 ? -7 : -15);
    }
};
using Fp8 = Float8<3>;
using Bf8 = Float8<2>;

template <typename Type>
concept AddsInSteps = requires { Type::step_depth; };

// Floats that older GPUs add in pairs, `products` of them each time.
template <unsigned products, Denormals kind> struct AddedInPairs {
    using Value = float;
    using Sum = float;
    static constexpr unsigned bits = 16;
    static constexpr unsigned group = products;
    static constexpr Denormals denormals = kind;
};
template <Denormals denormals> struct PairedF16 : AddedInPairs<4, denormals> {
    static float decode(std::uint64_t raw) {
        const bool denormal = (raw & half_bits::infinity) == 0;
        return denormals == Denormals::flushed && denormal
                   ? 0
                   : static_cast<float>(half_to_double(static_cast<std::uint32_t>(raw)));
    }
};
template <unsigned products, Denormals denormals>
struct PairedBf16 : AddedInPairs<products, denormals> {
    static float decode(std::uint64_t raw) {
        return unsigned_zero<denormals>(F32::decode(raw << 16));
    }
};

template <typename Type>
concept AddsInPairs = requires { Type::group; };

} // namespace vgpu::isa
