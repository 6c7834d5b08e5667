// SPDX-License-Identifier: MIT
// Faults that no packet, fence or register shows to the driver: an UNMAP_QUEUES that passes over a
// queue, and a doorbell that is lost.
#include "model/cp/command_processor.hpp"
#include "model/cp/scheduler.hpp"

#include <fmt/format.h>

namespace vgpu {

// A queue that is passed over keeps running in its slot, and a later runlist may map it again.
bool CommandProcessor::skips_unmap(unsigned slot, StopMode mode) {
    Connection& connection = *connections_[slot];
    if (!connection.by_runlist || !connection.aql || connection.stopping ||
        !unit_.faults.skip_unmap(stop_request(slot, mode, false)))
        return false;
    connection.skipped = true;
    unit_.observer.event(actor_, fmt::format("queue {:#x} stays in {}",
                                             hqds_[slot].doorbell_dword(), name_of(slot)));
    return true;
}

// The slot in which an UNMAP_QUEUES left the queue. The driver may have destroyed that queue, and
// another one with the same MQD has another ring.
std::optional<unsigned> CommandProcessor::skipped_slot(const pm4::MapQueues& packet) const {
    const std::uint64_t mqd = own_mqd(packet);
    for (unsigned slot = 0; slot < hqd_slots; ++slot)
        if (skipped(slot) && hqds_[slot].mqd() == mqd &&
            hqds_[slot].doorbell_dword() == packet.doorbell &&
            hqds_[slot].pair(hqd::pq_base) ==
                unit_.memory.read64(0, mqd + 4ULL * (hqd::mqd_dword + hqd::pq_base)))
            return slot;
    return std::nullopt;
}

void CommandProcessor::keep_queue(unsigned slot) {
    connections_[slot]->skipped = false;
    unit_.observer.event(actor_, fmt::format("queue {:#x} is active in {} already",
                                             hqds_[slot].doorbell_dword(), name_of(slot)));
}

// A queue that stayed on one XCC comes back to the same slot of the others.
std::optional<unsigned> Scheduler::skipped_slot(const pm4::MapQueues& packet) const {
    for (const CommandProcessor* xcc : xccs_)
        if (const auto slot = xcc->skipped_slot(packet))
            return slot;
    return std::nullopt;
}

// VMIDs of queues that stayed: no other process gets them. A PASID restricts them to its process.
std::uint16_t Scheduler::skipped_vmids(std::optional<std::uint16_t> pasid) const {
    unsigned vmids = 0;
    for (const CommandProcessor* xcc : xccs_)
        for (unsigned slot = 0; slot < hqd_slots; ++slot)
            if (const unsigned vmid = xcc->hqd(slot).vmid();
                xcc->skipped(slot) && (!pasid || unit_.memory.pasid(vmid) == pasid))
                vmids |= 1U << vmid;
    return static_cast<std::uint16_t>(vmids);
}

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
