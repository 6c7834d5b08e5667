// SPDX-License-Identifier: MIT
// The comparison of packets that wait for a value: WAIT_REG_MEM of the CP, POLL_REGMEM of SDMA.
#pragma once

#include <cstdint>

namespace vgpu {

// Returns whether the wait is over. Functions: 0 always, 1 <, 2 <=, 3 ==, 4 !=, 5 >=, 6 >.
constexpr bool poll_succeeds(unsigned function, std::uint32_t value, std::uint32_t reference) {
    switch (function) {
    case 1: return value < reference;
    case 2: return value <= reference;
    case 3: return value == reference;
    case 4: return value != reference;
    case 5: return value >= reference;
    case 6: return value > reference;
    default: return true;
    }
}

} // namespace vgpu
