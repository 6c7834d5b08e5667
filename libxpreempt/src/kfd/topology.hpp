// SPDX-License-Identifier: MIT
// Reads a GPU's shape, memory and link to the host from the topology tree.
#pragma once

#include "base/error.hpp"
#include "kfd/roots.hpp"

#include <cstdint>

namespace xpreempt::kfd {

// The kernel's own numbers, 0 where it reports none. Per GPU unless said otherwise.
struct Gpu {
    std::uint32_t gpu_id = 0;
    std::uint32_t simds = 0;
    std::uint32_t simds_per_cu = 0;
    std::uint32_t shader_arrays = 0;
    std::uint32_t arrays_per_engine = 0;
    std::uint32_t xccs = 1;
    std::uint32_t cp_queues = 0;          // num_cp_queues: some drivers count those of all XCCs
    std::uint32_t gfx_version = 0;        // 90402 is gfx942
    std::uint32_t engine_mhz = 0;         // highest engine clock
    std::uint64_t cwsr_bytes_per_xcc = 0; // control stack and wave data; from 6.13 and in 6.12.y
    std::uint64_t ctl_stack_bytes_per_xcc = 0; // the part of it that is control stack
    std::uint32_t memory_bits = 0;             // width of the GPU's own memory
    std::uint32_t memory_mhz = 0;              // its highest clock
    std::uint64_t host_link_mbs = 0;           // bandwidth to the CPU's memory
};

// ENOENT: the tree has no such GPU, or this user may not see it.
Result<Gpu> gpu_of(const Roots& roots, std::uint32_t gpu_id);

} // namespace xpreempt::kfd
