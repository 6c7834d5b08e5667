// SPDX-License-Identifier: MIT
// DS: floating-point atomics on LDS.
#include "model/isa/memory/atomic_floats.hpp"
#include "model/isa/memory/ds_atomics.hpp"

namespace vgpu::isa {

namespace {

using u32 = std::uint32_t;

// clang-format off
#define VGPU_DS_FLOATS(T, suffix, base, returns, rtn)                                              \
    ScalarOp{(base) + 0, "ds_cmpst_" rtn suffix, ds_update2<T, compare_store, returns>},           \
    ScalarOp{(base) + 1, "ds_min_" rtn suffix, ds_update<T, atomic::min_float, returns>},          \
    ScalarOp{(base) + 2, "ds_max_" rtn suffix, ds_update<T, atomic::max_float, returns>}

constexpr std::array ops{
    VGPU_DS_FLOATS(float, "f32", 17, false, ""),
    VGPU_DS_FLOATS(float, "f32", 49, true, "rtn_"),
    VGPU_DS_FLOATS(double, "f64", 81, false, ""),
    VGPU_DS_FLOATS(double, "f64", 113, true, "rtn_"),
    ScalarOp{21, "ds_add_f32", ds_update<float, atomic::add, false>},
    ScalarOp{53, "ds_add_rtn_f32", ds_update<float, atomic::add, true>},
    ScalarOp{92, "ds_add_f64", ds_update<double, atomic::add, false>, since_gfx90a},
    ScalarOp{124, "ds_add_rtn_f64", ds_update<double, atomic::add, true>, since_gfx90a},
    ScalarOp{23, "ds_pk_add_f16", ds_update<u32, atomic::pk_add_f16, false>, only::gfx942},
    ScalarOp{24, "ds_pk_add_bf16", ds_update<u32, atomic::pk_add_bf16, false>, only::gfx942},
    ScalarOp{183, "ds_pk_add_rtn_f16", ds_update<u32, atomic::pk_add_f16, true>, only::gfx942},
    ScalarOp{184, "ds_pk_add_rtn_bf16", ds_update<u32, atomic::pk_add_bf16, true>, only::gfx942},
};
#undef VGPU_DS_FLOATS
// clang-format on

} // namespace

std::span<const ScalarOp> ds_float_atomic_ops() {
    return ops;
}

} // namespace vgpu::isa
