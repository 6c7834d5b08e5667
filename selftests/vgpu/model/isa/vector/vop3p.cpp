// SPDX-License-Identifier: MIT
// VOP3P's opcodes: packed operations, mixed precision, dot products, the matrix core's format, and
// the moves between VGPRs and AccVGPRs.
#include "model/isa/vector/packed.hpp"

#include "model/isa/encodings.hpp"
#include "model/isa/memory/vector_memory.hpp"

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

constexpr std::array accvgpr_ops{
    ScalarOp{0x58, "v_accvgpr_read_b32", accvgpr_read},
    ScalarOp{0x59, "v_accvgpr_write_b32", accvgpr_write},
};

// The families; each of the others has its own file.
auto families() {
    return std::array{std::span<const ScalarOp>(accvgpr_ops),
                      packed_ops(),
                      mixed_ops(),
                      packed_dot_ops(),
                      matrix_ops(),
                      sparse_matrix_ops()};
}

constexpr unsigned opcode_count = 128;

} // namespace

void execute_vop3p(Execution& e) {
    static const auto tables = index_families<opcode_count>(families());
    e.fetch_word1();
    if (e.failed()) {
        return;
    }
    for (const unsigned shift : {0U, 9U, 18U}) {
        if ((e.word1 >> shift & 0x1ff) == source::literal) {
            e.illegal("VOP3P takes no literal");
            return;
        }
    }
    const unsigned opcode = e.word0 >> 16 & 0x7f;
    const ScalarHandler handler = tables[e.wave.isa][opcode];
    if (handler == nullptr) {
        e.illegal("opcode not modelled");
        return;
    }
    handler(e);
}

std::vector<OpName> vop3p_names() {
    return names_of_families(families());
}

} // namespace vgpu::isa
