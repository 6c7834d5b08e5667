// SPDX-License-Identifier: MIT
// VOP3P: two operations in one, on the halves of 32 bits or the words of 64.
#include "model/isa/packed.hpp"

#include <algorithm>

namespace vgpu::isa {

namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using u16 = std::uint16_t;
using i16 = std::int16_t;
using i64 = std::int64_t;

// Integers: the exact result is cut to 16 bits, or under CLAMP moved to the nearest that T has.
template <typename T, unsigned sources, auto operation> void pk_words(Execution& e) {
    const PackedInstruction p(e);
    std::array<Words, 3> whole;
    for (unsigned slot = 0; slot < sources; ++slot) {
        Words scratch;
        whole[slot] = source32(e, p.src[slot], slot, scratch);
    }
    Words out{};
    for (const bool high : {false, true}) {
        std::array<Words, 3> in{};
        for (unsigned slot = 0; slot < sources; ++slot) {
            halves16(whole[slot], p.upper(high, slot), in[slot]);
        }
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            i64 value =
                operation(i64{static_cast<T>(in[0][lane])}, i64{static_cast<T>(in[1][lane])},
                          i64{static_cast<T>(in[2][lane])});
            if (p.clamp) {
                value = std::clamp<i64>(value, std::numeric_limits<T>::min(),
                                        std::numeric_limits<T>::max());
            }
            out[lane] |= u32{static_cast<u16>(value)} << (high ? 16 : 0);
        }
    }
    store32(e, p.vdst, out);
}
constexpr auto word_add = [](i64 a, i64 b, i64) { return a + b; };
constexpr auto word_sub = [](i64 a, i64 b, i64) { return a - b; };
constexpr auto word_mul = [](i64 a, i64 b, i64) { return a * b; };
constexpr auto word_mad = [](i64 a, i64 b, i64 c) { return a * b + c; };
constexpr auto word_min = [](i64 a, i64 b, i64) { return std::min(a, b); };
constexpr auto word_max = [](i64 a, i64 b, i64) { return std::max(a, b); };
constexpr auto word_shl = [](i64 a, i64 b, i64) { return b << (a & 15); };
constexpr auto word_shr = [](i64 a, i64 b, i64) { return b >> (a & 15); };

// One half precision result of three sources.
using HalfOperation = double (*)(const WaveState&, double, double, double);
double half_add(const WaveState&, double a, double b, double) {
    return gpu_nan(a + b, a, b);
}
double half_mul(const WaveState&, double a, double b, double) {
    return gpu_nan(a * b, a, b);
}
double half_fma(const WaveState&, double a, double b, double c) {
    return gpu_nan(fused_to_odd(a, b, c), a, b, c);
}
double half_min(const WaveState& wave, double a, double b, double) {
    return signalling_or(wave, minimum(a, b), a, b);
}
double half_max(const WaveState& wave, double a, double b, double) {
    return signalling_or(wave, maximum(a, b), a, b);
}

void fetch_half(Execution& e, const PackedInstruction& p, const Words& whole, bool high,
                unsigned slot, Values<double>& out) {
    Words bits;
    halves16(whole, p.upper(high, slot), bits);
    const u32 sign = p.negated(high, slot) ? half_bits::sign : 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = half_to_double(bits[lane] ^ sign);
    }
    if (!denormals<Half>(e.wave, 0)) {
        flush_all<Half>(out);
    }
}

template <unsigned sources, HalfOperation operation>
void pk_halves_of(Execution& e, const PackedInstruction& p) {
    std::array<Words, 3> whole;
    for (unsigned slot = 0; slot < sources; ++slot) {
        Words scratch;
        whole[slot] = packed_half_source(e, p.src[slot], slot, scratch);
    }
    Words out{};
    for (const bool high : {false, true}) {
        std::array<Values<double>, 3> in{};
        for (unsigned slot = 0; slot < sources; ++slot) {
            fetch_half(e, p, whole[slot], high, slot, in[slot]);
        }
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            double value = operation(e.wave, in[0][lane], in[1][lane], in[2][lane]);
            if (p.clamp) {
                value = clamped(value, (e.wave.mode & mode::dx10_clamp) != 0);
            }
            out[lane] |= rounded_half(e.wave, value) << (high ? 16 : 0);
        }
    }
    store32(e, p.vdst, out);
}
template <unsigned sources, HalfOperation operation> void pk_halves(Execution& e) {
    pk_halves_of<sources, operation>(e, PackedInstruction(e));
}

// Both words of a 64-bit source. A constant is its low word.
void words_of_source(Execution& e, unsigned code, unsigned slot, std::array<Words, 2>& out) {
    if (is_float_constant(code)) {
        out[0].fill(read_scalar(e, code));
        out[1].fill(0);
        return;
    }
    DoubleWords scratch;
    const DoubleWords& both = source64(e, code, slot, Wide::bits, scratch);
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[0][lane] = static_cast<u32>(both[lane]);
        out[1][lane] = static_cast<u32>(both[lane] >> 32);
    }
}

void store_words(Execution& e, unsigned vdst, const std::array<Words, 2>& words) {
    if (vdst + 1 >= e.wave.arch_vgprs) {
        e.illegal("VGPR beyond the allocation");
        return;
    }
    store32(e, vdst, words[0]);
    store32(e, vdst + 1, words[1]);
}

using SingleOperation = void (*)(const Values<float>&, const Values<float>&, const Values<float>&,
                                 Values<float>&);
