// SPDX-License-Identifier: MIT
// SOPK: scalar operations with a 16-bit constant, and hardware register access.
#include "model/isa/scalar/scalar_alu.hpp"

namespace vgpu::isa {

namespace {

i32 simm16(const Execution& e) {
    return static_cast<std::int16_t>(e.word0);
}

void movk_i32(Execution& e) {
    write_scalar(e, sdst(e), static_cast<u32>(simm16(e)));
}
void cmovk_i32(Execution& e) {
    if (e.wave.scc) {
        movk_i32(e);
    }
}

// Signed comparisons take the constant sign-extended, unsigned ones zero-extended.
template <typename T, auto relation> void compare(Execution& e) {
    const T a = static_cast<T>(read_scalar(e, sdst(e)));
    const T b = std::is_signed_v<T> ? static_cast<T>(simm16(e)) : static_cast<T>(e.word0 & 0xffff);
    e.wave.scc = relation(a, b);
}
constexpr auto eq = [](auto a, auto b) { return a == b; };
constexpr auto lg = [](auto a, auto b) { return a != b; };
constexpr auto gt = [](auto a, auto b) { return a > b; };
constexpr auto ge = [](auto a, auto b) { return a >= b; };
constexpr auto lt = [](auto a, auto b) { return a < b; };
constexpr auto le = [](auto a, auto b) { return a <= b; };

void addk_i32(Execution& e) {
    const u32 a = read_scalar(e, sdst(e));
    const u32 b = static_cast<u32>(simm16(e));
    const u32 sum = a + b;
    e.wave.scc = ((a ^ sum) & (b ^ sum)) >> 31 != 0;
    write_scalar(e, sdst(e), sum);
}
void mulk_i32(Execution& e) {
    write_scalar(e, sdst(e), read_scalar(e, sdst(e)) * static_cast<u32>(simm16(e)));
}

// The constant names a register field: id [5:0], first bit [10:6], size - 1 [15:11].
struct Field {
    unsigned id;
    unsigned shift;
    u32 mask; // of the value, not yet shifted
};
Field field_of(const Execution& e) {
    const unsigned size = (e.word0 >> 11 & 31) + 1;
    return {e.word0 & 63, e.word0 >> 6 & 31, size == 32 ? ~0U : (1U << size) - 1};
}

void getreg_b32(Execution& e) {
    const Field field = field_of(e);
    u32 value = 0;
    if (!read_hwreg(e.wave, field.id, value)) {
        e.illegal("s_getreg of a register not modelled");
        return;
    }
    write_scalar(e, sdst(e), value >> field.shift & field.mask);
}

void set_field(Execution& e, u32 value) {
    const Field field = field_of(e);
    if (!write_hwreg(e.wave, field.id, value << field.shift, field.mask << field.shift)) {
        e.illegal("s_setreg of a register not modelled");
    }
}
void setreg_b32(Execution& e) {
    set_field(e, read_scalar(e, sdst(e)));
}
void setreg_imm32_b32(Execution& e) {
    set_field(e, e.literal());
}

void call_b64(Execution& e) {
    write_scalar64(e, sdst(e), e.wave.pc);
    e.wave.pc += static_cast<u64>(i64{simm16(e)} * 4);
}

constexpr std::array ops{
    ScalarOp{0, "s_movk_i32", movk_i32},
    ScalarOp{1, "s_cmovk_i32", cmovk_i32},
    ScalarOp{2, "s_cmpk_eq_i32", compare<i32, eq>},
    ScalarOp{3, "s_cmpk_lg_i32", compare<i32, lg>},
    ScalarOp{4, "s_cmpk_gt_i32", compare<i32, gt>},
    ScalarOp{5, "s_cmpk_ge_i32", compare<i32, ge>},
    ScalarOp{6, "s_cmpk_lt_i32", compare<i32, lt>},
    ScalarOp{7, "s_cmpk_le_i32", compare<i32, le>},
    ScalarOp{8, "s_cmpk_eq_u32", compare<u32, eq>},
    ScalarOp{9, "s_cmpk_lg_u32", compare<u32, lg>},
    ScalarOp{10, "s_cmpk_gt_u32", compare<u32, gt>},
    ScalarOp{11, "s_cmpk_ge_u32", compare<u32, ge>},
    ScalarOp{12, "s_cmpk_lt_u32", compare<u32, lt>},
    ScalarOp{13, "s_cmpk_le_u32", compare<u32, le>},
    ScalarOp{14, "s_addk_i32", addk_i32},
    ScalarOp{15, "s_mulk_i32", mulk_i32},
    ScalarOp{17, "s_getreg_b32", getreg_b32},
    ScalarOp{18, "s_setreg_b32", setreg_b32},
    ScalarOp{20, "s_setreg_imm32_b32", setreg_imm32_b32},
    ScalarOp{21, "s_call_b64", call_b64},
};

constexpr auto table = index_by_opcode<32>(ops);
constexpr auto op_names = names_of(ops);

} // namespace

void execute_sopk(Execution& e) {
    run_scalar(table, e.word0 >> 23 & 0x1f, e);
}

std::span<const OpName> sopk_names() {
    return op_names;
}

} // namespace vgpu::isa
