// SPDX-License-Identifier: MIT
// Counts the compute queues in KFD's sysfs tree.
#include "kfd/slot_use.hpp"

#include "kfd/queue_slots.hpp"
#include "kfd/sysfs.hpp"
#include "kfd/topology.hpp"

#include <algorithm>

namespace xpreempt::kfd {

std::vector<SlotUse> slot_uses(const Roots& roots) {
    std::vector<SlotUse> uses;
    for (const Node& node : gpu_nodes(roots).value_or(std::vector<Node>{}))
        if (const auto gpu = gpu_of(roots, node.gpu_id); gpu && gpu->cp_queues != 0)
            uses.push_back({node.gpu_id, usable_queue_slots(gpu->cp_queues, gpu->xccs)});
    for (const pid_t pid : kfd_pids(roots).value_or(std::vector<pid_t>{})) {
        const auto process = process_queues(roots, pid);
        for (SlotUse& use : uses) {
            const auto is_on_it = [&](const Queue& queue) {
                return queue.type == QueueType::compute && queue.gpu_id == use.gpu_id;
            };
            const auto count = process ? std::ranges::count_if(process->queues, is_on_it) : 0;
            use.queues += static_cast<std::uint32_t>(count);
            use.processes += count > 0 ? 1U : 0U;
        }
    }
    return uses;
}

std::string cost_of(const SlotUse& use) {
    if (use.queues <= use.slots)
        return "";
    return "GPU " + std::to_string(use.gpu_id) + ": " + std::to_string(use.queues) +
           " compute queues of " + std::to_string(use.processes) + " processes share " +
           std::to_string(use.slots) +
           " slots, so the driver maps them in turns: all of them run slower, and a stop can take "
           "a turn longer; start the programs with a lower XPREEMPT_HW_QUEUES";
}

} // namespace xpreempt::kfd
