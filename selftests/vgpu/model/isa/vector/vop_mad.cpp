// SPDX-License-Identifier: MIT
// Multiplications and additions of single precision that are rounded twice. gfx942 has fused ones
// instead. Vega ISA, "V_MAD_F32".
#include "model/isa/vector/float_operations.hpp"

namespace vgpu::isa {

namespace {

// Denormals are zero whatever MODE says.
template <auto multiply> void multiply_add(Execution& e, const VectorInstruction& i) {
    std::array<Values<float>, 3> in;
    for (unsigned slot = 0; slot < 3; ++slot) {
        fetch<Single>(e, i, slot, in[slot]);
        flush_all<Single>(in[slot]);
    }
    Values<float> out;
    {
        const RoundingScope rounding(host_rounding<Single>(e.wave));
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            out[lane] = multiply(in[0][lane], in[1][lane]);
        }
        flush_all<Single>(out);
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            out[lane] += in[2][lane];
        }
    }
    settle_nans(out, in[0], in[1], in[2]);
    flush_all<Single>(out);
    finish<Single>(e, i, out);
}

constexpr std::array ops{
    VectorOp{0x116, "v_mac_f32", multiply_add<mul>, takes::floating, until_gfx90a},
    VectorOp{0x117, "v_madmk_f32", multiply_add<mul>, takes::no_swizzle, until_gfx90a},
    VectorOp{0x118, "v_madak_f32", multiply_add<mul>, takes::no_swizzle, until_gfx90a},
    VectorOp{0x1c0, "v_mad_legacy_f32", multiply_add<mul_legacy>, takes::floating, until_gfx90a},
    VectorOp{0x1c1, "v_mad_f32", multiply_add<mul>, takes::floating, until_gfx90a},
};

} // namespace

std::span<const VectorOp> mad_ops() {
    return ops;
}

} // namespace vgpu::isa
