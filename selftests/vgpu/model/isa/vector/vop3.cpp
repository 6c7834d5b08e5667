// SPDX-License-Identifier: MIT
// Integer operations that exist as VOP3 only. MI300 ISA, "VOP3 Instructions".
#include "model/isa/vector/vector_alu.hpp"

#include <algorithm>

namespace vgpu::isa {

namespace {

i32 as_signed(u32 a) {
    return static_cast<i32>(a);
}
i32 sext24(u32 a) {
    return static_cast<i32>(a << 8) >> 8;
}

constexpr auto mad_i32_i24 = [](u32 a, u32 b, u32 c) {
    return i64{sext24(a)} * sext24(b) + as_signed(c);
};
constexpr auto mad_u32_u24 = [](u32 a, u32 b, u32 c) {
    return static_cast<i64>(u64{a & 0xffffff} * (b & 0xffffff) + c);
};
constexpr auto bfe_u32 = [](u32 a, u32 b, u32 c) { return a >> (b & 31) & ((1U << (c & 31)) - 1); };
u32 bfe_i32(u32 a, u32 b, u32 c) {
    const u32 offset = b & 31;
    const u32 width = c & 31;
    if (width == 0) {
        return 0;
    }
    const u32 top = offset + width >= 32 ? 0 : 32 - offset - width;
    return static_cast<u32>(as_signed(a << top) >> (top + offset));
}
constexpr auto bfi_b32 = [](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); };
constexpr auto alignbit_b32 = [](u32 a, u32 b, u32 c) {
    return static_cast<u32>((u64{a} << 32 | b) >> (c & 31));
};
constexpr auto alignbyte_b32 = [](u32 a, u32 b, u32 c) {
    return static_cast<u32>((u64{a} << 32 | b) >> (8 * (c & 3)));
};
constexpr auto min3_i32 = [](u32 a, u32 b, u32 c) {
    return static_cast<u32>(std::min({as_signed(a), as_signed(b), as_signed(c)}));
};
constexpr auto min3_u32 = [](u32 a, u32 b, u32 c) { return std::min({a, b, c}); };
constexpr auto max3_i32 = [](u32 a, u32 b, u32 c) {
    return static_cast<u32>(std::max({as_signed(a), as_signed(b), as_signed(c)}));
};
constexpr auto max3_u32 = [](u32 a, u32 b, u32 c) { return std::max({a, b, c}); };
template <typename T> T median(T a, T b, T c) {
    return std::max(std::min(a, b), std::min(std::max(a, b), c));
}
constexpr auto med3_i32 = [](u32 a, u32 b, u32 c) {
    return static_cast<u32>(median(as_signed(a), as_signed(b), as_signed(c)));
};
constexpr auto med3_u32 = [](u32 a, u32 b, u32 c) { return median(a, b, c); };
constexpr auto xad_u32 = [](u32 a, u32 b, u32 c) { return (a ^ b) + c; };
constexpr auto lshl_add_u32 = [](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; };
constexpr auto add_lshl_u32 = [](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); };
constexpr auto add3_u32 = [](u32 a, u32 b, u32 c) { return a + b + c; };
constexpr auto lshl_or_b32 = [](u32 a, u32 b, u32 c) { return a << (b & 31) | c; };
constexpr auto and_or_b32 = [](u32 a, u32 b, u32 c) { return (a & b) | c; };
constexpr auto or3_b32 = [](u32 a, u32 b, u32 c) { return a | b | c; };

constexpr auto mul_lo_u32 = [](u32 a, u32 b) { return a * b; };
constexpr auto mul_hi_u32 = [](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); };
constexpr auto mul_hi_i32 = [](u32 a, u32 b) {
    return static_cast<u32>(i64{as_signed(a)} * as_signed(b) >> 32);
};
constexpr auto bcnt_u32_b32 = [](u32 a, u32 b) { return static_cast<u32>(std::popcount(a)) + b; };
constexpr auto bfm_b32 = [](u32 a, u32 b) { return ((1U << (a & 31)) - 1) << (b & 31); };
constexpr auto add_i32 = [](u32 a, u32 b) { return i64{as_signed(a)} + as_signed(b); };
constexpr auto sub_i32 = [](u32 a, u32 b) { return i64{as_signed(a)} - as_signed(b); };

