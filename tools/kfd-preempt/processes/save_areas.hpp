// SPDX-License-Identifier: MIT
// Memory that queues keep for their waves (CWSR areas), computed from the topology.
#pragma once

#include "kfd/sysfs.hpp"
#include "output/context.hpp"

#include <cstdint>
#include <map>
#include <optional>

namespace cli {

// Reads the topology of each GPU once.
class SaveAreas {
public:
    explicit SaveAreas(const Context& context) : context_(context) {}

    // Bytes of the queue's area, all XCCs together; 0 for a queue without waves. Nothing if the
    // topology does not show the GPU, or the GPU has no CWSR.
    std::optional<std::uint64_t> bytes_of(const kfd::Queue& queue);
    // The same for a compute queue of this GPU.
    std::optional<std::uint64_t> bytes_on(std::uint32_t gpu_id);

private:
    const Context& context_;
    std::map<std::uint32_t, std::uint64_t> of_gpus_; // one queue's; 0: unknown
};

// The compute queues of all processes on a GPU. Nothing if KFD's processes cannot be listed here.
std::optional<std::uint64_t> compute_queues_on(const Context& context, std::uint32_t gpu_id);

} // namespace cli
