// SPDX-License-Identifier: MIT
// Host arithmetic in a rounding mode, which compilers would otherwise move out of it.
#pragma once

#include <cfenv>
#include <cstdint>

namespace vgpu::test {

inline constexpr int host_rounding[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

// `operation` must read its operands through volatile variables or a call of the C library.
template <typename Operation> std::uint64_t rounded_as(unsigned mode, Operation operation) {
    std::fesetround(host_rounding[mode]);
    volatile std::uint64_t result = operation();
    std::fesetround(FE_TONEAREST);
    return result;
}

} // namespace vgpu::test
