// SPDX-License-Identifier: MIT
// Operations on the bytes of a register: sums of absolute differences, averages, selection.
#include "model/isa/vector/vector_alu.hpp"

#include <algorithm>

namespace vgpu::isa {

namespace {

u32 byte_of(u64 word, unsigned index) {
    return static_cast<u32>(word >> (8 * index) & 0xff);
}
u32 distance(u32 a, u32 b) {
    return a > b ? a - b : b - a;
}
u32 saturated(bool clamp, u64 sum, u32 largest) {
    return static_cast<u32>(clamp ? std::min<u64>(sum, largest) : sum & largest);
}

// With `masked`, a byte of the reference (the second source) that is 0 doesn't count.
template <bool masked> u64 difference_sum(u32 a, u32 reference) {
    u64 sum = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const u32 other = byte_of(reference, i);
        sum += masked && other == 0 ? 0 : distance(byte_of(a, i), other);
    }
    return sum;
}
u64 sad_u8(u32 a, u32 b, u32 c) {
    return difference_sum<false>(a, b) + c;
}
u64 sad_hi_u8(u32 a, u32 b, u32 c) {
    return (difference_sum<false>(a, b) << 16) + c;
}
u64 msad_u8(u32 a, u32 b, u32 c) {
    return difference_sum<true>(a, b) + c;
}
u64 sad_u16(u32 a, u32 b, u32 c) {
    return u64{distance(a & 0xffff, b & 0xffff)} + distance(a >> 16, b >> 16) + c;
}
u64 sad_u32(u32 a, u32 b, u32 c) {
    return u64{distance(a, b)} + c;
}

template <auto operation> void sums(Execution& e, const VectorInstruction& i) {
    const Sources32 in(e, i, 3);
    Words out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = saturated(i.clamp, operation(in[0][lane], in[1][lane], in[2][lane]), ~0U);
    }
    store32(e, i.vdst, out);
}

// Averages; the low bit of each byte of the third source rounds up.
u32 lerp_u8(u32 a, u32 b, u32 c) {
    u32 result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const u32 sum = byte_of(a, i) + byte_of(b, i) + (byte_of(c, i) & 1);
        result |= (sum >> 1 & 0xff) << (8 * i);
    }
    return result;
}

// Selector bytes: 0-3 of the second source, 4-7 of the first, 8-11 sign fills, 12 zero, 13+ ones.
u32 perm_b32(u32 a, u32 b, u32 selectors) {
    const u64 bytes = u64{a} << 32 | b;
    u32 result = 0;
    for (unsigned i = 0; i < 4; ++i) {
        const u32 selector = byte_of(selectors, i);
        u32 byte = 0xff;
        if (selector < 8) {
            byte = byte_of(bytes, selector);
        } else if (selector < 12) {
            byte = (bytes >> (16 * (selector - 8) + 15) & 1) != 0 ? 0xff : 0;
        } else if (selector == 12) {
            byte = 0;
        }
        result |= byte << (8 * i);
    }
    return result;
}

// Four sums, of the four windows that start at bytes 0 to 3 of a 64-bit source, each 16 bits.
template <bool masked> void quad_sad_u16(Execution& e, const VectorInstruction& i) {
    DoubleWords scratch_a;
    DoubleWords scratch_c;
    Words scratch_b;
    const DoubleWords& a = source64(e, i.src[0], 0, Wide::bits, scratch_a);
    const Words& b = source32(e, i.src[1], 1, scratch_b);
    const DoubleWords& c = source64(e, i.src[2], 2, Wide::bits, scratch_c);
    DoubleWords out;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        u64 result = 0;
        for (unsigned window = 0; window < 4; ++window) {
            const auto bytes = static_cast<u32>(a[lane] >> (8 * window));
            const u64 sum =
                difference_sum<masked>(bytes, b[lane]) + (c[lane] >> (16 * window) & 0xffff);
            result |= u64{saturated(i.clamp, sum, 0xffff)} << (16 * window);
        }
        out[lane] = result;
    }
    store64(e, i.vdst, out);
}

// The same with four 32-bit sums: sources 2 and destination are four registers each.
void quad_sad_u32(Execution& e, const VectorInstruction& i) {
    DoubleWords scratch_a;
    Words scratch_b;
    const DoubleWords& a = source64(e, i.src[0], 0, Wide::bits, scratch_a);
    const Words& b = source32(e, i.src[1], 1, scratch_b);
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-member-init): hot, written before it is read
    std::array<Words, 4> out;
    for (unsigned window = 0; window < 4; ++window) {
        Words scratch_c;
        const Words& c = source32(e, i.src[2] + window, 2, scratch_c);
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            const auto bytes = static_cast<u32>(a[lane] >> (8 * window));
            out[window][lane] =
                saturated(i.clamp, difference_sum<true>(bytes, b[lane]) + c[lane], ~0U);
        }
    }
    for (unsigned window = 0; window < 4 && !e.failed(); ++window) {
        store32(e, i.vdst + window, out[window]);
    }
}

constexpr std::array ops{
    VectorOp{0x1cd, "v_lerp_u8", lanes3<lerp_u8>},
    VectorOp{0x1d9, "v_sad_u8", sums<sad_u8>, takes::clamp},
    VectorOp{0x1da, "v_sad_hi_u8", sums<sad_hi_u8>, takes::clamp},
    VectorOp{0x1db, "v_sad_u16", sums<sad_u16>, takes::clamp},
    VectorOp{0x1dc, "v_sad_u32", sums<sad_u32>, takes::clamp},
    VectorOp{0x1e4, "v_msad_u8", sums<msad_u8>, takes::clamp},
    VectorOp{0x1e5, "v_qsad_pk_u16_u8", quad_sad_u16<false>, takes::clamp},
    VectorOp{0x1e6, "v_mqsad_pk_u16_u8", quad_sad_u16<true>, takes::clamp},
    VectorOp{0x1e7, "v_mqsad_u32_u8", quad_sad_u32, takes::clamp},
    VectorOp{0x1ed, "v_perm_b32", lanes3<perm_b32>},
};

} // namespace

std::span<const VectorOp> byte_ops() {
    return ops;
}

} // namespace vgpu::isa
