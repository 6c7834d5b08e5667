// SPDX-License-Identifier: MIT
// SOP1: scalar operations with one source. MI300 ISA, "SOP1 Instructions".
#include "model/isa/scalar/scalar_alu.hpp"

#include <optional>

namespace vgpu::isa {

namespace {

template <typename T> T move(T a, bool&) {
    return a;
}

template <typename T> T invert(T a, bool& scc) {
    scc = static_cast<T>(~a) != 0;
    return ~a;
}

// Whole quad mode: a quad is on when any of its lanes is.
template <typename T> T whole_quads(T a, bool& scc) {
    T quads = (a | a >> 1 | a >> 2 | a >> 3) & static_cast<T>(0x1111'1111'1111'1111ULL);
    quads *= 15;
    scc = quads != 0;
    return quads;
}

template <typename T> T quad_mask(T a, bool& scc) {
    T mask = 0;
    for (unsigned quad = 0; quad < sizeof(T) * 2; ++quad) {
        mask |= static_cast<T>((a >> (quad * 4) & 15) != 0) << quad;
    }
    scc = mask != 0;
    return mask;
}

template <typename T> T reverse(T a, bool&) {
    T result = 0;
    for (unsigned bit = 0; bit < sizeof(T) * 8; ++bit) {
        result |= (a >> bit & 1) << (sizeof(T) * 8 - 1 - bit);
    }
    return result;
}

template <typename T, bool ones> u32 count_bits(T a, bool& scc) {
    const auto count = static_cast<u32>(std::popcount(ones ? a : static_cast<T>(~a)));
    scc = count != 0;
    return count;
}

constexpr u32 none_found = ~0U;

template <typename T, bool one> u32 find_first(T a, bool&) {
    const T value = one ? a : static_cast<T>(~a);
    return value == 0 ? none_found : static_cast<u32>(std::countr_zero(value));
}

template <typename T> u32 leading_zeros(T a, bool&) {
    return a == 0 ? none_found : static_cast<u32>(std::countl_zero(a));
}

// Position of the first bit from the top that differs from the sign.
template <typename T> u32 leading_sign(T a, bool&) {
    const bool negative = a >> (sizeof(T) * 8 - 1) != 0;
    const T value = negative ? static_cast<T>(~a) : a;
    return value == 0 ? none_found : static_cast<u32>(std::countl_zero(value));
}

u32 sext_i8(u32 a, bool&) {
    return static_cast<u32>(i32{static_cast<std::int8_t>(a)});
}
u32 sext_i16(u32 a, bool&) {
    return static_cast<u32>(i32{static_cast<std::int16_t>(a)});
}

u32 abs_i32(u32 a, bool& scc) {
    const u32 result = static_cast<i32>(a) < 0 ? 0 - a : a;
    scc = result != 0;
    return result;
}

template <bool set> void bit_in_32(Execution& e) {
    const u32 bit = 1U << (read_scalar(e, ssrc0(e)) & 31);
    const u32 old = read_scalar(e, sdst(e));
    write_scalar(e, sdst(e), set ? old | bit : old & ~bit);
}
template <bool set> void bit_in_64(Execution& e) {
    const u64 bit = u64{1} << (read_scalar(e, ssrc0(e)) & 63);
    const u64 old = read_scalar64(e, sdst(e));
    write_scalar64(e, sdst(e), set ? old | bit : old & ~bit);
}

void cmov_b32(Execution& e) {
    const u32 value = read_scalar(e, ssrc0(e));
    if (e.wave.scc) {
        write_scalar(e, sdst(e), value);
    }
}
void cmov_b64(Execution& e) {
    const u64 value = read_scalar64(e, ssrc0(e));
    if (e.wave.scc) {
        write_scalar64(e, sdst(e), value);
    }
}

constexpr u64 pc_mask = 0xffff'ffff'ffffULL;

void getpc_b64(Execution& e) {
    write_scalar64(e, sdst(e), e.wave.pc);
}
void setpc_b64(Execution& e) {
    e.wave.pc = read_scalar64(e, ssrc0(e)) & pc_mask & ~3ULL;
}
void swappc_b64(Execution& e) {
    const u64 target = read_scalar64(e, ssrc0(e)) & pc_mask & ~3ULL;
    write_scalar64(e, sdst(e), e.wave.pc);
    e.wave.pc = target;
}

// Returns from the trap handler; a program that isn't in one may not execute it.
void rfe_b64(Execution& e) {
    if (!e.wave.priv) {
        e.illegal("s_rfe_b64 outside the trap handler");
        return;
    }
    e.wave.pc = read_scalar64(e, ssrc0(e)) & pc_mask & ~3ULL;
    e.wave.priv = false;
}

// EXEC = EXEC op source after saving EXEC; *_wrexec instead return the new EXEC.
template <auto operation, bool write_new = false> void saveexec(Execution& e) {
    const u64 source = read_scalar64(e, ssrc0(e));
    const u64 old = e.wave.exec;
    const u64 result = operation(source, old);
    e.wave.exec = result;
    e.wave.scc = result != 0;
    write_scalar64(e, sdst(e), write_new ? result : old);
}
constexpr auto op_and = [](u64 s, u64 x) { return s & x; };
constexpr auto op_or = [](u64 s, u64 x) { return s | x; };
constexpr auto op_xor = [](u64 s, u64 x) { return s ^ x; };
constexpr auto op_andn2 = [](u64 s, u64 x) { return s & ~x; };
constexpr auto op_orn2 = [](u64 s, u64 x) { return s | ~x; };
constexpr auto op_nand = [](u64 s, u64 x) { return ~(s & x); };
constexpr auto op_nor = [](u64 s, u64 x) { return ~(s | x); };
constexpr auto op_xnor = [](u64 s, u64 x) { return ~(s ^ x); };
constexpr auto op_andn1 = [](u64 s, u64 x) { return ~s & x; };
constexpr auto op_orn1 = [](u64 s, u64 x) { return ~s | x; };

// Relative moves address the wave's allocation: SGPR number in the instruction plus M0.
std::optional<unsigned> relative_sgpr(const Execution& e, unsigned base, unsigned count) {
    const unsigned index = base + e.wave.m0;
    const bool there =
        base < source::sgpr_end && index + count <= e.wave.sgpr.size() && index >= base;
    return there ? std::optional(index) : std::nullopt;
}

template <unsigned count> void movrels(Execution& e) {
    const auto index = relative_sgpr(e, ssrc0(e), count);
    if (!index) {
        e.illegal("s_movrel beyond the allocation");
        return;
    }
    std::array<u32, count> values{};
    for (unsigned i = 0; i < count; ++i) {
        values.at(i) = e.wave.sgpr[*index + i];
    }
    for (unsigned i = 0; i < count; ++i) {
        write_scalar(e, sdst(e) + i, values.at(i));
    }
}

template <unsigned count> void movreld(Execution& e) {
    const auto index = relative_sgpr(e, sdst(e), count);
    const u64 value = count == 2 ? read_scalar64(e, ssrc0(e)) : u64{read_scalar(e, ssrc0(e))};
    if (!index) {
        reach_too_far(e);
        return;
    }
    for (unsigned i = 0; i < count; ++i) {
        e.wave.sgpr[*index + i] = static_cast<u32>(value >> (32 * i));
    }
}

// Each bit twice, side by side.
void bitreplicate_b64_b32(Execution& e) {
    const u64 bits = read_scalar(e, ssrc0(e));
    u64 result = 0;
    for (unsigned i = 0; i < 32; ++i) {
        result |= (bits >> i & 1) * (u64{3} << (2 * i));
    }
    write_scalar64(e, sdst(e), result);
}

void set_gpr_idx_idx(Execution& e) {
    e.wave.m0 = (e.wave.m0 & ~0xffU) | (read_scalar(e, ssrc0(e)) & 0xff);
}

constexpr std::array ops{
    ScalarOp{0, "s_mov_b32", unary32<move<u32>>},
    ScalarOp{1, "s_mov_b64", unary64<move<u64>>},
    ScalarOp{2, "s_cmov_b32", cmov_b32},
    ScalarOp{3, "s_cmov_b64", cmov_b64},
    ScalarOp{4, "s_not_b32", unary32<invert<u32>>},
    ScalarOp{5, "s_not_b64", unary64<invert<u64>>},
    ScalarOp{6, "s_wqm_b32", unary32<whole_quads<u32>>},
    ScalarOp{7, "s_wqm_b64", unary64<whole_quads<u64>>},
    ScalarOp{8, "s_brev_b32", unary32<reverse<u32>>},
    ScalarOp{9, "s_brev_b64", unary64<reverse<u64>>},
    ScalarOp{10, "s_bcnt0_i32_b32", unary32<count_bits<u32, false>>},
    ScalarOp{11, "s_bcnt0_i32_b64", unary64_32<count_bits<u64, false>>},
    ScalarOp{12, "s_bcnt1_i32_b32", unary32<count_bits<u32, true>>},
    ScalarOp{13, "s_bcnt1_i32_b64", unary64_32<count_bits<u64, true>>},
    ScalarOp{14, "s_ff0_i32_b32", unary32<find_first<u32, false>>},
    ScalarOp{15, "s_ff0_i32_b64", unary64_32<find_first<u64, false>>},
    ScalarOp{16, "s_ff1_i32_b32", unary32<find_first<u32, true>>},
    ScalarOp{17, "s_ff1_i32_b64", unary64_32<find_first<u64, true>>},
    ScalarOp{18, "s_flbit_i32_b32", unary32<leading_zeros<u32>>},
    ScalarOp{19, "s_flbit_i32_b64", unary64_32<leading_zeros<u64>>},
    ScalarOp{20, "s_flbit_i32", unary32<leading_sign<u32>>},
    ScalarOp{21, "s_flbit_i32_i64", unary64_32<leading_sign<u64>>},
    ScalarOp{22, "s_sext_i32_i8", unary32<sext_i8>},
    ScalarOp{23, "s_sext_i32_i16", unary32<sext_i16>},
    ScalarOp{24, "s_bitset0_b32", bit_in_32<false>},
    ScalarOp{25, "s_bitset0_b64", bit_in_64<false>},
    ScalarOp{26, "s_bitset1_b32", bit_in_32<true>},
    ScalarOp{27, "s_bitset1_b64", bit_in_64<true>},
    ScalarOp{28, "s_getpc_b64", getpc_b64},
    ScalarOp{29, "s_setpc_b64", setpc_b64},
    ScalarOp{30, "s_swappc_b64", swappc_b64},
    ScalarOp{31, "s_rfe_b64", rfe_b64},
    ScalarOp{32, "s_and_saveexec_b64", saveexec<op_and>},
    ScalarOp{33, "s_or_saveexec_b64", saveexec<op_or>},
    ScalarOp{34, "s_xor_saveexec_b64", saveexec<op_xor>},
    ScalarOp{35, "s_andn2_saveexec_b64", saveexec<op_andn2>},
    ScalarOp{36, "s_orn2_saveexec_b64", saveexec<op_orn2>},
    ScalarOp{37, "s_nand_saveexec_b64", saveexec<op_nand>},
    ScalarOp{38, "s_nor_saveexec_b64", saveexec<op_nor>},
    ScalarOp{39, "s_xnor_saveexec_b64", saveexec<op_xnor>},
    ScalarOp{40, "s_quadmask_b32", unary32<quad_mask<u32>>},
    ScalarOp{41, "s_quadmask_b64", unary64<quad_mask<u64>>},
    ScalarOp{42, "s_movrels_b32", movrels<1>},
    ScalarOp{43, "s_movrels_b64", movrels<2>},
    ScalarOp{44, "s_movreld_b32", movreld<1>},
    ScalarOp{45, "s_movreld_b64", movreld<2>},
    ScalarOp{48, "s_abs_i32", unary32<abs_i32>},
    ScalarOp{50, "s_set_gpr_idx_idx", set_gpr_idx_idx},
    ScalarOp{51, "s_andn1_saveexec_b64", saveexec<op_andn1>},
    ScalarOp{52, "s_orn1_saveexec_b64", saveexec<op_orn1>},
    ScalarOp{53, "s_andn1_wrexec_b64", saveexec<op_andn1, true>},
    ScalarOp{54, "s_andn2_wrexec_b64", saveexec<op_andn2, true>},
    ScalarOp{55, "s_bitreplicate_b64_b32", bitreplicate_b64_b32},
};

constexpr auto table = index_by_opcode<256>(ops);
constexpr auto op_names = names_of(ops);

} // namespace

void execute_sop1(Execution& e) {
    run_scalar(table, e.word0 >> 8 & 0xff, e);
}

std::span<const OpName> sop1_names() {
    return op_names;
}

} // namespace vgpu::isa
