// SPDX-License-Identifier: MIT
// 16-bit operands in halves of VGPRs, and fused multiplication and addition.
#include "model/isa/vector/float_lanes.hpp"

#include <bit>
#include <cmath>

namespace vgpu::isa {

void source16(Execution& e, const VectorInstruction& i, unsigned slot, bool floating, Words& out) {
    const bool upper = (i.op_sel >> slot & 1) != 0;
    if (floating && is_float_constant(i.src[slot])) {
        out.fill(upper ? 0 : half_constants[i.src[slot] - source::half]);
        return;
    }
    Words scratch;
    const Words& whole = source32(e, i.src[slot], slot, scratch);
    const unsigned shift = upper ? 16 : 0;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = whole[lane] >> shift & 0xffff;
    }
}

void store16(Execution& e, const VectorInstruction& i, const Words& value, bool keep_other_half) {
    if (!keep_other_half) {
        store32(e, i.vdst, value);
        return;
    }
    const Words* old = vgpr_lanes(e, indexed_destination(e, i.vdst));
    if (old == nullptr) {
        return;
    }
    const bool upper = (i.op_sel & 8) != 0;
    Words merged;
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        merged[lane] = upper ? ((*old)[lane] & 0xffff) | value[lane] << 16
                             : ((*old)[lane] & 0xffff'0000) | (value[lane] & 0xffff);
    }
    store32(e, i.vdst, merged);
}

namespace {

// The C library's fma is a call for each lane: hosts that have the instruction run a second copy of
// the loop, in which the compiler uses it.
template <typename Source, typename F>
void by_library(const Values<Source>& a, const Values<Source>& b, const Values<Source>& c,
                Values<F>& out) {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = std::fma(std::bit_cast<F>(a[lane]), std::bit_cast<F>(b[lane]),
                             std::bit_cast<F>(c[lane]));
    }
}

#ifdef __x86_64__
template <typename Source, typename F>
[[gnu::target("avx2,fma")]] void by_instruction(const Values<Source>& a, const Values<Source>& b,
                                                const Values<Source>& c, Values<F>& out) {
#pragma GCC ivdep
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        const F x = std::bit_cast<F>(a[lane]);
        const F y = std::bit_cast<F>(b[lane]);
        const F z = std::bit_cast<F>(c[lane]);
        if constexpr (sizeof(F) == sizeof(float)) {
            out[lane] = __builtin_fmaf(x, y, z);
        } else {
            out[lane] = __builtin_fma(x, y, z);
        }
    }
}

bool has_instruction() {
    static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return has;
}
#endif

template <typename Source, typename F>
void fused(const Values<Source>& a, const Values<Source>& b, const Values<Source>& c,
           Values<F>& out) {
#ifdef __x86_64__
    if (has_instruction()) [[likely]] {
        by_instruction(a, b, c, out);
        return;
    }
#endif
    by_library(a, b, c, out);
}

} // namespace

void fused_lanes(const Values<float>& a, const Values<float>& b, const Values<float>& c,
                 Values<float>& out) {
    fused(a, b, c, out);
}

void fused_lanes(const Values<std::uint32_t>& a, const Values<std::uint32_t>& b,
                 const Values<std::uint32_t>& c, Values<float>& out) {
    fused(a, b, c, out);
}

void fused_lanes(const Values<double>& a, const Values<double>& b, const Values<double>& c,
                 Values<double>& out) {
    fused(a, b, c, out);
}

} // namespace vgpu::isa
