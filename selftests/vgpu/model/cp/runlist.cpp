// SPDX-License-Identifier: MIT
// Hardware scheduling: SET_RESOURCES, RUN_LIST, MAP_PROCESS, MAP_QUEUES, UNMAP_QUEUES, fences.
#include "model/cp/command_processor.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu {

void CommandProcessor::set_resources(unsigned slot, const pm4::SetResources& packet) {
    if (!packet.for_hiq)
        return; // the KIQ only ever maps queues to slots it names
    hiq_slot_ = slot;
    runlist_vmids_ = packet.vmid_mask;
    runlist_slots_ = packet.queue_mask;
}

// A runlist replaces the whole set of processes; the driver has unmapped the previous one.
void CommandProcessor::start_run_list(const pm4::RunList& packet) {
    if (!packet.valid)
        unit_.observer.unmodelled("cp", "RUN_LIST that is not valid");
    if (packet.chained)
        unit_.observer.unmodelled("cp", "oversubscribed runlist (chained to itself)");
    vmids_in_use_ = 0;
    process_vmid_.reset();
}

void CommandProcessor::map_process(const pm4::MapProcess& packet) {
    unsigned vmid = 0;
    while (vmid < vmid_count && (!bit(runlist_vmids_, vmid) || bit(vmids_in_use_, vmid)))
        ++vmid;
    if (vmid == vmid_count) {
        unit_.observer.unmodelled("cp", "more processes in a runlist than VMIDs");
        process_vmid_.reset();
        return;
    }
    vmids_in_use_ = static_cast<std::uint16_t>(vmids_in_use_ | 1U << vmid);
    process_vmid_ = vmid;
    unit_.memory.set_page_table_base(vmid, packet.page_table_base);
    unit_.memory.set_pasid(vmid, packet.pasid);
    vmids_[vmid] = {.sh_mem_bases = packet.sh_mem_bases,
                    .sh_mem_config = packet.sh_mem_config,
                    .tba_low = low_half(packet.tba),
                    .tba_high = high_half(packet.tba),
                    .tma_low = low_half(packet.tma),
                    .tma_high = high_half(packet.tma)};
    if (unit_.observer.tracing())
        unit_.observer.event("cp",
                             fmt::format("map process pasid {:#x} to vmid {} page table {:#x}",
                                         packet.pasid, vmid, packet.page_table_base));
}

void CommandProcessor::map_queues(const pm4::MapQueues& packet) {
    const bool user = packet.scheduler_chooses_slot;
    if (user && !process_vmid_) {
        unit_.observer.unmodelled("cp", "MAP_QUEUES without a mapped process");
        return;
    }
    if (packet.sdma_engine) {
        if (*packet.sdma_engine >= unit_.sdma.size())
            unit_.observer.unmodelled("cp", fmt::format("SDMA engine {}", *packet.sdma_engine));
        else
            unit_.sdma[*packet.sdma_engine].map_user_queue({.mqd = packet.mqd,
                                                            .doorbell = packet.doorbell,
                                                            .wptr_address = packet.wptr_address,
                                                            .vmid = process_vmid_.value_or(0)});
        return;
    }
    unsigned slot = slot_of({packet.me, packet.pipe, packet.queue});
    if (user) {
        // queue_mask of SET_RESOURCES: bit pipe * 8 + queue of ME 1.
        slot = 0;
        while (slot < hqd_slots && (!bit(runlist_slots_, slot) || connections_[slot] != nullptr))
            ++slot;
        if (slot == hqd_slots) {
            unit_.observer.unmodelled("cp", "more queues in a runlist than slots");
            return;
        }
    } else if (connections_[slot] != nullptr) {
        unit_.observer.unmodelled("cp", "MAP_QUEUES to an occupied slot");
        return;
    }
    Hqd& hqd = hqds_[slot];
    for (std::uint32_t index = 0; index < hqd::count; ++index)
        hqd.registers[index] = unit_.memory.read32(0, packet.mqd + 4ULL * (hqd::mqd_dword + index));
    hqd.set_pair(hqd::mqd_base, packet.mqd);
    hqd.set_pair(hqd::wptr_poll, packet.wptr_address);
    hqd.registers[hqd::doorbell] =
        (hqd.registers[hqd::doorbell] & ~(0x3ff'ffffU << 2)) | packet.doorbell << 2;
    hqd.registers[hqd::vmid] = user ? *process_vmid_ : 0;
    connect(slot, user);
}

Stall CommandProcessor::unmap_queues(unsigned slot, const pm4::UnmapQueues& packet) {
    const StopMode mode = packet.reset ? StopMode::reset : StopMode::save;
    std::vector<unsigned> leaving;
    for (unsigned other = 0; other < hqd_slots; ++other) {
        if (connections_[other] == nullptr || other == slot)
            continue;
        const Hqd& hqd = hqds_[other];
        bool selected = false;
        switch (packet.select) {
        case pm4::QueueSelect::by_doorbell:
            for (unsigned i = 0; i < packet.doorbell_count; ++i)
                selected |= packet.doorbells[i] == hqd.doorbell_dword();
            break;
        case pm4::QueueSelect::by_pasid:
            selected =
                connections_[other]->by_runlist && unit_.memory.pasid(hqd.vmid()) == packet.pasid;
            break;
        // Static queues are those that the KIQ mapped: "all" of a HIQ means its own too.
        case pm4::QueueSelect::all:
        case pm4::QueueSelect::all_dynamic: selected = connections_[other]->by_runlist; break;
        }
        if (selected) {
            leaving.push_back(other);
            begin_stop(other, mode, false);
        }
    }
    const auto of_sdma = [this, packet](unsigned vmid, std::uint32_t doorbell) {
        if (packet.select == pm4::QueueSelect::by_pasid)
            return unit_.memory.pasid(vmid) == packet.pasid;
        const auto listed = std::span(packet.doorbells).first(packet.doorbell_count);
        return packet.select != pm4::QueueSelect::by_doorbell ||
               std::find(listed.begin(), listed.end(), doorbell) != listed.end();
    };
    if (slot == hiq_slot_)
        waves_saved_ = 0;
    return [this, leaving, of_sdma] {
        bool all_left = true;
        for (SdmaEngine& engine : unit_.sdma)
            all_left &= engine.unmap_user_queues(of_sdma);
        for (const unsigned other : leaving)
            if (connections_[other] != nullptr && connections_[other]->stopping)
                all_left &= finish_stop(other);
        return all_left;
    };
}

Stall CommandProcessor::query_status(unsigned slot, const pm4::QueryStatus& packet) {
    if (slot == hiq_slot_ && waves_saved_ != 0) {
        waves_saved_ = 0;
        if (unit_.faults.drop_fence()) {
            unit_.observer.event(
                "fault", fmt::format("fence {:#x} at {:#x} dropped", packet.value, packet.address));
            return {};
        }
    }
    if (slot != hiq_slot_ || !unit_.faults.delay_fence()) {
        unit_.memory.store64(0, packet.address, packet.value);
        return {};
    }
    return [this, packet] {
        if (unit_.faults.fence_held())
            return false;
        unit_.memory.store64(0, packet.address, packet.value);
        return true;
    };
}

} // namespace vgpu
