// SPDX-License-Identifier: MIT
// Compute queues that a GPU holds at once.
#pragma once

#include <algorithm>
#include <cstdint>

namespace xpreempt::kfd {

// reported: num_cp_queues of the topology. A queue occupies a slot on every XCC, so no number of
// XCCs adds slots. ROCm's driver 6.12.12 reports 120 where each XCC has 24: more than the 32 slots
// of one MEC are those of all XCCs.
constexpr std::uint32_t usable_queue_slots(std::uint32_t reported, std::uint32_t xccs) {
    constexpr std::uint32_t of_one_mec = 32;
    constexpr std::uint32_t of_kfd = 24; // the others belong to graphics and to the driver
    if (reported <= of_one_mec)
        return reported;
    return std::min(reported / std::max(xccs, std::uint32_t{1}), of_kfd);
}

} // namespace xpreempt::kfd
