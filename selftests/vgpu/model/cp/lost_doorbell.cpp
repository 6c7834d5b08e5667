// SPDX-License-Identifier: MIT
// A queue that is mapped again and misses the packets submitted while it was unmapped.
#include "model/cp/command_processor.hpp"

#include <fmt/format.h>

namespace vgpu {

// How far an AQL queue had looked when it was last saved in this MQD.
std::optional<std::uint64_t> CommandProcessor::seen_write(std::uint64_t mqd) const {
    const auto saved = saved_mqds_.find(mqd);
    return saved == saved_mqds_.end() ? std::nullopt : std::optional(saved->second.seen_write);
}

// A fault may hide what was submitted since then. Only XCC 0 looks at the write pointer.
void CommandProcessor::lose_doorbell(unsigned slot, std::uint64_t seen) {
    const Hqd& hqd = hqds_[slot];
    if (unit_.xcc != 0 || !connections_[slot]->aql ||
        unit_.memory.read64(hqd.vmid(), hqd.pair(hqd::wptr_poll)) <= seen ||
        !unit_.faults.lose_doorbell({.doorbell = hqd.doorbell_dword(),
                                     .vmid = hqd.vmid(),
                                     .pasid = unit_.memory.pasid(hqd.vmid())}))
        return;
    connections_[slot]->aql->ignore_writes();
    unit_.observer.event(
        actor_, fmt::format("queue {:#x} ignores its write pointer", hqd.doorbell_dword()));
}

} // namespace vgpu
