// SPDX-License-Identifier: MIT
// Compute queues that a GPU holds at once.
#pragma once

#include <algorithm>
#include <cstdint>

namespace xpreempt::kfd {

// told: num_cp_queues of the topology. A queue occupies a slot on every XCC, so no number of XCCs
// adds slots. ROCm's driver 6.12.12 reports 120 where each XCC has 24: more than the 32 slots of
// one MEC are those of all XCCs.
constexpr std::uint32_t usable_queue_slots(std::uint32_t told, std::uint32_t xccs) {
    constexpr std::uint32_t of_one_mec = 32;
    constexpr std::uint32_t of_kfd = 24; // the others belong to graphics and to the driver
    if (told <= of_one_mec)
        return told;
    return std::min(told / std::max(xccs, std::uint32_t{1}), of_kfd);
}

} // namespace xpreempt::kfd
