// SPDX-License-Identifier: MIT
// The C library's fma is a call for each lane: hosts that have the instruction run a second copy of
// the loop, in which the compiler uses it.
#include "model/isa/fused_lanes.hpp"

#include <cmath>

namespace vgpu::isa {

namespace {

template <typename F>
void by_library(const Values<F>& a, const Values<F>& b, const Values<F>& c, Values<F>& out) {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        out[lane] = std::fma(a[lane], b[lane], c[lane]);
    }
}

#ifdef __x86_64__
template <typename F>
[[gnu::target("avx2,fma")]] void by_instruction(const Values<F>& a, const Values<F>& b,
                                                const Values<F>& c, Values<F>& out) {
    for (unsigned lane = 0; lane < lane_count; ++lane) {
        if constexpr (sizeof(F) == sizeof(float)) {
            out[lane] = __builtin_fmaf(a[lane], b[lane], c[lane]);
        } else {
            out[lane] = __builtin_fma(a[lane], b[lane], c[lane]);
        }
    }
}

bool has_instruction() {
    static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    return has;
}
#endif

template <typename F>
void fused(const Values<F>& a, const Values<F>& b, const Values<F>& c, Values<F>& out) {
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

void fused_lanes(const Values<double>& a, const Values<double>& b, const Values<double>& c,
                 Values<double>& out) {
    fused(a, b, c, out);
}

} // namespace vgpu::isa
