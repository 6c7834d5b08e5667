// SPDX-License-Identifier: MIT
// Atomics of all memory instructions: their operations, read-modify-write of memory, and opcodes.
#pragma once

#include "model/isa/memory/vector_memory.hpp"
#include "model/isa/vector/half.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

namespace vgpu::isa {

inline float bfloat_to_float(std::uint32_t bits) {
    return std::bit_cast<float>(bits << 16);
}
// To nearest even; a NaN stays one.
inline std::uint32_t bfloat_from_float(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if (std::isnan(value)) {
        return bits >> 16 | 0x40;
    }
    return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// New memory value from old value and operand. `inc` and `dec` wrap at the operand.
namespace atomic {
inline constexpr auto swap = [](auto, auto data) { return data; };
inline constexpr auto add = [](auto old, auto data) { return old + data; };
inline constexpr auto sub = [](auto old, auto data) { return old - data; };
inline constexpr auto rsub = [](auto old, auto data) { return data - old; };
inline constexpr auto min = [](auto old, auto data) { return std::min(old, data); };
inline constexpr auto max = [](auto old, auto data) { return std::max(old, data); };
inline constexpr auto bit_and = [](auto old, auto data) { return old & data; };
inline constexpr auto bit_or = [](auto old, auto data) { return old | data; };
inline constexpr auto bit_xor = [](auto old, auto data) { return old ^ data; };
inline constexpr auto inc = [](auto old, auto data) {
    return old >= data ? decltype(old){0} : static_cast<decltype(old)>(old + 1);
};
inline constexpr auto dec = [](auto old, auto data) {
    return old == 0 || old > data ? data : static_cast<decltype(old)>(old - 1);
};

// Floats (MI300 ISA, "Atomic operations"): the number, when one of the two is none.
inline constexpr auto min_float = [](auto old, auto data) { return std::fmin(old, data); };
inline constexpr auto max_float = [](auto old, auto data) { return std::fmax(old, data); };

inline constexpr auto pk_add_f16 = [](std::uint32_t old, std::uint32_t data) {
    const auto half = [](std::uint32_t a, std::uint32_t b) {
        return half_from_double(half_to_double(a & 0xffff) + half_to_double(b & 0xffff),
                                Rounding::nearest_even);
    };
    return half(old, data) | half(old >> 16, data >> 16) << 16;
};
inline constexpr auto pk_add_bf16 = [](std::uint32_t old, std::uint32_t data) {
    const auto half = [](std::uint32_t a, std::uint32_t b) {
        return bfloat_from_float(bfloat_to_float(a & 0xffff) + bfloat_to_float(b & 0xffff));
    };
    return half(old, data) | half(old >> 16, data >> 16) << 16;
};
} // namespace atomic

// Read-modify-write of memory that the guest's CPUs may race with. Empty after a fault.
template <typename T, typename Function>
std::optional<T> atomic_update(Execution& e, std::uint64_t va, Function function) {
    std::byte* host =
        va % sizeof(T) != 0 ? nullptr : e.memory.at(e.wave.vmid, va, sizeof(T), Access::write);
    if (host == nullptr) {
        e.fault(va);
        return std::nullopt;
    }
    auto* target = reinterpret_cast<T*>(host);
    T old{};
    __atomic_load(target, &old, __ATOMIC_RELAXED);
    T desired = function(old);
    while (!__atomic_compare_exchange(target, &old, &desired, false, __ATOMIC_ACQ_REL,
                                      __ATOMIC_RELAXED)) {
        desired = function(old);
    }
    return old;
}

// The atomics that FLAT and MUBUF share.
// Encoding has an Instruction and read_modify_write<T>(e, i, function), which applies
// new = function(old, lane) where each lane's address leads.
template <typename Encoding> struct VectorAtomics {
    template <typename T, auto operation> static void update(Execution& e) {
        const typename Encoding::Instruction i(e);
        std::array<Words*, words_of<T>> from{};
        if (data_registers(e, i.vdata, i.acc, from)) {
            Encoding::template read_modify_write<T>(e, i, [&](T old, unsigned lane) -> T {
                return operation(old, lane_value<T>(from, 0, lane));
            });
        }
    }

    // VDATA holds the new value, then the value to compare with.
    template <typename T> static void compare_swap(Execution& e) {
        const typename Encoding::Instruction i(e);
        std::array<Words*, 2 * words_of<T>> from{};
        if (data_registers(e, i.vdata, i.acc, from)) {
            Encoding::template read_modify_write<T>(e, i, [&](T old, unsigned lane) -> T {
                const T expected = lane_value<T>(from, words_of<T>, lane);
                return old == expected ? lane_value<T>(from, 0, lane) : old;
            });
        }
    }
};

} // namespace vgpu::isa

// Thirteen entries of an opcode table. Atomics has update<T, operation> and compare_swap<T>; U and
// S are the unsigned and the signed type.
// clang-format off
#define VGPU_INTEGER_ATOMICS(Atomics, U, S, prefix, suffix, base)                                  \
    ScalarOp{(base) + 0, prefix "atomic_swap" suffix, Atomics::update<U, atomic::swap>},           \
    ScalarOp{(base) + 1, prefix "atomic_cmpswap" suffix, Atomics::compare_swap<U>},                \
    ScalarOp{(base) + 2, prefix "atomic_add" suffix, Atomics::update<U, atomic::add>},             \
    ScalarOp{(base) + 3, prefix "atomic_sub" suffix, Atomics::update<U, atomic::sub>},             \
    ScalarOp{(base) + 4, prefix "atomic_smin" suffix, Atomics::update<S, atomic::min>},            \
    ScalarOp{(base) + 5, prefix "atomic_umin" suffix, Atomics::update<U, atomic::min>},            \
    ScalarOp{(base) + 6, prefix "atomic_smax" suffix, Atomics::update<S, atomic::max>},            \
    ScalarOp{(base) + 7, prefix "atomic_umax" suffix, Atomics::update<U, atomic::max>},            \
    ScalarOp{(base) + 8, prefix "atomic_and" suffix, Atomics::update<U, atomic::bit_and>},         \
    ScalarOp{(base) + 9, prefix "atomic_or" suffix, Atomics::update<U, atomic::bit_or>},           \
    ScalarOp{(base) + 10, prefix "atomic_xor" suffix, Atomics::update<U, atomic::bit_xor>},        \
    ScalarOp{(base) + 11, prefix "atomic_inc" suffix, Atomics::update<U, atomic::inc>},            \
    ScalarOp{(base) + 12, prefix "atomic_dec" suffix, Atomics::update<U, atomic::dec>}
// clang-format on
