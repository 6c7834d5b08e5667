// SPDX-License-Identifier: MIT
// The size of an area is that of a full GPU, whatever its queue does.
#include "processes/save_areas.hpp"

#include "kfd/save_cost.hpp"
#include "kfd/topology.hpp"
#include "processes/kfd_processes.hpp"

#include <algorithm>

namespace cli {

std::optional<std::uint64_t> SaveAreas::bytes_of(const kfd::Queue& queue) {
    return queue.type == kfd::QueueType::compute ? bytes_on(queue.gpu_id) : 0;
}

std::optional<std::uint64_t> SaveAreas::bytes_on(std::uint32_t gpu_id) {
    const auto [known, is_new] = of_gpus_.try_emplace(gpu_id);
    if (is_new)
        if (const auto gpu = kfd::gpu_of(context_.roots, gpu_id))
            known->second = kfd::predict_save(*gpu, kfd::Memory::unknown).full_bytes;
    return known->second != 0 ? std::optional(known->second) : std::nullopt;
}

std::optional<std::uint64_t> compute_queues_on(const Context& context, std::uint32_t gpu_id) {
    const Result<std::vector<pid_t>> pids = kfd_pids(context);
    if (!pids)
        return std::nullopt;
    std::uint64_t count = 0;
    for (const pid_t pid : *pids)
        if (const Result<kfd::Process> process = kfd_process(context, pid)) // else it has ended
            count += static_cast<std::uint64_t>(
                std::ranges::count_if(process->queues, [=](const kfd::Queue& queue) {
                    return queue.gpu_id == gpu_id && queue.type == kfd::QueueType::compute;
                }));
    return count;
}

} // namespace cli
