// SPDX-License-Identifier: MIT
// The atomics that FLAT and MUBUF share, and the opcodes that all integer atomics share.
#pragma once

#include "model/isa/memory/vector_memory.hpp"

namespace vgpu::isa {

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
