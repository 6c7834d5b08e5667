// SPDX-License-Identifier: MIT
// 16-bit operands in halves of VGPRs.
#include "model/isa/vector/float_lanes.hpp"

namespace vgpu::isa {

void source16(Execution& e, const VectorInstruction& i, unsigned slot, bool floating, Words& out) {
    const bool upper = (i.op_sel >> slot & 1) != 0;
    if (floating && is_float_constant(i.src[slot])) {
        out.fill(upper ? 0 : half_constants[i.src[slot] - source::half]);
        return;
    }
    Words scratch;
    const Words& whole = source32(e, i.src[slot], slot, scratch);
    const unsigned shift = upper ? 16 : 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = whole[lane] >> shift & 0xffff;
    }
}

void store16(Execution& e, const VectorInstruction& i, const Words& value, bool keep_other_half) {
    if (!keep_other_half) {
        store32(e, i.vdst, value);
        return;
    }
    const Words* old = vgpr_lanes(e, indexed_destination(e, i.vdst));
    if (old == nullptr) {
        return;
    }
    const bool upper = (i.op_sel & 8) != 0;
    Words merged;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        merged[lane] = upper ? ((*old)[lane] & 0xffff) | value[lane] << 16
                             : ((*old)[lane] & 0xffff'0000) | (value[lane] & 0xffff);
    }
    store32(e, i.vdst, merged);
}

} // namespace vgpu::isa
