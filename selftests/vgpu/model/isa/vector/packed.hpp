// SPDX-License-Identifier: MIT
// VOP3P: its fields, and sources of which the low and the high result each take a half.
#pragma once

#include "model/isa/op_table.hpp"
#include "model/isa/vector/float_lanes.hpp"

namespace vgpu::isa {

struct PackedInstruction {
    explicit PackedInstruction(const Execution& e)
        : vdst(e.word0 & 0xff), src{e.word1 & 0x1ff, e.word1 >> 9 & 0x1ff, e.word1 >> 18 & 0x1ff},
          op_sel(e.word0 >> 11 & 7), op_sel_hi((e.word1 >> 27 & 3) | (e.word0 >> 14 & 1) << 2),
          neg_lo(e.word1 >> 29), neg_hi(e.word0 >> 8 & 7), clamp((e.word0 >> 15 & 1) != 0) {}

    unsigned vdst;
    std::array<unsigned, 3> src;
    unsigned op_sel;    // bit per source: the low result takes its upper half
    unsigned op_sel_hi; // the same for the high result
    unsigned neg_lo;
    unsigned neg_hi;
    bool clamp;

    // Whether the low or the high result takes the source's upper half, and negates it.
    bool upper(bool high, unsigned slot) const {
        return ((high ? op_sel_hi : op_sel) >> slot & 1) != 0;
    }
    bool negated(bool high, unsigned slot) const {
        return ((high ? neg_hi : neg_lo) >> slot & 1) != 0;
    }
};

// A source whose constants are half precision; `halves16` gives 16 bits of it to a result.
const Words& packed_half_source(Execution& e, unsigned code, unsigned slot, Words& scratch);
void halves16(const Words& whole, bool upper, Words& out);

// Entries of the merged VOP3P table.
std::span<const ScalarOp> packed_ops();
std::span<const ScalarOp> mixed_ops();
std::span<const ScalarOp> packed_dot_ops();
std::span<const ScalarOp> matrix_ops();
std::span<const ScalarOp> sparse_matrix_ops();

} // namespace vgpu::isa
