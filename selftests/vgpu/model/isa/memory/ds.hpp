// SPDX-License-Identifier: MIT
// The fields of a DS instruction, and the families of its opcodes.
#pragma once

#include "model/isa/memory/vector_memory.hpp"

namespace vgpu::isa {

struct DsInstruction {
    explicit DsInstruction(const Execution& e)
        : acc((e.word0 >> 25 & 1) != 0), offset(e.word0 & 0xffff), offset0(e.word0 & 0xff),
          offset1(e.word0 >> 8 & 0xff), address(e.word1 & 0xff), data0(e.word1 >> 8 & 0xff),
          data1(e.word1 >> 16 & 0xff), vdst(e.word1 >> 24) {}

    bool acc;
    // One 16-bit offset, or two of 8 bits in units of an element (st64: of 64 elements).
    std::uint32_t offset;
    std::uint32_t offset0;
    std::uint32_t offset1;
    unsigned address;
    unsigned data0;
    unsigned data1;
    unsigned vdst;
};

// 32 bits wide: compilers count on a negative base with a positive offset.
inline std::uint32_t ds_address(std::uint32_t base, std::uint32_t offset) {
    return base + offset;
}

// Entries of the merged DS table.
std::span<const ScalarOp> ds_load_store_ops();
std::span<const ScalarOp> ds_lane_ops(); // between lanes
std::span<const ScalarOp> ds_atomic_ops();
// Those that have the GDS bit: GC 9.4.3 has no GDS memory, only global wave sync.
std::span<const ScalarOp> ds_gws_ops();

} // namespace vgpu::isa
