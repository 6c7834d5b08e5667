// SPDX-License-Identifier: MIT
// Single and double precision arithmetic of all vector encodings, and coordinates of cube maps.
// MI300 ISA, "Vector ALU".
#include "model/isa/vector/float_operations.hpp"

namespace vgpu::isa {

namespace {

// x - floor(x), but never 1.
constexpr auto fract = [](auto a) {
    using F = decltype(a);
    const F rest = a - std::floor(a);
    return rest < 1 || std::isnan(rest) ? rest : std::nextafter(F{1}, F{0});
};

// Times 2 to the power of an integer source.
template <typename Format> void ldexp(Execution& e, const VectorInstruction& i) {
    Values<typename Format::Value> a;
    fetch<Format>(e, i, 0, a);
    Words scratch;
    const Words& exponent = source32(e, i.src[1], 1, scratch);
    {
        const RoundingScope rounding(host_rounding<Format>(e.wave));
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            a[lane] = gpu_nan(std::ldexp(a[lane], static_cast<i32>(exponent[lane])), a[lane]);
        }
    }
    finish<Format>(e, i, a);
}

// Rounds twice; gfx942 has fused operations instead. Denormals are zero whatever MODE says (Vega
// ISA, "V_MAD_F32").
template <auto multiply> void multiply_add(Execution& e, const VectorInstruction& i) {
    std::array<Values<float>, 3> in{};
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

// Cube maps: the face that a vector points to, the place on it, the major axis.
enum class Axis : std::uint8_t { x, y, z };

// The longest component; of equals z before y before x.
Axis major_axis(float x, float y, float z) {
    if (std::fabs(z) >= std::fabs(x) && std::fabs(z) >= std::fabs(y)) {
        return Axis::z;
    }
    return std::fabs(y) >= std::fabs(x) ? Axis::y : Axis::x;
}

float face(float x, float y, float z) {
    switch (major_axis(x, y, z)) {
    case Axis::z: return z < 0 ? 5 : 4;
    case Axis::y: return y < 0 ? 3 : 2;
    default: return x < 0 ? 1 : 0;
    }
}
float s_coordinate(float x, float y, float z) {
    switch (major_axis(x, y, z)) {
    case Axis::z: return z < 0 ? -x : x;
    case Axis::y: return x;
    default: return x < 0 ? z : -z;
    }
}
float t_coordinate(float x, float y, float z) {
    if (major_axis(x, y, z) == Axis::y) {
        return y < 0 ? -z : z;
    }
    return -y;
}
float twice_major(float x, float y, float z) {
    switch (major_axis(x, y, z)) {
    case Axis::z: return 2 * z;
    case Axis::y: return 2 * y;
    default: return 2 * x;
    }
}

constexpr std::array ops{
    VectorOp{0x101, "v_add_f32", binary<Single, add>, takes::floating},
    VectorOp{0x102, "v_sub_f32", binary<Single, sub>, takes::floating},
    VectorOp{0x103, "v_subrev_f32", binary<Single, subrev>, takes::floating},
    VectorOp{0x104, "v_fmac_f64", fused<Double>, takes::floating, since_gfx90a},
    VectorOp{0x104, "v_mul_legacy_f32", binary<Single, mul_legacy>, takes::floating, only::gfx908},
    VectorOp{0x105, "v_mul_f32", binary<Single, mul>, takes::floating},
    VectorOp{0x10a, "v_min_f32", extremum<Single, minimum>, takes::floating},
    VectorOp{0x10b, "v_max_f32", extremum<Single, maximum>, takes::floating},
    VectorOp{0x116, "v_mac_f32", multiply_add<mul>, takes::floating, until_gfx90a},
    VectorOp{0x117, "v_fmamk_f32", fused<Single>, takes::no_swizzle, only::gfx942},
    VectorOp{0x117, "v_madmk_f32", multiply_add<mul>, takes::no_swizzle, until_gfx90a},
    VectorOp{0x118, "v_fmaak_f32", fused<Single>, takes::no_swizzle, only::gfx942},
    VectorOp{0x118, "v_madak_f32", multiply_add<mul>, takes::no_swizzle, until_gfx90a},
    VectorOp{0x13b, "v_fmac_f32", fused<Single>, takes::floating},
    VectorOp{0x157, "v_trunc_f64", unary<Double, trunc>, takes::floating},
    VectorOp{0x158, "v_ceil_f64", unary<Double, ceil>, takes::floating},
    VectorOp{0x159, "v_rndne_f64", unary<Double, rndne>, takes::floating},
    VectorOp{0x15a, "v_floor_f64", unary<Double, floor>, takes::floating},
    VectorOp{0x15b, "v_fract_f32", unary<Single, fract>, takes::floating},
    VectorOp{0x15c, "v_trunc_f32", unary<Single, trunc>, takes::floating},
    VectorOp{0x15d, "v_ceil_f32", unary<Single, ceil>, takes::floating},
    VectorOp{0x15e, "v_rndne_f32", unary<Single, rndne>, takes::floating},
    VectorOp{0x15f, "v_floor_f32", unary<Single, floor>, takes::floating},
    VectorOp{0x172, "v_fract_f64", unary<Double, fract>, takes::floating},
    VectorOp{0x1c0, "v_mad_legacy_f32", multiply_add<mul_legacy>, takes::floating, until_gfx90a},
    VectorOp{0x1c1, "v_mad_f32", multiply_add<mul>, takes::floating, until_gfx90a},
    VectorOp{0x1c4, "v_cubeid_f32", ternary_choice<Single, face>, takes::floating},
    VectorOp{0x1c5, "v_cubesc_f32", ternary_choice<Single, s_coordinate>, takes::floating},
    VectorOp{0x1c6, "v_cubetc_f32", ternary_choice<Single, t_coordinate>, takes::floating},
    VectorOp{0x1c7, "v_cubema_f32", ternary_choice<Single, twice_major>, takes::floating},
    VectorOp{0x1cb, "v_fma_f32", fused<Single>, takes::floating},
    VectorOp{0x1cc, "v_fma_f64", fused<Double>, takes::floating},
    VectorOp{0x1d0, "v_min3_f32", ternary_choice<Single, minimum3>, takes::floating},
    VectorOp{0x1d3, "v_max3_f32", ternary_choice<Single, maximum3>, takes::floating},
    VectorOp{0x1d6, "v_med3_f32", ternary_choice<Single, median3>, takes::floating},
    VectorOp{0x280, "v_add_f64", binary<Double, add>, takes::floating},
    VectorOp{0x281, "v_mul_f64", binary<Double, mul>, takes::floating},
    VectorOp{0x282, "v_min_f64", extremum<Double, minimum>, takes::floating},
    VectorOp{0x283, "v_max_f64", extremum<Double, maximum>, takes::floating},
    VectorOp{0x284, "v_ldexp_f64", ldexp<Double>, takes::floating},
    VectorOp{0x288, "v_ldexp_f32", ldexp<Single>, takes::floating},
    VectorOp{0x2a1, "v_mul_legacy_f32", binary<Single, mul_legacy>, takes::floating, since_gfx90a},
};

} // namespace

std::span<const VectorOp> float_ops() {
    return ops;
}

} // namespace vgpu::isa
