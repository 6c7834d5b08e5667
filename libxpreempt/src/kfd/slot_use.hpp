// SPDX-License-Identifier: MIT
// The slots of each GPU, and the compute queues of all processes that share them.
#pragma once

#include "kfd/roots.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace xpreempt::kfd {

struct SlotUse {
    std::uint32_t gpu_id = 0;
    std::uint32_t slots = 0; // see usable_queue_slots()
    std::uint32_t queues = 0;
    std::uint32_t processes = 0; // that have them
};

// Leaves out GPUs whose slots the driver does not report.
std::vector<SlotUse> slot_uses(const Roots& roots);

// Returns the cost of more queues than slots, or "" if they fit.
std::string cost_of(const SlotUse& use);

} // namespace xpreempt::kfd
