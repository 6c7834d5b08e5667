// SPDX-License-Identifier: MIT
// Fused multiply-add in single precision of sources that are single or half precision each.
#include "model/isa/vector/packed.hpp"

namespace vgpu::isa {

namespace {

// op_sel_hi: half precision; op_sel: its upper half. neg_hi is the absolute value here.
void fetch_mixed(Execution& e, const PackedInstruction& p, unsigned slot, Values<float>& out) {
    const bool half = (p.op_sel_hi >> slot & 1) != 0;
    VectorInstruction i;
    i.src[slot] = p.src[slot];
    i.op_sel = static_cast<std::uint8_t>(p.op_sel);
    i.abs = static_cast<std::uint8_t>(p.neg_hi);
    i.neg = static_cast<std::uint8_t>(p.neg_lo);
    if (!half) {
        fetch<Single>(e, i, slot, out);
        return;
    }
    Values<double> values;
    fetch<Half>(e, i, slot, values);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = static_cast<float>(values[lane]);
    }
}

void multiply_add(Execution& e, const PackedInstruction& p, Values<float>& out) {
    std::array<Values<float>, 3> in{};
    for (unsigned slot = 0; slot < 3; ++slot) {
        fetch_mixed(e, p, slot, in[slot]);
    }
    {
        const RoundingScope rounding(rounding_of<Single>(e.wave));
        fused_lanes(in[0], in[1], in[2], out);
    }
    settle_nans(out, in[0], in[1], in[2]);
    if (!denormals<Single>(e.wave, 1)) {
        flush_all<Single>(out);
    }
}

void fma_mix_f32(Execution& e) {
    const PackedInstruction p(e);
    Values<float> out;
    multiply_add(e, p, out);
    VectorInstruction i;
    i.vdst = p.vdst;
    i.clamp = p.clamp;
    finish<Single>(e, i, out);
}

// Rounded to single precision, then to the half of the destination that the opcode names.
template <bool high> void fma_mix_f16(Execution& e) {
    const PackedInstruction p(e);
    Values<float> sum;
    multiply_add(e, p, sum);
    Values<double> out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = sum[lane];
    }
    VectorInstruction i;
    i.vdst = p.vdst;
    i.clamp = p.clamp;
    i.op_sel = high ? 8 : 0;
    finish<HalfKept>(e, i, out);
}

constexpr std::array ops{
    ScalarOp{0x20, "v_fma_mix_f32", fma_mix_f32},
    ScalarOp{0x21, "v_fma_mixlo_f16", fma_mix_f16<false>},
    ScalarOp{0x22, "v_fma_mixhi_f16", fma_mix_f16<true>},
};

} // namespace

std::span<const ScalarOp> mixed_ops() {
    return ops;
}

} // namespace vgpu::isa
