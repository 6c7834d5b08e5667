// SPDX-License-Identifier: MIT
#include "tests/isa/matrices.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace vgpu::test {

namespace {

// A normal number, or 0, as sign, exponent with the bias 8 or 16, and 3 or 2 bits of fraction.
std::uint64_t encoded8(double value, int bias, int fraction_bits) {
    if (value == 0) {
        return 0;
    }
    const int exponent = std::ilogb(value);
    const int significand =
        static_cast<int>(std::ldexp(std::fabs(value), fraction_bits - exponent));
    return static_cast<std::uint64_t>((value < 0 ? 0x80 : 0) | (exponent + bias) << fraction_bits |
                                      (significand - (1 << fraction_bits)));
}

} // namespace

Element input_element(const Matrix& m, unsigned lane, unsigned j) {
    const unsigned group = lane / m.size;
    return {lane % m.size, group / m.blocks * m.inputs() + j, group % m.blocks};
}

Element sum_element(const Matrix& m, unsigned lane, unsigned r) {
    const unsigned column = lane % m.size;
    if (m.kind == Matrix::f64) {
        return m.size == 16 ? Element{lane / 16 + 4 * r, column, 0}
                            : Element{lane / 16, column, lane / 4 % 4};
    }
    switch (m.size) {
    case 32: return {8 * (r % 16 / 4) + 4 * (lane / 32) + r % 4, column, r / 16};
    case 16: return {4 * (lane / 16) + r % 4, column, r / 4};
    default: return {r, column, lane / 4};
    }
}

std::uint64_t encoded(Matrix::Kind kind, double value) {
    const auto single = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    switch (kind) {
    case Matrix::fp8: return encoded8(value, 8, 3);
    case Matrix::bf8: return encoded8(value, 16, 2);
    case Matrix::f64: return std::bit_cast<std::uint64_t>(value);
    case Matrix::f32:
    case Matrix::xf32: return single;
    case Matrix::bf16: return single >> 16;
    case Matrix::i8: return static_cast<std::uint8_t>(static_cast<int>(value));
    case Matrix::f16: break;
    }
    const auto half = static_cast<_Float16>(value);
    std::uint16_t raw = 0;
    std::memcpy(&raw, &half, sizeof raw);
    return raw;
}

std::uint64_t encoded_sum(const Matrix& m, int value) {
    return m.kind == Matrix::i8    ? static_cast<std::uint32_t>(value)
           : m.kind == Matrix::f64 ? std::bit_cast<std::uint64_t>(static_cast<double>(value))
                                   : std::bit_cast<std::uint32_t>(static_cast<float>(value));
}

void put(isa::WaveState& wave, unsigned first, unsigned lane, unsigned index, unsigned bits,
         std::uint64_t value) {
    if (bits == 64) {
        wave.vgpr[first + 2 * index].lane[lane] = static_cast<std::uint32_t>(value);
        wave.vgpr[first + 2 * index + 1].lane[lane] = static_cast<std::uint32_t>(value >> 32);
        return;
    }
    std::uint32_t& word = wave.vgpr[first + index * bits / 32].lane[lane];
    const unsigned shift = index * bits % 32;
    const std::uint32_t mask = (bits == 32 ? ~0U : (1U << bits) - 1) << shift;
    word = (word & ~mask) | static_cast<std::uint32_t>(value) << shift;
}

std::uint64_t sum_of(const Matrix& m, const isa::WaveState& wave, unsigned lane, unsigned r) {
    const unsigned first = wave.arch_vgprs + (m.kind == Matrix::f64 ? 2 * r : r);
    std::uint64_t value = wave.vgpr[first].lane[lane];
    if (m.kind == Matrix::f64) {
        value |= static_cast<std::uint64_t>(wave.vgpr[first + 1].lane[lane]) << 32;
    }
    return value;
}

std::string registers(char file, unsigned first, unsigned words) {
    const std::string from = std::to_string(first);
    return words == 1
               ? file + from
               : std::string(1, file) + "[" + from + ":" + std::to_string(first + words - 1) + "]";
}

} // namespace vgpu::test
