// SPDX-License-Identifier: MIT
// Dot products, and packed sums, that VOP2 adds to its destination and VOP3P to a third source.
#include "model/isa/vector/packed.hpp"

namespace vgpu::isa {

namespace {

// Element `index` of a register that holds 32/bits of them.
template <unsigned bits, bool is_signed> i64 element(u32 word, unsigned index) {
    const u32 value = word >> (bits * index) & ((1U << bits) - 1);
    const i64 sign = i64{1} << (bits - 1);
    return is_signed ? (i64{value} ^ sign) - sign : i64{value};
}

template <unsigned bits, bool is_signed> u32 dot(u32 a, u32 b, u32 c, bool clamp) {
    i64 sum = is_signed ? i64{static_cast<i32>(c)} : i64{c};
    for (unsigned i = 0; i < 32 / bits; ++i) {
        sum += element<bits, is_signed>(a, i) * element<bits, is_signed>(b, i);
    }
    using Result = std::conditional_t<is_signed, i32, u32>;
    return clamp ? clamped_to<Result>(sum) : static_cast<u32>(sum);
}

// The sum is exact but for its end. The hardware's own order of additions isn't documented.
float dot2(double a0, double b0, double a1, double b1, float c) {
    const double products = fused_to_odd(a0, b0, a1 * b1);
    return static_cast<float>(fused_to_odd(products, 1, c));
}

template <unsigned bits, bool is_signed>
void dot_accumulate(Execution& e, const VectorInstruction& i) {
    const Sources32 in(e, i, 3);
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = dot<bits, is_signed>(in[0][lane], in[1][lane], in[2][lane], i.clamp);
    }
    store32(e, i.vdst, out);
}

// Lanes of a source as PackedInstruction arranges them: two halves in a word again.
void arranged(Execution& e, const PackedInstruction& p, unsigned slot, bool floating, Words& out) {
    Words scratch;
    const Words& whole = floating ? packed_half_source(e, p.src[slot], slot, scratch)
                                  : source32(e, p.src[slot], slot, scratch);
    Words low;
    Words high;
    halves16(whole, p.upper(false, slot), low);
    halves16(whole, p.upper(true, slot), high);
    const u32 signs =
        (p.negated(false, slot) ? 0x8000U : 0) | (p.negated(true, slot) ? 0x8000'0000U : 0);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = (low[lane] | high[lane] << 16) ^ (floating ? signs : 0);
    }
}

template <unsigned bits, bool is_signed> void pk_dot(Execution& e) {
    const PackedInstruction p(e);
    Words a;
    Words b;
    Words scratch_a;
    Words scratch_b;
    Words scratch_c;
    if constexpr (bits == 16) {
        arranged(e, p, 0, false, a);
        arranged(e, p, 1, false, b);
    } else {
        a = source32(e, p.src[0], 0, scratch_a);
        b = source32(e, p.src[1], 1, scratch_b);
    }
    const Words& c = source32(e, p.src[2], 2, scratch_c);
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = dot<bits, is_signed>(a[lane], b[lane], c[lane], p.clamp);
    }
    store32(e, p.vdst, out);
}

void dot2_lanes(Execution& e, const Words& a, const Words& b, VectorInstruction i) {
    Values<float> sum;
    fetch<Single>(e, i, 2, sum);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const auto value = [&](const Words& word, bool high) {
            return half_to_double(word[lane] >> (high ? 16 : 0) & 0xffff);
        };
        const float c = sum[lane];
        const double a0 = value(a, false);
        const double b0 = value(b, false);
        const double a1 = value(a, true);
        const double b1 = value(b, true);
        const float result = dot2(a0, b0, a1, b1, c);
        sum[lane] = gpu_nan(result, static_cast<float>(a0), static_cast<float>(b0),
                            static_cast<float>(a1), static_cast<float>(b1), c);
    }
    i.abs = 0;
    i.neg = 0;
    finish<Single>(e, i, sum);
}

void pk_dot2_f32_f16(Execution& e) {
    const PackedInstruction p(e);
    Words a;
    Words b;
    arranged(e, p, 0, true, a);
    arranged(e, p, 1, true, b);
    VectorInstruction i;
    i.vdst = p.vdst;
    i.src = p.src;
    i.neg = static_cast<std::uint8_t>(p.neg_lo & 4);
    i.clamp = p.clamp;
    dot2_lanes(e, a, b, i);
}

void dot2c_f32_f16(Execution& e, const VectorInstruction& i) {
    Words scratch_a;
    Words scratch_b;
    Words a = packed_half_source(e, i.src[0], 0, scratch_a);
    Words b = packed_half_source(e, i.src[1], 1, scratch_b);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const auto with_signs = [&](u32 word, unsigned slot) {
            word = (i.abs >> slot & 1) != 0 ? word & 0x7fff'7fff : word;
            return (i.neg >> slot & 1) != 0 ? word ^ 0x8000'8000 : word;
        };
        a[lane] = with_signs(a[lane], 0);
        b[lane] = with_signs(b[lane], 1);
    }
    VectorInstruction rest = i;
    rest.abs = 0;
    rest.neg = 0;
    dot2_lanes(e, a, b, rest);
}

void pk_fmac_f16(Execution& e, const VectorInstruction& i) {
    std::array<Words, 3> in{};
    for (unsigned slot = 0; slot < 3; ++slot) {
        Words scratch;
        in[slot] = packed_half_source(e, i.src[slot], slot, scratch);
    }
    Words out{};
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        for (const unsigned shift : {0U, 16U}) {
            const auto value = [&](unsigned slot) {
                const double whole = half_to_double(in[slot][lane] >> shift & 0xffff);
                const bool flush = !denormals<Half>(e.wave, 0) && is_denormal<Half>(whole);
                return flush ? std::copysign(0.0, whole) : whole;
            };
            const double a = value(0);
            const double b = value(1);
            const double c = value(2);
            out[lane] |= rounded_half(e.wave, gpu_nan(fused_to_odd(a, b, c), a, b, c)) << shift;
        }
    }
    store32(e, i.vdst, out);
}

constexpr std::array ops{
    VectorOp{0x137, "v_dot2c_f32_f16", dot2c_f32_f16, takes::half},
    VectorOp{0x138, "v_dot2c_i32_i16", dot_accumulate<16, true>, takes::clamp},
    VectorOp{0x139, "v_dot4c_i32_i8", dot_accumulate<8, true>, takes::clamp},
    VectorOp{0x13a, "v_dot8c_i32_i4", dot_accumulate<4, true>, takes::clamp},
    VectorOp{0x13c, "v_pk_fmac_f16", pk_fmac_f16, takes::half_constants},
};

constexpr std::array packed{
    ScalarOp{0x23, "v_dot2_f32_f16", pk_dot2_f32_f16},
    ScalarOp{0x26, "v_dot2_i32_i16", pk_dot<16, true>},
    ScalarOp{0x27, "v_dot2_u32_u16", pk_dot<16, false>},
    ScalarOp{0x28, "v_dot4_i32_i8", pk_dot<8, true>},
    ScalarOp{0x29, "v_dot4_u32_u8", pk_dot<8, false>},
    ScalarOp{0x2a, "v_dot8_i32_i4", pk_dot<4, true>},
    ScalarOp{0x2b, "v_dot8_u32_u4", pk_dot<4, false>},
};

} // namespace

std::span<const VectorOp> dot_ops() {
    return ops;
}
std::span<const ScalarOp> packed_dot_ops() {
    return packed;
}

} // namespace vgpu::isa
