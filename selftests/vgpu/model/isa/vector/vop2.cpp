// SPDX-License-Identifier: MIT
// VOP2 integer operations. MI300 ISA, "VOP2 Instructions".
#include "model/isa/vector/vector_alu.hpp"

#include <algorithm>

namespace vgpu::isa {

namespace {

i32 sext24(u32 a) {
    return static_cast<i32>(a << 8) >> 8;
}
u32 zext24(u32 a) {
    return a & 0xffffff;
}
i32 as_signed(u32 a) {
    return static_cast<i32>(a);
}

constexpr auto mul_i32_i24 = [](u32 a, u32 b) {
    return static_cast<u32>(i64{sext24(a)} * sext24(b));
};
constexpr auto mul_hi_i32_i24 = [](u32 a, u32 b) {
    return static_cast<u32>(i64{sext24(a)} * sext24(b) >> 32);
};
constexpr auto mul_u32_u24 = [](u32 a, u32 b) { return zext24(a) * zext24(b); };
constexpr auto mul_hi_u32_u24 = [](u32 a, u32 b) {
    return static_cast<u32>(u64{zext24(a)} * zext24(b) >> 32);
};
constexpr auto min_i32 = [](u32 a, u32 b) { return as_signed(a) < as_signed(b) ? a : b; };
constexpr auto max_i32 = [](u32 a, u32 b) { return as_signed(a) > as_signed(b) ? a : b; };
constexpr auto min_u32 = [](u32 a, u32 b) { return std::min(a, b); };
constexpr auto max_u32 = [](u32 a, u32 b) { return std::max(a, b); };
constexpr auto lshrrev_b32 = [](u32 a, u32 b) { return b >> (a & 31); };
constexpr auto ashrrev_i32 = [](u32 a, u32 b) {
    return static_cast<u32>(as_signed(b) >> (a & 31));
};
constexpr auto lshlrev_b32 = [](u32 a, u32 b) { return b << (a & 31); };
constexpr auto and_b32 = [](u32 a, u32 b) { return a & b; };
constexpr auto or_b32 = [](u32 a, u32 b) { return a | b; };
constexpr auto xor_b32 = [](u32 a, u32 b) { return a ^ b; };
constexpr auto xnor_b32 = [](u32 a, u32 b) { return ~(a ^ b); };
constexpr auto add_u32 = [](u32 a, u32 b) { return i64{a} + b; };
constexpr auto sub_u32 = [](u32 a, u32 b) { return i64{a} - b; };
constexpr auto subrev_u32 = [](u32 a, u32 b) { return i64{b} - a; };

// abs and neg touch the sign bit, whatever the operands are.
u32 with_signs(const VectorInstruction& i, unsigned slot, u32 value) {
    value = (i.abs >> slot & 1) != 0 ? value & 0x7fff'ffff : value;
    return (i.neg >> slot & 1) != 0 ? value ^ 0x8000'0000 : value;
}

// The third source is a lane mask.
void cndmask_b32(Execution& e, const VectorInstruction& i) {
    const Sources32 in(e, i, 2);
    const u64 choose = read_scalar64(e, i.src[2]);
    alignas(64) Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = (choose >> lane & 1) != 0 ? in[1][lane] : in[0][lane];
    }
    if ((i.abs | i.neg) != 0) [[unlikely]] {
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            out[lane] = with_signs(i, choose >> lane & 1, out[lane]);
        }
    }
    store32(e, i.vdst, out);
}

// 33 bits of sum or difference; bit 32 is the carry or borrow.
template <auto operation, bool carry_in, u32 saturated>
void with_carry(Execution& e, const VectorInstruction& i) {
    const Sources32 in(e, i, 2);
    const u64 carries = carry_in ? read_scalar64(e, i.src[2]) : 0;
    alignas(64) Words out;
    u64 carry_out = 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const u64 result = operation(u64{in[0][lane]}, u64{in[1][lane]}, carries >> lane & 1);
        out[lane] = i.clamp && result >> 32 != 0 ? saturated : static_cast<u32>(result);
        carry_out |= (result >> 32 & 1) << lane;
    }
    store32(e, i.vdst, out);
    if (!e.failed()) {
        store_mask(e, i.sdst, carry_out);
    }
}
constexpr auto add = [](u64 a, u64 b, u64 c) { return a + b + c; };
constexpr auto sub = [](u64 a, u64 b, u64 c) { return a - b - c; };
constexpr auto subrev = [](u64 a, u64 b, u64 c) { return b - a - c; };

constexpr std::array ops{
    VectorOp{0x100, "v_cndmask_b32", cndmask_b32, takes::sign},
    VectorOp{0x106, "v_mul_i32_i24", lanes2<mul_i32_i24>},
    VectorOp{0x107, "v_mul_hi_i32_i24", lanes2<mul_hi_i32_i24>},
    VectorOp{0x108, "v_mul_u32_u24", lanes2<mul_u32_u24>},
    VectorOp{0x109, "v_mul_hi_u32_u24", lanes2<mul_hi_u32_u24>},
    VectorOp{0x10c, "v_min_i32", lanes2<min_i32>},
    VectorOp{0x10d, "v_max_i32", lanes2<max_i32>},
    VectorOp{0x10e, "v_min_u32", lanes2<min_u32>},
    VectorOp{0x10f, "v_max_u32", lanes2<max_u32>},
    VectorOp{0x110, "v_lshrrev_b32", lanes2<lshrrev_b32>},
    VectorOp{0x111, "v_ashrrev_i32", lanes2<ashrrev_i32>},
    VectorOp{0x112, "v_lshlrev_b32", lanes2<lshlrev_b32>},
    VectorOp{0x113, "v_and_b32", lanes2<and_b32>},
    VectorOp{0x114, "v_or_b32", lanes2<or_b32>},
    VectorOp{0x115, "v_xor_b32", lanes2<xor_b32>},
    VectorOp{0x119, "v_add_co_u32", with_carry<add, false, ~0U>, takes::clamp},
    VectorOp{0x11a, "v_sub_co_u32", with_carry<sub, false, 0>, takes::clamp},
    VectorOp{0x11b, "v_subrev_co_u32", with_carry<subrev, false, 0>, takes::clamp},
    VectorOp{0x11c, "v_addc_co_u32", with_carry<add, true, ~0U>, takes::clamp},
    VectorOp{0x11d, "v_subb_co_u32", with_carry<sub, true, 0>, takes::clamp},
    VectorOp{0x11e, "v_subbrev_co_u32", with_carry<subrev, true, 0>, takes::clamp},
    VectorOp{0x134, "v_add_u32", saturating2<u32, add_u32>, takes::clamp},
    VectorOp{0x135, "v_sub_u32", saturating2<u32, sub_u32>, takes::clamp},
    VectorOp{0x136, "v_subrev_u32", saturating2<u32, subrev_u32>, takes::clamp},
    VectorOp{0x13d, "v_xnor_b32", lanes2<xnor_b32>},
};

} // namespace

std::span<const VectorOp> vop2_ops() {
    return ops;
}

} // namespace vgpu::isa
