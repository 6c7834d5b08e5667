// SPDX-License-Identifier: MIT
// Fields of the scalar encodings and the frame every scalar ALU operation shares.
#pragma once

#include "model/isa/encodings.hpp"
#include "model/isa/operands.hpp"

#include <array>
#include <bit>
#include <type_traits>

namespace vgpu::isa {

inline unsigned ssrc0(const Execution& e) {
    return e.word0 & 0xff;
}
inline unsigned ssrc1(const Execution& e) {
    return e.word0 >> 8 & 0xff;
}
inline unsigned sdst(const Execution& e) {
    return e.word0 >> 16 & 0x7f;
}

// Operations get SCC by reference: most set it, some read it, some leave it alone.
template <auto operation> void binary32(Execution& e) {
    const std::uint32_t a = read_scalar(e, ssrc0(e));
    const std::uint32_t b = read_scalar(e, ssrc1(e));
    const std::uint32_t result = operation(a, b, e.wave.scc);
    write_scalar(e, sdst(e), result);
}

template <auto operation> void binary64(Execution& e) {
    const std::uint64_t a = read_scalar64(e, ssrc0(e));
    const std::uint64_t b = read_scalar64(e, ssrc1(e));
    const std::uint64_t result = operation(a, b, e.wave.scc);
    write_scalar64(e, sdst(e), result);
}

// 64-bit value, 32-bit shift amount or field description.
template <auto operation> void binary64_32(Execution& e) {
    const std::uint64_t a = read_scalar64(e, ssrc0(e));
    const std::uint32_t b = read_scalar(e, ssrc1(e));
    const std::uint64_t result = operation(a, b, e.wave.scc);
    write_scalar64(e, sdst(e), result);
}

template <auto operation> void unary32(Execution& e) {
    const std::uint32_t a = read_scalar(e, ssrc0(e));
    const std::uint32_t result = operation(a, e.wave.scc);
    write_scalar(e, sdst(e), result);
}

template <auto operation> void unary64(Execution& e) {
    const std::uint64_t a = read_scalar64(e, ssrc0(e));
    const std::uint64_t result = operation(a, e.wave.scc);
    write_scalar64(e, sdst(e), result);
}

// 64-bit source, 32-bit result (counts and positions).
template <auto operation> void unary64_32(Execution& e) {
    const std::uint64_t a = read_scalar64(e, ssrc0(e));
    const std::uint32_t result = operation(a, e.wave.scc);
    write_scalar(e, sdst(e), result);
}

template <typename Table> void run_scalar(const Table& table, unsigned opcode, Execution& e) {
    if (opcode < table.size() && table[opcode] != nullptr) [[likely]] {
        table[opcode](e);
    } else {
        e.illegal("opcode not modelled");
    }
}

} // namespace vgpu::isa
