// SPDX-License-Identifier: MIT
// The fields of an SMEM instruction, and the families of its opcodes.
#pragma once

#include "model/isa/scalar/scalar_alu.hpp"

namespace vgpu::isa {

inline unsigned smem_data(const Execution& e) {
    return e.word0 >> 6 & 0x7f;
}
inline unsigned smem_base(const Execution& e) {
    return (e.word0 & 0x3f) * 2;
}
std::uint64_t smem_offset(Execution& e);
// SBASE + offset. The two low bits are ignored.
std::uint64_t smem_address(Execution& e);

// Entries of the merged SMEM table.
std::span<const ScalarOp> smem_load_store_ops();
std::span<const ScalarOp> smem_atomic_ops();

} // namespace vgpu::isa
