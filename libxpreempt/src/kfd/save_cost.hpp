// SPDX-License-Identifier: MIT
// Predicts bounds on the cost of saving a queue's waves, from the shape of the GPU.
#pragma once

#include "kfd/topology.hpp"

#include <cstdint>

namespace xpreempt::kfd {

enum class Memory : std::uint8_t {
    unknown,
    system, // behind the link to the host
    vram,
};

// The cost for one queue, all XCCs together. A figure is 0 if one of its inputs isn't known.
struct SaveCost {
    // Every wave slot, register and byte of LDS of the GPU in use: the size of the CWSR area.
    std::uint64_t full_bytes = 0;
    std::uint64_t control_bytes = 0; // of it, control stacks
    std::uint64_t debug_bytes = 0;   // of it, for a debugger, which a save doesn't write
    // One wave of 64 VGPRs on each CU: what a small kernel leaves to save.
    std::uint64_t light_bytes = 0;

    // From the doorbell until the data is stored: the first with the peak bandwidth of the memory,
    // the last with 80 % of it. Locks, scheduler firmware, its grace period and memory operations
    // under way come on top; no formula gives those.
    double full_us_least = 0;
    double full_us_most = 0;
    double light_us_most = 0;
};

// The inputs that bound the time, as far as the driver reports them; 0: it doesn't.
std::uint64_t memory_mbs(const Gpu& gpu, Memory memory);
std::uint32_t compute_units(const Gpu& gpu);

// Where memory is unknown the times span both: least for VRAM, most for system memory.
SaveCost predict_save(const Gpu& gpu, Memory memory);

// The time of a stop that stores these bytes, by the bandwidth alone: at its peak, and at 80 % of
// it. 0 where it isn't known.
struct StopTime {
    double us_least = 0, us_most = 0;
};
StopTime predict_stop(const Gpu& gpu, Memory memory, std::uint64_t bytes);

} // namespace xpreempt::kfd
