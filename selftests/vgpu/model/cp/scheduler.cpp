// SPDX-License-Identifier: MIT
// Hardware scheduling: SET_RESOURCES, RUN_LIST, MAP_PROCESS, MAP_QUEUES, UNMAP_QUEUES, fences.
#include "model/cp/scheduler.hpp"

#include "model/cp/command_processor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace vgpu {
namespace {

// How long the firmware waits for queues to leave: 3 s of the 9 s that the driver waits for the
// fence (queue_preemption_timeout_ms). The real figure isn't known here.
constexpr std::uint64_t unmap_timeout_ticks = 300'000'000;

} // namespace

void Scheduler::reset() {
    waves_saved_ = 0;
    runlist_vmids_ = 0;
    runlist_slots_ = 0;
    vmids_in_use_ = 0;
    gws_resources_ = 0;
    separates_xnack_modes_ = false;
    retries_.reset();
    runlist_ = {};
    oversubscribed_ = false;
    list_read_ = false;
    last_slice_.clear();
    leaving_.reset();
}

void Scheduler::set_resources(const pm4::SetResources& packet) {
    runlist_vmids_ = packet.vmid_mask;
    runlist_slots_ = packet.queue_mask;
    separates_xnack_modes_ = packet.separates_xnack_modes;
    gws_resources_ = packet.gws_mask;
}

// A runlist replaces the whole set of processes; the driver has unmapped the previous one. The
// packet is at the end of a list once more when it is chained to its beginning.
void Scheduler::start_run_list(const pm4::RunList& packet) {
    if (!packet.valid)
        unit_.observer.unmodelled("cp", "RUN_LIST that is not valid");
    if (packet.chained) {
        runlist_.chained = true;
        return;
    }
    runlist_ = {};
    runlist_.process_limit = packet.process_count != 0 ? packet.process_count : vmid_count;
    oversubscribed_ = false;
    leaving_.reset();
    list_read_ = true;
}

void Scheduler::map_process(const pm4::MapProcess& packet) {
    runlist_.processes.push_back({.packet = packet, .vmid = {}, .queues = {}});
}

std::optional<unsigned> Scheduler::free_vmid(std::uint16_t pasid) const {
    if (const std::uint16_t own = skipped_vmids(pasid); own != 0)
        return static_cast<unsigned>(std::countr_zero(own));
    unsigned vmid = 0;
    while (vmid < vmid_count && (!bit(runlist_vmids_, vmid) || bit(vmids_in_use_, vmid)))
        ++vmid;
    const auto in_use = static_cast<unsigned>(std::popcount(vmids_in_use_));
    if (vmid == vmid_count || in_use >= runlist_.process_limit)
        return std::nullopt;
    return vmid;
}

// Consecutive resources that no other VMID in use has. A VMID whose queue stayed keeps its own.
std::optional<sq::GwsRange> Scheduler::free_gws(unsigned resources, unsigned vmid) const {
    if (resources == 0)
        return sq::GwsRange{};
    if (const sq::GwsRange own = xccs_.front()->gws(vmid);
        bit(vmids_in_use_, vmid) && own.size == resources)
        return own;
    std::uint64_t free = gws_resources_;
    for (unsigned other = 0; other < vmid_count; ++other)
        if (other != vmid && bit(vmids_in_use_, other))
            free &= ~xccs_.front()->gws(other).mask();
    for (unsigned base = 0; base + resources <= sq::gws_resources; ++base) {
        const sq::GwsRange range{base, resources};
        if ((range.mask() & ~free) == 0)
            return range;
    }
    return std::nullopt;
}

// False while all VMIDs are taken, or the resources of GWS that the process needs.
bool Scheduler::give_vmid(ListedProcess& process) {
    const auto found = free_vmid(process.packet.pasid);
    if (!found)
        return false;
    const unsigned vmid = *found;
    const auto gws = free_gws(process.packet.gws_resources, vmid);
    if (!gws)
        return false;
    vmids_in_use_ = static_cast<std::uint16_t>(vmids_in_use_ | 1U << vmid);
    process.vmid = vmid;
    const pm4::MapProcess& packet = process.packet;
    unit_.memory.set_page_table_base(vmid, packet.page_table_base);
    unit_.memory.set_pasid(vmid, packet.pasid);
    for (CommandProcessor* xcc : xccs_) {
        xcc->set_gws(vmid, *gws);
        xcc->clear_watches(vmid);
        xcc->set_watches(vmid, packet);
        xcc->set_process(vmid, {.sh_mem_bases = packet.sh_mem_bases,
                                .sh_mem_config = packet.sh_mem_config,
                                .tba_low = low_half(packet.tba),
                                .tba_high = high_half(packet.tba),
                                .tma_low = low_half(packet.tma),
                                .tma_high = high_half(packet.tma),
                                .debug_control = packet.debug_control});
    }
    if (unit_.observer.tracing())
        unit_.observer.event("cp",
                             fmt::format("map process pasid {:#x} to vmid {} page table {:#x}",
                                         packet.pasid, vmid, packet.page_table_base));
    return true;
}

void Scheduler::map_sdma_queue(const pm4::MapQueues& packet, unsigned engine, unsigned vmid) {
    if (engine >= unit_.sdma.size())
        unit_.observer.unmodelled("cp", fmt::format("SDMA engine {}", engine));
    else
        unit_.sdma[engine].map_user_queue({.mqd = packet.mqd,
                                           .doorbell = packet.doorbell,
                                           .wptr_address = packet.wptr_address,
                                           .vmid = vmid});
}

