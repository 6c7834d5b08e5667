// SPDX-License-Identifier: MIT
// SOPC: scalar comparisons, and two mode switches that share the format.
#include "model/isa/scalar/scalar_alu.hpp"

namespace vgpu::isa {

namespace {

template <typename T, auto relation> void compare32(Execution& e) {
    const T a = static_cast<T>(read_scalar(e, ssrc0(e)));
    const T b = static_cast<T>(read_scalar(e, ssrc1(e)));
    e.wave.scc = relation(a, b);
}
template <auto relation> void compare64(Execution& e) {
    const u64 a = read_scalar64(e, ssrc0(e));
    const u64 b = read_scalar64(e, ssrc1(e));
    e.wave.scc = relation(a, b);
}
constexpr auto eq = [](auto a, auto b) { return a == b; };
constexpr auto lg = [](auto a, auto b) { return a != b; };
constexpr auto gt = [](auto a, auto b) { return a > b; };
constexpr auto ge = [](auto a, auto b) { return a >= b; };
constexpr auto lt = [](auto a, auto b) { return a < b; };
constexpr auto le = [](auto a, auto b) { return a <= b; };

template <bool set> void bitcmp32(Execution& e) {
    const u32 value = read_scalar(e, ssrc0(e));
    const u32 bit = read_scalar(e, ssrc1(e)) & 31;
    e.wave.scc = (value >> bit & 1) == (set ? 1 : 0);
}
template <bool set> void bitcmp64(Execution& e) {
    const u64 value = read_scalar64(e, ssrc0(e));
    const u32 bit = read_scalar(e, ssrc1(e)) & 63;
    e.wave.scc = (value >> bit & 1) == (set ? 1 : 0);
}

// While MODE.VSKIP is set no vector instruction issues. Trap handlers of later drivers clear it.
void setvskip(Execution& e) {
    const u32 value = read_scalar(e, ssrc0(e));
    const bool skip = (value >> (read_scalar(e, ssrc1(e)) & 31) & 1) != 0;
    e.wave.mode = skip ? e.wave.mode | mode::vskip : e.wave.mode & ~mode::vskip;
}

// M0[7:0] is the index, M0[15:12] (the second source field itself) says which operands take it.
void set_gpr_idx_on(Execution& e) {
    const u32 index = read_scalar(e, ssrc0(e)) & 0xff;
    e.wave.m0 = (e.wave.m0 & ~0xf0ffU) | index | (ssrc1(e) & 15) << 12;
    e.wave.mode |= mode::gpr_idx_en;
}

constexpr std::array ops{
    ScalarOp{0, "s_cmp_eq_i32", compare32<i32, eq>},
    ScalarOp{1, "s_cmp_lg_i32", compare32<i32, lg>},
    ScalarOp{2, "s_cmp_gt_i32", compare32<i32, gt>},
    ScalarOp{3, "s_cmp_ge_i32", compare32<i32, ge>},
    ScalarOp{4, "s_cmp_lt_i32", compare32<i32, lt>},
    ScalarOp{5, "s_cmp_le_i32", compare32<i32, le>},
    ScalarOp{6, "s_cmp_eq_u32", compare32<u32, eq>},
    ScalarOp{7, "s_cmp_lg_u32", compare32<u32, lg>},
    ScalarOp{8, "s_cmp_gt_u32", compare32<u32, gt>},
    ScalarOp{9, "s_cmp_ge_u32", compare32<u32, ge>},
    ScalarOp{10, "s_cmp_lt_u32", compare32<u32, lt>},
    ScalarOp{11, "s_cmp_le_u32", compare32<u32, le>},
    ScalarOp{12, "s_bitcmp0_b32", bitcmp32<false>},
    ScalarOp{13, "s_bitcmp1_b32", bitcmp32<true>},
    ScalarOp{14, "s_bitcmp0_b64", bitcmp64<false>},
    ScalarOp{15, "s_bitcmp1_b64", bitcmp64<true>},
    ScalarOp{16, "s_setvskip", setvskip},
    ScalarOp{17, "s_set_gpr_idx_on", set_gpr_idx_on},
    ScalarOp{18, "s_cmp_eq_u64", compare64<eq>},
    ScalarOp{19, "s_cmp_lg_u64", compare64<lg>},
};

constexpr auto table = index_by_opcode<128>(ops);
constexpr auto op_names = names_of(ops);

} // namespace

void execute_sopc(Execution& e) {
    run_scalar(table, e.word0 >> 16 & 0x7f, e);
}

std::span<const OpName> sopc_names() {
    return op_names;
}

} // namespace vgpu::isa
