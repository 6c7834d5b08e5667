// SPDX-License-Identifier: MIT
// VOPC integer comparisons; the v_cmpx forms also write EXEC.
#include "model/isa/vector/vector_alu.hpp"

namespace vgpu::isa {

namespace {

// The eight integer relations in opcode order: f lt eq le gt ne ge t.
template <typename T, unsigned relation>
constexpr auto holds = [](auto a, auto b) {
    const T x = static_cast<T>(a);
    const T y = static_cast<T>(b);
    switch (relation) {
    case 0: return false;
    case 1: return x < y;
    case 2: return x == y;
    case 3: return x <= y;
    case 4: return x > y;
    case 5: return x != y;
    case 6: return x >= y;
    default: return true;
    }
};

template <typename T, unsigned relation> void compare(Execution& e, const VectorInstruction& i) {
    // A 16-bit operand is the low half: `holds` cuts it.
    if constexpr (sizeof(T) == 8) {
        compare64_lanes<holds<T, relation>>(e, i);
    } else {
        compare32_lanes<holds<T, relation>>(e, i);
    }
}

template <typename T, unsigned relation>
void compare_exec(Execution& e, const VectorInstruction& i) {
    compare<T, relation>(e, i);
    if (!e.failed()) {
        e.wave.exec = read_scalar64(e, i.sdst);
    }
}

// clang-format off
#define VGPU_COMPARE_ROW(type, suffix, base)                                                       \
    VectorOp{(base) + 0, "v_cmp_f_" suffix, compare<type, 0>},                                     \
    VectorOp{(base) + 1, "v_cmp_lt_" suffix, compare<type, 1>},                                    \
    VectorOp{(base) + 2, "v_cmp_eq_" suffix, compare<type, 2>},                                    \
    VectorOp{(base) + 3, "v_cmp_le_" suffix, compare<type, 3>},                                    \
    VectorOp{(base) + 4, "v_cmp_gt_" suffix, compare<type, 4>},                                    \
    VectorOp{(base) + 5, "v_cmp_ne_" suffix, compare<type, 5>},                                    \
    VectorOp{(base) + 6, "v_cmp_ge_" suffix, compare<type, 6>},                                    \
    VectorOp{(base) + 7, "v_cmp_t_" suffix, compare<type, 7>},                                     \
    VectorOp{(base) + 16, "v_cmpx_f_" suffix, compare_exec<type, 0>},                              \
    VectorOp{(base) + 17, "v_cmpx_lt_" suffix, compare_exec<type, 1>},                             \
    VectorOp{(base) + 18, "v_cmpx_eq_" suffix, compare_exec<type, 2>},                             \
    VectorOp{(base) + 19, "v_cmpx_le_" suffix, compare_exec<type, 3>},                             \
    VectorOp{(base) + 20, "v_cmpx_gt_" suffix, compare_exec<type, 4>},                             \
    VectorOp{(base) + 21, "v_cmpx_ne_" suffix, compare_exec<type, 5>},                             \
    VectorOp{(base) + 22, "v_cmpx_ge_" suffix, compare_exec<type, 6>},                             \
    VectorOp{(base) + 23, "v_cmpx_t_" suffix, compare_exec<type, 7>}

constexpr std::array ops{
    VGPU_COMPARE_ROW(i16, "i16", 0xa0),
    VGPU_COMPARE_ROW(u16, "u16", 0xa8),
    VGPU_COMPARE_ROW(i32, "i32", 0xc0),
    VGPU_COMPARE_ROW(u32, "u32", 0xc8),
    VGPU_COMPARE_ROW(i64, "i64", 0xe0),
    VGPU_COMPARE_ROW(u64, "u64", 0xe8),
};
#undef VGPU_COMPARE_ROW
// clang-format on

} // namespace

std::span<const VectorOp> vopc_ops() {
    return ops;
}

} // namespace vgpu::isa