// Counts mask bits of lower lanes: _lo looks at lanes 0-31, _hi at 32-63.
template <bool high> void mbcnt(Execution& e, const VectorInstruction& i) {
    const Sources32 in(e, i, 2);
    alignas(64) Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const u64 below = (u64{1} << lane) - 1;
        const u32 window = static_cast<u32>(high ? below >> 32 : below);
        out[lane] = static_cast<u32>(std::popcount(in[0][lane] & window)) + in[1][lane];
    }
    store32(e, i.vdst, out);
}

// EXEC is ignored by both; the lane number may be an SGPR or a constant.
void readlane_b32(Execution& e, const VectorInstruction& i) {
    Words scratch;
    const Words& lanes = source32(e, i.src[0], 0, scratch);
    write_scalar(e, i.sdst, lanes[read_scalar(e, i.src[1]) % lane_count]);
}
void writelane_b32(Execution& e, const VectorInstruction& i) {
    const u32 value = read_scalar(e, i.src[0]);
    const u32 lane = read_scalar(e, i.src[1]) % lane_count;
    Words* lanes = vgpr_lanes(e, indexed_destination(e, i.vdst));
    if (lanes != nullptr) {
        (*lanes)[lane] = value;
    }
}

// The shift amount comes first ("rev").
template <auto operation> void shift64(Execution& e, const VectorInstruction& i) {
    Words scratch_amount;
    DoubleWords scratch;
    const Words& amount = source32(e, i.src[0], 0, scratch_amount);
    const DoubleWords& value = source64(e, i.src[1], 1, Wide::bits, scratch);
    DoubleWords out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = operation(value[lane], amount[lane] & 63);
    }
    store64(e, i.vdst, out);
}
constexpr auto shift_left = [](u64 a, u32 n) { return a << n; };
constexpr auto shift_right = [](u64 a, u32 n) { return a >> n; };
constexpr auto shift_right_signed = [](u64 a, u32 n) {
    return static_cast<u64>(static_cast<i64>(a) >> n);
};

void lshl_add_u64(Execution& e, const VectorInstruction& i) {
    Words scratch_amount;
    DoubleWords scratch_a;
    DoubleWords scratch_c;
    const DoubleWords& a = source64(e, i.src[0], 0, Wide::bits, scratch_a);
    const Words& amount = source32(e, i.src[1], 1, scratch_amount);
    const DoubleWords& c = source64(e, i.src[2], 2, Wide::bits, scratch_c);
    DoubleWords out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = (a[lane] << (amount[lane] & 7)) + c[lane];
    }
    store64(e, i.vdst, out);
}

// 64 + 1 bits of a * b + c; the carry goes to SDST.
template <bool is_signed> void mad_64_32(Execution& e, const VectorInstruction& i) {
    Words scratch_a;
    Words scratch_b;
    DoubleWords scratch_c;
    const Words& a = source32(e, i.src[0], 0, scratch_a);
    const Words& b = source32(e, i.src[1], 1, scratch_b);
    const DoubleWords& c = source64(e, i.src[2], 2, Wide::bits, scratch_c);
    DoubleWords out;
    u64 carry = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const u64 product = is_signed
                                ? static_cast<u64>(i64{as_signed(a[lane])} * as_signed(b[lane]))
                                : u64{a[lane]} * b[lane];
        out[lane] = product + c[lane];
        const bool overflow = is_signed ? ((product ^ out[lane]) & (c[lane] ^ out[lane])) >> 63 != 0
                                        : out[lane] < product;
        carry |= u64{overflow} << lane;
    }
    store64(e, i.vdst, out);
    if (!e.failed()) {
        store_mask(e, i.sdst, carry);
    }
}

