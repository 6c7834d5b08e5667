// SPDX-License-Identifier: MIT
// VOP1 integer operations and moves. MI300 ISA, "VOP1 Instructions".
#include "model/isa/vector/vector_alu.hpp"

namespace vgpu::isa {

namespace {

void no_effect(Execution&, const VectorInstruction&) {}

constexpr auto mov_b32 = [](u32 a) { return a; };
constexpr auto not_b32 = [](u32 a) { return ~a; };
u32 bfrev_b32(u32 a) {
    a = (a >> 1 & 0x55555555) | (a & 0x55555555) << 1;
    a = (a >> 2 & 0x33333333) | (a & 0x33333333) << 2;
    a = (a >> 4 & 0x0f0f0f0f) | (a & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(a);
}
u32 ffbh_u32(u32 a) {
    return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a));
}
u32 ffbl_b32(u32 a) {
    return a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a));
}
u32 ffbh_i32(u32 a) {
    return ffbh_u32(a >> 31 != 0 ? ~a : a);
}

void mov_b64(Execution& e, const VectorInstruction& i) {
    DoubleWords scratch;
    store64(e, i.vdst, source64(e, i.src[0], 0, Wide::bits, scratch));
}

// With no lane on, lane 0 is read.
void readfirstlane_b32(Execution& e, const VectorInstruction& i) {
    Words scratch;
    const Words& lanes = source32(e, i.src[0], 0, scratch);
    const auto first = e.wave.exec == 0 ? 0U : static_cast<u32>(std::countr_zero(e.wave.exec));
    write_scalar(e, i.sdst, lanes[first]);
}

void swap_b32(Execution& e, const VectorInstruction& i) {
    if (i.src[0] < source::vgpr0) {
        e.illegal("v_swap_b32 of a scalar");
        return;
    }
    Words* a = vgpr_lanes(e, i.vdst);
    Words* b = vgpr_lanes(e, i.src[0] - source::vgpr0);
    if (a != nullptr && b != nullptr) {
        const Words old_a = *a;
        merge_lanes(*a, *b, e.wave.exec);
        merge_lanes(*b, old_a, e.wave.exec);
    }
}

void accvgpr_mov_b32(Execution& e, const VectorInstruction& i) {
    const unsigned from = i.src[0] - source::vgpr0;
    if (i.src[0] < source::vgpr0 || from >= e.wave.acc_vgprs() || i.vdst >= e.wave.acc_vgprs()) {
        e.illegal("AccVGPR beyond the allocation");
        return;
    }
    const unsigned base = e.wave.arch_vgprs;
    merge_lanes(e.wave.vgpr[base + i.vdst].lane, e.wave.vgpr[base + from].lane, e.wave.exec);
}

constexpr std::array ops{
    VectorOp{0x140, "v_nop", no_effect, takes::no_swizzle},
    VectorOp{0x141, "v_mov_b32", lanes1<mov_b32>},
    VectorOp{0x142, "v_readfirstlane_b32", readfirstlane_b32, takes::no_swizzle},
    VectorOp{0x16b, "v_not_b32", lanes1<not_b32>},
    VectorOp{0x16c, "v_bfrev_b32", lanes1<bfrev_b32>},
    VectorOp{0x16d, "v_ffbh_u32", lanes1<ffbh_u32>},
    VectorOp{0x16e, "v_ffbl_b32", lanes1<ffbl_b32>},
    VectorOp{0x16f, "v_ffbh_i32", lanes1<ffbh_i32>},
    VectorOp{0x175, "v_clrexcp", no_effect, takes::no_swizzle},
    VectorOp{0x178, "v_mov_b64", mov_b64, 0, only::gfx942},
    VectorOp{0x191, "v_swap_b32", swap_b32, takes::no_swizzle},
    VectorOp{0x192, "v_accvgpr_mov_b32", accvgpr_mov_b32, takes::no_swizzle, since_gfx90a},
};

} // namespace

std::span<const VectorOp> vop1_ops() {
    return ops;
}

} // namespace vgpu::isa
