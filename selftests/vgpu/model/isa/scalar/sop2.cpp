// SPDX-License-Identifier: MIT
// SOP2: scalar operations with two sources. MI300 ISA, "SOP2 Instructions".
#include "model/isa/scalar/scalar_alu.hpp"

namespace vgpu::isa {

namespace {

// SCC = carry out, borrow out, or signed overflow, as the mnemonic's type says.
u32 add_u32(u32 a, u32 b, bool& scc) {
    const u64 sum = u64{a} + b;
    scc = sum >> 32 != 0;
    return static_cast<u32>(sum);
}
u32 sub_u32(u32 a, u32 b, bool& scc) {
    scc = b > a;
    return a - b;
}
u32 add_i32(u32 a, u32 b, bool& scc) {
    const u32 sum = a + b;
    scc = ((a ^ sum) & (b ^ sum)) >> 31 != 0;
    return sum;
}
u32 sub_i32(u32 a, u32 b, bool& scc) {
    const u32 difference = a - b;
    scc = ((a ^ b) & (a ^ difference)) >> 31 != 0;
    return difference;
}
u32 addc_u32(u32 a, u32 b, bool& scc) {
    const u64 sum = u64{a} + b + (scc ? 1 : 0);
    scc = sum >> 32 != 0;
    return static_cast<u32>(sum);
}
u32 subb_u32(u32 a, u32 b, bool& scc) {
    const u64 subtrahend = u64{b} + (scc ? 1 : 0);
    scc = subtrahend > a;
    return static_cast<u32>(a - subtrahend);
}

// SCC = the first source was chosen.
template <typename T, bool smaller> u32 pick(u32 a, u32 b, bool& scc) {
    const T x = static_cast<T>(a);
    const T y = static_cast<T>(b);
    scc = smaller ? x < y : x > y;
    return scc ? a : b;
}

template <typename T> T select(T a, T b, bool& scc) {
    return scc ? a : b;
}

// SCC = result isn't zero.
template <typename T, auto operation> T logic(T a, T b, bool& scc) {
    const T result = operation(a, b);
    scc = result != 0;
    return result;
}
constexpr auto op_and = [](auto a, auto b) { return a & b; };
constexpr auto op_or = [](auto a, auto b) { return a | b; };
constexpr auto op_xor = [](auto a, auto b) { return a ^ b; };
constexpr auto op_andn2 = [](auto a, auto b) { return a & ~b; };
constexpr auto op_orn2 = [](auto a, auto b) { return a | ~b; };
constexpr auto op_nand = [](auto a, auto b) { return ~(a & b); };
constexpr auto op_nor = [](auto a, auto b) { return ~(a | b); };
constexpr auto op_xnor = [](auto a, auto b) { return ~(a ^ b); };
constexpr auto op_lshl32 = [](u32 a, u32 b) { return a << (b & 31); };
constexpr auto op_lshr32 = [](u32 a, u32 b) { return a >> (b & 31); };
constexpr auto op_ashr32 = [](u32 a, u32 b) {
    return static_cast<u32>(static_cast<i32>(a) >> (b & 31));
};

template <auto operation> u64 shift64(u64 a, u32 b, bool& scc) {
    const u64 result = operation(a, b & 63);
    scc = result != 0;
    return result;
}
constexpr auto op_lshl64 = [](u64 a, u32 b) { return a << b; };
constexpr auto op_lshr64 = [](u64 a, u32 b) { return a >> b; };
constexpr auto op_ashr64 = [](u64 a, u32 b) { return static_cast<u64>(static_cast<i64>(a) >> b); };

u32 bfm_b32(u32 a, u32 b, bool&) {
    return ((1U << (a & 31)) - 1) << (b & 31);
}

// Field: offset in [4:0] (64-bit: [5:0]), width in [22:16].
template <typename T, typename Signed, bool sign_extend> T extract(T a, u32 b, bool& scc) {
    constexpr u32 bits = sizeof(T) * 8;
    const u32 offset = b & (bits - 1);
    u32 width = b >> 16 & 0x7f;
    T result = 0;
    if (width != 0) {
        width = width > bits - offset ? bits - offset : width;
        const T top = a << (bits - offset - width);
        result = sign_extend ? static_cast<T>(static_cast<Signed>(top) >> (bits - width))
                             : top >> (bits - width);
    }
    scc = result != 0;
    return result;
}

u32 absdiff_i32(u32 a, u32 b, bool& scc) {
    const u32 result = static_cast<i32>(a) > static_cast<i32>(b) ? a - b : b - a;
    scc = result != 0;
    return result;
}

template <unsigned amount> u32 lshl_add(u32 a, u32 b, bool& scc) {
    const u64 sum = (u64{a} << amount) + b;
    scc = sum >> 32 != 0;
    return static_cast<u32>(sum);
}

u32 mul_i32(u32 a, u32 b, bool&) {
    return a * b;
}
u32 mul_hi_u32(u32 a, u32 b, bool&) {
    return static_cast<u32>(u64{a} * b >> 32);
}
u32 mul_hi_i32(u32 a, u32 b, bool&) {
    return static_cast<u32>(i64{static_cast<i32>(a)} * static_cast<i32>(b) >> 32);
}

u32 pack_ll(u32 a, u32 b, bool&) {
    return (a & 0xffff) | b << 16;
}
u32 pack_lh(u32 a, u32 b, bool&) {
    return (a & 0xffff) | (b & 0xffff0000);
}
u32 pack_hh(u32 a, u32 b, bool&) {
    return a >> 16 | (b & 0xffff0000);
}

// Both sources of s_bfm_b64 are 32-bit.
void bfm_b64(Execution& e) {
    const u32 width = read_scalar(e, ssrc0(e)) & 63;
    const u32 offset = read_scalar(e, ssrc1(e)) & 63;
    write_scalar64(e, sdst(e), ((u64{1} << width) - 1) << offset);
}

constexpr std::array ops{
    ScalarOp{0, "s_add_u32", binary32<add_u32>},
    ScalarOp{1, "s_sub_u32", binary32<sub_u32>},
    ScalarOp{2, "s_add_i32", binary32<add_i32>},
    ScalarOp{3, "s_sub_i32", binary32<sub_i32>},
    ScalarOp{4, "s_addc_u32", binary32<addc_u32>},
    ScalarOp{5, "s_subb_u32", binary32<subb_u32>},
    ScalarOp{6, "s_min_i32", binary32<pick<i32, true>>},
    ScalarOp{7, "s_min_u32", binary32<pick<u32, true>>},
    ScalarOp{8, "s_max_i32", binary32<pick<i32, false>>},
    ScalarOp{9, "s_max_u32", binary32<pick<u32, false>>},
    ScalarOp{10, "s_cselect_b32", binary32<select<u32>>},
    ScalarOp{11, "s_cselect_b64", binary64<select<u64>>},
    ScalarOp{12, "s_and_b32", binary32<logic<u32, op_and>>},
    ScalarOp{13, "s_and_b64", binary64<logic<u64, op_and>>},
    ScalarOp{14, "s_or_b32", binary32<logic<u32, op_or>>},
    ScalarOp{15, "s_or_b64", binary64<logic<u64, op_or>>},
    ScalarOp{16, "s_xor_b32", binary32<logic<u32, op_xor>>},
    ScalarOp{17, "s_xor_b64", binary64<logic<u64, op_xor>>},
    ScalarOp{18, "s_andn2_b32", binary32<logic<u32, op_andn2>>},
    ScalarOp{19, "s_andn2_b64", binary64<logic<u64, op_andn2>>},
    ScalarOp{20, "s_orn2_b32", binary32<logic<u32, op_orn2>>},
    ScalarOp{21, "s_orn2_b64", binary64<logic<u64, op_orn2>>},
    ScalarOp{22, "s_nand_b32", binary32<logic<u32, op_nand>>},
    ScalarOp{23, "s_nand_b64", binary64<logic<u64, op_nand>>},
    ScalarOp{24, "s_nor_b32", binary32<logic<u32, op_nor>>},
    ScalarOp{25, "s_nor_b64", binary64<logic<u64, op_nor>>},
    ScalarOp{26, "s_xnor_b32", binary32<logic<u32, op_xnor>>},
    ScalarOp{27, "s_xnor_b64", binary64<logic<u64, op_xnor>>},
    ScalarOp{28, "s_lshl_b32", binary32<logic<u32, op_lshl32>>},
    ScalarOp{29, "s_lshl_b64", binary64_32<shift64<op_lshl64>>},
    ScalarOp{30, "s_lshr_b32", binary32<logic<u32, op_lshr32>>},
    ScalarOp{31, "s_lshr_b64", binary64_32<shift64<op_lshr64>>},
    ScalarOp{32, "s_ashr_i32", binary32<logic<u32, op_ashr32>>},
    ScalarOp{33, "s_ashr_i64", binary64_32<shift64<op_ashr64>>},
    ScalarOp{34, "s_bfm_b32", binary32<bfm_b32>},
    ScalarOp{35, "s_bfm_b64", bfm_b64},
    ScalarOp{36, "s_mul_i32", binary32<mul_i32>},
    ScalarOp{37, "s_bfe_u32", binary32<extract<u32, i32, false>>},
    ScalarOp{38, "s_bfe_i32", binary32<extract<u32, i32, true>>},
    ScalarOp{39, "s_bfe_u64", binary64_32<extract<u64, i64, false>>},
    ScalarOp{40, "s_bfe_i64", binary64_32<extract<u64, i64, true>>},
    ScalarOp{42, "s_absdiff_i32", binary32<absdiff_i32>},
    ScalarOp{44, "s_mul_hi_u32", binary32<mul_hi_u32>},
    ScalarOp{45, "s_mul_hi_i32", binary32<mul_hi_i32>},
    ScalarOp{46, "s_lshl1_add_u32", binary32<lshl_add<1>>},
    ScalarOp{47, "s_lshl2_add_u32", binary32<lshl_add<2>>},
    ScalarOp{48, "s_lshl3_add_u32", binary32<lshl_add<3>>},
    ScalarOp{49, "s_lshl4_add_u32", binary32<lshl_add<4>>},
    ScalarOp{50, "s_pack_ll_b32_b16", binary32<pack_ll>},
    ScalarOp{51, "s_pack_lh_b32_b16", binary32<pack_lh>},
    ScalarOp{52, "s_pack_hh_b32_b16", binary32<pack_hh>},
};

constexpr auto table = index_by_opcode<128>(ops);
constexpr auto op_names = names_of(ops);

} // namespace

void execute_sop2(Execution& e) {
    run_scalar(table, e.word0 >> 23 & 0x7f, e);
}

std::span<const OpName> sop2_names() {
    return op_names;
}

} // namespace vgpu::isa
