// SPDX-License-Identifier: MIT
// Reciprocals, roots, exponentials and sines. MI300 ISA, "Floating Point": the hardware is right
// to 1 ULP; these results are rounded correctly, or nearly so, which is one of the answers allowed.
#include "model/isa/vector/float_operations.hpp"

#include <numbers>

namespace vgpu::isa {

namespace {

constexpr auto exp = [](auto a) { return std::exp2(a); };
constexpr auto log = [](auto a) { return std::log2(a); };
constexpr auto rcp = [](auto a) { return decltype(a){1} / a; };
constexpr auto rsq = [](double a) { return 1 / std::sqrt(a); };
constexpr auto sqrt = [](auto a) { return std::sqrt(a); };

// Sine and cosine of a number of turns. Beyond 256 of them the hardware gives up.
double turn_fraction(double turns) {
    return turns - std::floor(turns);
}
constexpr auto sin = [](double turns) {
    if (!std::isfinite(turns)) {
        return turns - turns;
    }
    return std::fabs(turns) > 256 ? 0 : std::sin(2 * std::numbers::pi * std::remainder(turns, 1.0));
};
constexpr auto cos = [](double turns) {
    if (!std::isfinite(turns)) {
        return turns - turns;
    }
    return std::fabs(turns) > 256 ? 1 : std::cos(2 * std::numbers::pi * turn_fraction(turns));
};

// In single precision these know no denormals, whatever MODE says: compilers scale around it.
template <auto operation> void without_denormals(Execution& e, const VectorInstruction& i) {
    Values<float> a;
    fetch_raw<Single>(e, i, 0, a);
    apply_signs(i, 0, a);
    for (float& value : a) {
        value = flushed(value);
        value = flushed(gpu_nan(static_cast<float>(operation(value)), value));
    }
    finish<Single>(e, i, a);
}

constexpr std::array ops{
    VectorOp{0x160, "v_exp_f32", without_denormals<exp>, takes::floating},
    VectorOp{0x161, "v_log_f32", without_denormals<log>, takes::floating},
    VectorOp{0x162, "v_rcp_f32", without_denormals<rcp>, takes::floating},
    VectorOp{0x163, "v_rcp_iflag_f32", without_denormals<rcp>, takes::floating},
    VectorOp{0x164, "v_rsq_f32", without_denormals<rsq>, takes::floating},
    VectorOp{0x165, "v_rcp_f64", unary<Double, rcp>, takes::floating},
    VectorOp{0x166, "v_rsq_f64", unary<Double, rsq>, takes::floating},
    VectorOp{0x167, "v_sqrt_f32", without_denormals<sqrt>, takes::floating},
    VectorOp{0x168, "v_sqrt_f64", unary<Double, sqrt>, takes::floating},
    VectorOp{0x169, "v_sin_f32", without_denormals<sin>, takes::floating},
    VectorOp{0x16a, "v_cos_f32", without_denormals<cos>, takes::floating},
    VectorOp{0x17d, "v_rcp_f16", unary<Half, rcp>, takes::half},
    VectorOp{0x17e, "v_sqrt_f16", unary<Half, sqrt>, takes::half},
    VectorOp{0x17f, "v_rsq_f16", unary<Half, rsq>, takes::half},
    VectorOp{0x180, "v_log_f16", unary<Half, log>, takes::half},
    VectorOp{0x181, "v_exp_f16", unary<Half, exp>, takes::half},
    VectorOp{0x189, "v_sin_f16", unary<Half, sin>, takes::half},
    VectorOp{0x18a, "v_cos_f16", unary<Half, cos>, takes::half},
    VectorOp{0x18b, "v_exp_legacy_f32", without_denormals<exp>, takes::floating},
    VectorOp{0x18c, "v_log_legacy_f32", without_denormals<log>, takes::floating},
};

} // namespace

std::span<const VectorOp> transcendental_ops() {
    return ops;
}

} // namespace vgpu::isa