void Scheduler::map_queues(const pm4::MapQueues& packet) {
    if (runlist_.processes.empty()) {
        unit_.observer.unmodelled("cp", "MAP_QUEUES without a mapped process");
        return;
    }
    runlist_.processes.back().queues.push_back({.packet = packet, .mapped = false});
}

// queue_mask of SET_RESOURCES: bit pipe * 8 + queue of ME 1.
std::optional<unsigned> Scheduler::free_slot() const {
    for (const unsigned slot : slot_order_.slots())
        if (bit(runlist_slots_, slot) &&
            std::none_of(xccs_.begin(), xccs_.end(),
                         [slot](const CommandProcessor* xcc) { return xcc->connected(slot); }))
            return slot;
    return std::nullopt;
}

// False when the process has another XNACK mode than the slice, or when there is neither a VMID for
// the process nor a slot for the queue. An XCC on which the queue is still active keeps it as it
// is: loading its MQD would start over what runs there.
bool Scheduler::place(ListedProcess& process, ListedQueue& queue) {
    if (!xnack_mode_fits(process.packet) || (!process.vmid && !give_vmid(process)))
        return false;
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): give_vmid() has set it
    const unsigned vmid = *process.vmid;
    if (queue.packet.sdma_engine) {
        map_sdma_queue(queue.packet, *queue.packet.sdma_engine, vmid);
        queue.mapped = true;
        return true;
    }
    const auto active = skipped_slot(queue.packet);
    const auto slot = active ? active : free_slot();
    if (!slot)
        return false;
    for (CommandProcessor* xcc : xccs_)
        if (xcc->skipped(*slot))
            xcc->keep_queue(*slot);
        else if (!xcc->connected(*slot)) // its dequeue may be pending here
            xcc->load_queue(*slot, queue.packet, vmid);
    queue.mapped = true;
    return true;
}

bool Scheduler::selects(const pm4::UnmapQueues& packet, const CommandProcessor& xcc,
                        unsigned slot) const {
    switch (packet.select) {
    case pm4::QueueSelect::by_doorbell: return packet.names(xcc.hqd(slot).doorbell_dword());
    case pm4::QueueSelect::by_pasid:
        return xcc.by_runlist(slot) && unit_.memory.pasid(xcc.hqd(slot).vmid()) == packet.pasid;
    // Static queues are those that the KIQ mapped: "all" of a HIQ means its own too.
    case pm4::QueueSelect::all:
    case pm4::QueueSelect::all_dynamic: return xcc.by_runlist(slot);
    }
    return false;
}

Stall Scheduler::unmap_queues(unsigned hiq, const pm4::UnmapQueues& packet) {
    const StopMode mode = packet.reset ? StopMode::reset : StopMode::save;
    // Also what waits for its turn. A slice that is just ending has nothing to continue with then.
    runlist_.remove(packet);
    oversubscribed_ = !list_read_ && !runlist_.all_mapped();
    Leaving leaving;
    for (CommandProcessor* xcc : xccs_)
        for (unsigned slot = 0; slot < hqd_slots; ++slot)
            if (slot != hiq && xcc->connected(slot) && selects(packet, *xcc, slot) &&
                !xcc->skips_unmap(slot, mode)) {
                leaving.emplace_back(xcc, slot);
                xcc->begin_stop(slot, mode, false);
            }
    const auto of_sdma = [this, packet](unsigned vmid, std::uint32_t doorbell) {
        if (packet.select == pm4::QueueSelect::by_pasid)
            return unit_.memory.pasid(vmid) == packet.pasid;
        return packet.select != pm4::QueueSelect::by_doorbell || packet.names(doorbell);
    };
    waves_saved_ = 0;
    const std::uint64_t deadline = unit_.clock.ticks() + unmap_timeout_ticks;
    return [this, hiq, leaving, of_sdma, deadline] {
        const bool compute_left = all_left(leaving);
        bool sdma_left = true;
        for (SdmaEngine& engine : unit_.sdma)
            sdma_left &= engine.unmap_user_queues(of_sdma);
        if (!sdma_left || (!compute_left && unit_.clock.ticks() < deadline))
            return false;
        if (!compute_left)
            for (CommandProcessor* xcc : xccs_)
                xcc->report_hung(hiq);
        return true;
    };
}

bool Scheduler::all_left(const Leaving& leaving) const {
    bool all = true;
    for (const auto& [xcc, slot] : leaving)
        all &= xcc->left(slot);
    return all;
}

// The HIQs of all XCCs read one ring with packets that name no XCC: each writes its own copy.
void Scheduler::write_register(std::uint32_t dword, std::uint32_t value) {
    if (!in_xcc_aperture(dword)) {
        xccs_.front()->write_own_register(dword, value);
        return;
    }
    for (unsigned xcc = 0; xcc < xccs(); ++xcc)
        if (dword != reg::gc::CP_IQ_WAIT_TIME2 || !unit_.faults.lose_grace(xcc))
            xccs_[xcc]->write_own_register(dword, value);
}

Stall Scheduler::query_status(const pm4::QueryStatus& packet) {
    if (waves_saved_ != 0) {
        waves_saved_ = 0;
        if (unit_.faults.drop_fence()) {
            unit_.observer.event(
                "fault", fmt::format("fence {:#x} at {:#x} dropped", packet.value, packet.address));
            return {};
        }
    }
    const Schedule::Step at = unit_.schedule.later(Schedule::Kind::fence);
    if (!unit_.faults.delay_fence() && unit_.schedule.reached(at)) {
        unit_.memory.store64(0, packet.address, packet.value);
        return {};
    }
    return [this, packet, at] {
        if (unit_.faults.fence_held() || !unit_.schedule.reached(at))
            return false;
        unit_.memory.store64(0, packet.address, packet.value);
        return true;
    };
}

} // namespace vgpu
