// SPDX-License-Identifier: MIT
// VOP3P: two operations in one, on the halves of 32 bits or the words of 64.
#include "model/isa/vector/packed.hpp"

#include <algorithm>

namespace vgpu::isa {

namespace {

// NOLINTBEGIN(cppcoreguidelines-pro-type-member-init): hot, each is written before it is read

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

// One word of a 64-bit source. A constant is its low word.
const Words& word_of_source(Execution& e, unsigned code, unsigned slot, bool upper,
                            Words& scratch) {
    if (code >= source::vgpr0) {
        return source32(e, upper ? code + 1 : code, slot, scratch);
    }
    const u64 both = is_float_constant(code) ? read_scalar(e, code) : read_scalar64(e, code);
    scratch.fill(static_cast<u32>(upper ? both >> 32 : both));
    return scratch;
}

void store_words(Execution& e, unsigned vdst, const std::array<Words, 2>& words) {
    if (vdst + 1 >= e.wave.arch_vgprs) {
        e.illegal("VGPR beyond the allocation");
        return;
    }
    store32(e, vdst, words[0]);
    store32(e, vdst + 1, words[1]);
}

constexpr auto single_add = [](const Words& a, const Words& b, const Words&, Values<float>& out) {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = std::bit_cast<float>(a[lane]) + std::bit_cast<float>(b[lane]);
    }
};
constexpr auto single_mul = [](const Words& a, const Words& b, const Words&, Values<float>& out) {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = std::bit_cast<float>(a[lane]) * std::bit_cast<float>(b[lane]);
    }
};
constexpr auto single_fma = [](const Words& a, const Words& b, const Words& c, Values<float>& out) {
    fused_lanes(a, b, c, out);
};

// The source as the operation takes it: the register itself, or what neg and MODE made of it.
const Words& modified_single(Execution& e, const Words& bits, bool negated, Words& scratch) {
    const bool flush = !denormals<Single>(e.wave, 0);
    if (!negated && !flush) [[likely]] {
        return bits; // NOLINT(bugprone-return-const-ref-from-parameter): a register's
    }
    const u32 sign = negated ? 0x8000'0000 : 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        scratch[lane] = bits[lane] ^ sign;
    }
    if (flush) {
        auto values = std::bit_cast<Values<float>>(scratch);
        flush_all<Single>(values);
        scratch = std::bit_cast<Words>(values);
    }
    return scratch;
}

template <unsigned sources, auto operation>
void pk_single(Execution& e, const PackedInstruction& p, bool high, Words& out) {
    std::array<Words, 3> scratch;
    std::array<Words, 3> modified;
    std::array<const Words*, 3> in{};
    for (unsigned slot = 0; slot < sources; ++slot) {
        const Words& bits =
            word_of_source(e, p.src[slot], slot, p.upper(high, slot), scratch[slot]);
        in[slot] = &modified_single(e, bits, p.negated(high, slot), modified[slot]);
    }
    const Words& third = *in[sources - 1];
    Values<float> results;
    {
        const RoundingScope rounding(rounding_of<Single>(e.wave));
        operation(*in[0], *in[1], third, results);
    }
    if (any_nan(results)) {
        settle_nans(results, std::bit_cast<Values<float>>(*in[0]),
                    std::bit_cast<Values<float>>(*in[1]), std::bit_cast<Values<float>>(third));
    }
    if (!denormals<Single>(e.wave, 1)) {
        flush_all<Single>(results);
    }
    if (p.clamp) {
        for (float& value : results) {
            value = clamped(value, (e.wave.mode & mode::dx10_clamp) != 0);
        }
    }
    out = std::bit_cast<Words>(results);
}

template <unsigned sources, auto operation> void pk_singles(Execution& e) {
    const PackedInstruction p(e);
    std::array<Words, 2> out;
    pk_single<sources, operation>(e, p, false, out[0]);
    pk_single<sources, operation>(e, p, true, out[1]);
    if (!e.failed()) {
        store_words(e, p.vdst, out);
    }
}

// The low result is a word of the first source, the high one of the second.
void pk_mov_b32(Execution& e) {
    const PackedInstruction p(e);
    std::array<Words, 2> out;
    for (unsigned slot = 0; slot < 2; ++slot) {
        Words scratch;
        out[slot] = word_of_source(e, p.src[slot], slot, p.upper(false, slot), scratch);
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
    ScalarOp{0x30, "v_pk_fma_f32", pk_singles<3, single_fma>, since_gfx90a},
    ScalarOp{0x31, "v_pk_mul_f32", pk_singles<2, single_mul>, since_gfx90a},
    ScalarOp{0x32, "v_pk_add_f32", pk_singles<2, single_add>, since_gfx90a},
    ScalarOp{0x33, "v_pk_mov_b32", pk_mov_b32, since_gfx90a},
};

// NOLINTEND(cppcoreguidelines-pro-type-member-init)

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