void single_add(const Values<float>& a, const Values<float>& b, const Values<float>&,
                Values<float>& out) {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = a[lane] + b[lane];
    }
    settle_nans(out, a, b);
}
void single_mul(const Values<float>& a, const Values<float>& b, const Values<float>&,
                Values<float>& out) {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = a[lane] * b[lane];
    }
    settle_nans(out, a, b);
}
void single_fma(const Values<float>& a, const Values<float>& b, const Values<float>& c,
                Values<float>& out) {
    fused_lanes(a, b, c, out);
    settle_nans(out, a, b, c);
}

void fetch_single(Execution& e, const PackedInstruction& p, const std::array<Words, 2>& whole,
                  bool high, unsigned slot, Values<float>& out) {
    const Words& bits = whole[p.upper(high, slot) ? 1 : 0];
    const u32 sign = p.negated(high, slot) ? 0x8000'0000 : 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = std::bit_cast<float>(bits[lane] ^ sign);
    }
    if (!denormals<Single>(e.wave, 0)) {
        flush_all<Single>(out);
    }
}

template <unsigned sources, SingleOperation operation> void pk_singles(Execution& e) {
    const PackedInstruction p(e);
    std::array<std::array<Words, 2>, 3> whole;
    for (unsigned slot = 0; slot < sources; ++slot) {
        words_of_source(e, p.src[slot], slot, whole[slot]);
    }
    std::array<Words, 2> out;
    for (const bool high : {false, true}) {
        std::array<Values<float>, 3> in;
        for (unsigned slot = 0; slot < sources; ++slot) {
            fetch_single(e, p, whole[slot], high, slot, in[slot]);
        }
        Values<float> results;
        {
            const RoundingScope rounding(rounding_of<Single>(e.wave));
            operation(in[0], in[1], in[2], results);
        }
        if (!denormals<Single>(e.wave, 1)) {
            flush_all<Single>(results);
        }
        if (p.clamp) {
            for (float& value : results) {
                value = clamped(value, (e.wave.mode & mode::dx10_clamp) != 0);
            }
        }
        out[high ? 1 : 0] = std::bit_cast<Words>(results);
    }
    if (!e.failed()) {
        store_words(e, p.vdst, out);
    }
}

// The low result is a word of the first source, the high one of the second.
void pk_mov_b32(Execution& e) {
    const PackedInstruction p(e);
    std::array<Words, 2> out;
    for (unsigned slot = 0; slot < 2; ++slot) {
        std::array<Words, 2> whole;
        words_of_source(e, p.src[slot], slot, whole);
        out[slot] = whole[p.upper(false, slot) ? 1 : 0];
    }
    if (!e.failed()) {
        store_words(e, p.vdst, out);
    }
}

constexpr std::array ops{
    ScalarOp{0x00, "v_pk_mad_i16", pk_words<i16, 3, word_mad>},
    ScalarOp{0x01, "v_pk_mul_lo_u16", pk_words<u16, 2, word_mul>},
    ScalarOp{0x02, "v_pk_add_i16", pk_words<i16, 2, word_add>},
    ScalarOp{0x03, "v_pk_sub_i16", pk_words<i16, 2, word_sub>},
    ScalarOp{0x04, "v_pk_lshlrev_b16", pk_words<u16, 2, word_shl>},
    ScalarOp{0x05, "v_pk_lshrrev_b16", pk_words<u16, 2, word_shr>},
    ScalarOp{0x06, "v_pk_ashrrev_i16", pk_words<i16, 2, word_shr>},
    ScalarOp{0x07, "v_pk_max_i16", pk_words<i16, 2, word_max>},
    ScalarOp{0x08, "v_pk_min_i16", pk_words<i16, 2, word_min>},
    ScalarOp{0x09, "v_pk_mad_u16", pk_words<u16, 3, word_mad>},
    ScalarOp{0x0a, "v_pk_add_u16", pk_words<u16, 2, word_add>},
    ScalarOp{0x0b, "v_pk_sub_u16", pk_words<u16, 2, word_sub>},
    ScalarOp{0x0c, "v_pk_max_u16", pk_words<u16, 2, word_max>},
    ScalarOp{0x0d, "v_pk_min_u16", pk_words<u16, 2, word_min>},
    ScalarOp{0x0e, "v_pk_fma_f16", pk_halves<3, half_fma>},
    ScalarOp{0x0f, "v_pk_add_f16", pk_halves<2, half_add>},
    ScalarOp{0x10, "v_pk_mul_f16", pk_halves<2, half_mul>},
    ScalarOp{0x11, "v_pk_min_f16", pk_halves<2, half_min>},
    ScalarOp{0x12, "v_pk_max_f16", pk_halves<2, half_max>},
    ScalarOp{0x30, "v_pk_fma_f32", pk_singles<3, single_fma>},
    ScalarOp{0x31, "v_pk_mul_f32", pk_singles<2, single_mul>},
    ScalarOp{0x32, "v_pk_add_f32", pk_singles<2, single_add>},
    ScalarOp{0x33, "v_pk_mov_b32", pk_mov_b32},
};

} // namespace

const Words& packed_half_source(Execution& e, unsigned code, unsigned slot, Words& scratch) {
    if (is_float_constant(code)) {
        scratch.fill(half_constants[code - source::half]);
        return scratch;
    }
    return source32(e, code, slot, scratch);
}

void halves16(const Words& whole, bool upper, Words& out) {
    const unsigned shift = upper ? 16 : 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = whole[lane] >> shift & 0xffff;
    }
}

std::span<const ScalarOp> packed_ops() {
    return ops;
}

} // namespace vgpu::isa