constexpr std::array ops{
    VectorOp{0x1c2, "v_mad_i32_i24", saturating3<i32, mad_i32_i24>, takes::clamp},
    VectorOp{0x1c3, "v_mad_u32_u24", saturating3<u32, mad_u32_u24>, takes::clamp},
    VectorOp{0x1c8, "v_bfe_u32", lanes3<bfe_u32>},
    VectorOp{0x1c9, "v_bfe_i32", lanes3<bfe_i32>},
    VectorOp{0x1ca, "v_bfi_b32", lanes3<bfi_b32>},
    VectorOp{0x1ce, "v_alignbit_b32", lanes3<alignbit_b32>},
    VectorOp{0x1cf, "v_alignbyte_b32", lanes3<alignbyte_b32>},
    VectorOp{0x1d1, "v_min3_i32", lanes3<min3_i32>},
    VectorOp{0x1d2, "v_min3_u32", lanes3<min3_u32>},
    VectorOp{0x1d4, "v_max3_i32", lanes3<max3_i32>},
    VectorOp{0x1d5, "v_max3_u32", lanes3<max3_u32>},
    VectorOp{0x1d7, "v_med3_i32", lanes3<med3_i32>},
    VectorOp{0x1d8, "v_med3_u32", lanes3<med3_u32>},
    VectorOp{0x1e8, "v_mad_u64_u32", mad_64_32<false>},
    VectorOp{0x1e9, "v_mad_i64_i32", mad_64_32<true>},
    VectorOp{0x1f3, "v_xad_u32", lanes3<xad_u32>},
    VectorOp{0x1fd, "v_lshl_add_u32", lanes3<lshl_add_u32>},
    VectorOp{0x1fe, "v_add_lshl_u32", lanes3<add_lshl_u32>},
    VectorOp{0x1ff, "v_add3_u32", lanes3<add3_u32>},
    VectorOp{0x200, "v_lshl_or_b32", lanes3<lshl_or_b32>},
    VectorOp{0x201, "v_and_or_b32", lanes3<and_or_b32>},
    VectorOp{0x202, "v_or3_b32", lanes3<or3_b32>},
    VectorOp{0x208, "v_lshl_add_u64", lshl_add_u64, 0, only::gfx942},
    VectorOp{0x285, "v_mul_lo_u32", lanes2<mul_lo_u32>},
    VectorOp{0x286, "v_mul_hi_u32", lanes2<mul_hi_u32>},
    VectorOp{0x287, "v_mul_hi_i32", lanes2<mul_hi_i32>},
    VectorOp{0x289, "v_readlane_b32", readlane_b32},
    VectorOp{0x28a, "v_writelane_b32", writelane_b32},
    VectorOp{0x28b, "v_bcnt_u32_b32", lanes2<bcnt_u32_b32>},
    VectorOp{0x28c, "v_mbcnt_lo_u32_b32", mbcnt<false>},
    VectorOp{0x28d, "v_mbcnt_hi_u32_b32", mbcnt<true>},
    VectorOp{0x28f, "v_lshlrev_b64", shift64<shift_left>},
    VectorOp{0x290, "v_lshrrev_b64", shift64<shift_right>},
    VectorOp{0x291, "v_ashrrev_i64", shift64<shift_right_signed>},
    VectorOp{0x293, "v_bfm_b32", lanes2<bfm_b32>},
    VectorOp{0x29c, "v_add_i32", saturating2<i32, add_i32>, takes::clamp},
    VectorOp{0x29d, "v_sub_i32", saturating2<i32, sub_i32>, takes::clamp},
};

} // namespace

std::span<const VectorOp> vop3_ops() {
    return ops;
}

} // namespace vgpu::isa
