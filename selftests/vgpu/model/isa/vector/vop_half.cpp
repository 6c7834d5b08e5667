// SPDX-License-Identifier: MIT
// Half precision arithmetic. The operations of GFX9's VOP3 keep the other half of their
// destination, those inherited from GFX8 zero it.
#include "model/isa/vector/float_operations.hpp"

namespace vgpu::isa {

namespace {

constexpr auto fract = [](double a) {
    // Rounded to 11 bits, what is left of 1 must not become 1.
    const double rest = a - std::floor(a);
    return rest < 0x1.ffcp-1 || std::isnan(rest) ? rest : 0x1.ffcp-1;
};

// The exponent is a 16-bit integer.
void ldexp(Execution& e, const VectorInstruction& i) {
    Values<double> a;
    Words exponent;
    fetch<Half>(e, i, 0, a);
    source16(e, i, 1, false, exponent);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const int power = static_cast<std::int16_t>(exponent[lane]);
        a[lane] = gpu_nan(std::ldexp(a[lane], power), a[lane]);
    }
    finish<Half>(e, i, a);
}

// The product is rounded before the sum, and denormals are zero whatever MODE says.
template <typename Format> void multiply_add(Execution& e, const VectorInstruction& i) {
    std::array<Values<double>, 3> in{};
    for (unsigned slot = 0; slot < 3; ++slot) {
        fetch<Half>(e, i, slot, in[slot]);
        flush_all<Half>(in[slot]);
    }
    Values<double> out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const double a = in[0][lane];
        const double b = in[1][lane];
        const double c = in[2][lane];
        const auto product =
            half_to_double(half_from_double(gpu_nan(a * b, a, b), rounding_of<Half>(e.wave)));
        const double sum = (is_denormal<Half>(product) ? std::copysign(0, product) : product) + c;
        out[lane] = gpu_nan(sum, a, b, c);
    }
    flush_all<Half>(out);
    finish<Format>(e, i, out);
}

constexpr std::uint8_t selectable = takes::half | takes::op_sel;

constexpr std::array ops{
    VectorOp{0x11f, "v_add_f16", binary<Half, add>, takes::half},
    VectorOp{0x120, "v_sub_f16", binary<Half, sub>, takes::half},
    VectorOp{0x121, "v_subrev_f16", binary<Half, subrev>, takes::half},
    VectorOp{0x122, "v_mul_f16", binary<Half, mul>, takes::half},
    VectorOp{0x123, "v_mac_f16", multiply_add<HalfKept>, takes::half},
    VectorOp{0x124, "v_madmk_f16", multiply_add<HalfKept>, takes::no_swizzle},
    VectorOp{0x125, "v_madak_f16", multiply_add<HalfKept>, takes::no_swizzle},
    VectorOp{0x12d, "v_max_f16", extremum<Half, maximum>, takes::half},
    VectorOp{0x12e, "v_min_f16", extremum<Half, minimum>, takes::half},
    VectorOp{0x133, "v_ldexp_f16", ldexp, takes::half},
    VectorOp{0x184, "v_floor_f16", unary<Half, floor>, takes::half},
    VectorOp{0x185, "v_ceil_f16", unary<Half, ceil>, takes::half},
    VectorOp{0x186, "v_trunc_f16", unary<Half, trunc>, takes::half},
    VectorOp{0x187, "v_rndne_f16", unary<Half, rndne>, takes::half},
    VectorOp{0x188, "v_fract_f16", unary<Half, fract>, takes::half},
    VectorOp{0x1ea, "v_mad_legacy_f16", multiply_add<Half>, takes::half},
    VectorOp{0x1ee, "v_fma_legacy_f16", fused<Half>, takes::half},
    VectorOp{0x1f4, "v_min3_f16", ternary_choice<HalfKept, minimum3>, selectable},
    VectorOp{0x1f7, "v_max3_f16", ternary_choice<HalfKept, maximum3>, selectable},
    VectorOp{0x1fa, "v_med3_f16", ternary_choice<HalfKept, median3>, selectable},
    VectorOp{0x203, "v_mad_f16", multiply_add<HalfKept>, selectable},
    VectorOp{0x206, "v_fma_f16", fused<HalfKept>, selectable},
};

} // namespace

std::span<const VectorOp> half_ops() {
    return ops;
}

} // namespace vgpu::isa
