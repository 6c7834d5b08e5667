// SPDX-License-Identifier: MIT
// The moves between VGPRs and AccVGPRs.
#include "model/isa/memory/vector_memory.hpp"
#include "model/isa/vector/packed.hpp"

namespace vgpu::isa {

namespace {

// MODE.GPR_IDX_EN indexes the AccVGPR as it would a VGPR: the trap handler's loops count on it.
unsigned indexed_source(const WaveState& wave, unsigned index) {
    const bool on = (wave.mode & mode::gpr_idx_en) != 0 && (wave.m0 >> 12 & 1) != 0;
    return on ? index + (wave.m0 & 0xff) : index;
}

void accvgpr_read(Execution& e) {
    const unsigned code = e.word1 & 0x1ff;
    if (code < source::vgpr0) {
        e.illegal("v_accvgpr_read of no AccVGPR");
        return;
    }
    const Words* from = data_lanes(e, indexed_source(e.wave, code - source::vgpr0), true);
    if (from != nullptr) {
        store32(e, e.word0 & 0xff, *from);
    }
}

void accvgpr_write(Execution& e) {
    Words scratch;
    const Words& from = source32(e, e.word1 & 0x1ff, 0, scratch);
    Words* to = data_lanes(e, indexed_destination(e, e.word0 & 0xff), true);
    if (to != nullptr && !e.failed()) {
        merge_lanes(*to, from, e.wave.exec);
    }
}

constexpr std::array ops{
    ScalarOp{0x58, "v_accvgpr_read_b32", accvgpr_read},
    ScalarOp{0x59, "v_accvgpr_write_b32", accvgpr_write},
};

} // namespace

std::span<const ScalarOp> accvgpr_ops() {
    return ops;
}

} // namespace vgpu::isa
