// SPDX-License-Identifier: MIT
// A runlist with more processes than VMIDs or more queues than slots: whose turn it is.
#include "model/cp/command_processor.hpp"
#include "model/cp/scheduler.hpp"

#include <algorithm>

namespace vgpu {

std::optional<std::uint64_t> Scheduler::slice_left() const {
    if (!oversubscribed_ || !runlist_.chained || leaving_)
        return std::nullopt;
    const std::uint64_t now = unit_.clock.ticks();
    return slice_end_ > now ? slice_end_ - now : 0;
}

// From MEC 184 on, firmware that is told so (SET_RESOURCES) maps processes of one XNACK mode at a
// time: the first that has its turn chooses for the slice. SH_MEM_CONFIG.RETRY_DISABLE is the mode.
bool Scheduler::xnack_mode_fits(const pm4::MapProcess& packet) {
    const bool retries = !bit(packet.sh_mem_config, 12);
    if (!separates_xnack_modes_)
        return true;
    if (!retries_)
        retries_ = retries;
    return retries_ == retries;
}

// The driver chains a list that doesn't fit. Here it didn't, so its idea of what fits is wrong.
void Scheduler::report_surplus() {
    const auto& processes = runlist_.processes;
    if (std::any_of(processes.begin(), processes.end(), [this](const ListedProcess& process) {
            return !xnack_mode_fits(process.packet);
        })) {
        unit_.observer.unmodelled("cp", "both XNACK modes in a runlist, not chained");
        return;
    }
    const auto controls_gws = [](const ListedProcess& process) {
        return process.packet.gws_resources != 0;
    };
    if (std::count_if(processes.begin(), processes.end(), controls_gws) > 1) {
        unit_.observer.unmodelled("cp", "more GWS in a runlist than there is, not chained");
        return;
    }
    const bool vmids = std::any_of(processes.begin(), processes.end(),
                                   [](const ListedProcess& process) { return !process.vmid; });
    unit_.observer.unmodelled("cp", vmids ? "more processes in a runlist than VMIDs, not chained"
                                          : "more queues in a runlist than slots, not chained");
}

bool Scheduler::run() {
    if (list_read_) {
        begin_slice();
        // A queue that stayed in its slot takes room that the driver counts on.
        if (!runlist_.chained && !runlist_.fits() && skipped_vmids() == 0)
            report_surplus();
        return true;
    }
    // A slice that is ending does so even when nothing waits any more: its queues are stopped.
    if (!leaving_) {
        if (!oversubscribed_ || !runlist_.chained || unit_.clock.ticks() < slice_end_)
            return false;
        end_slice();
    }
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): end_slice() has set it
    const bool compute_left = all_left(*leaving_);
    if (!unmap_sdma_queues() || !compute_left)
        return false;
    begin_slice();
    return true;
}

bool Scheduler::unmap_sdma_queues() {
    bool left = true;
    for (SdmaEngine& engine : unit_.sdma)
        left &= engine.unmap_user_queues([](unsigned, std::uint32_t) { return true; });
    return left;
}

void Scheduler::end_slice() {
    unit_.observer.count("time_slices", 1);
    unit_.observer.event("cp", "time slice ends");
    leaving_.emplace();
    for (CommandProcessor* xcc : xccs_)
        for (unsigned slot = 0; slot < hqd_slots; ++slot)
            if (xcc->by_runlist(slot)) {
                leaving_->emplace_back(xcc, slot);
                xcc->begin_stop(slot, StopMode::save, false);
            }
}

// Those that have waited longest come first.
std::vector<std::pair<ListedProcess*, ListedQueue*>> Scheduler::turns() {
    std::vector<std::pair<ListedProcess*, ListedQueue*>> queues;
    for (ListedProcess& process : runlist_.processes)
        for (ListedQueue& queue : process.queues)
            queues.emplace_back(&process, &queue);
    if (runlist_.chained)
        std::stable_sort(queues.begin(), queues.end(), [this](const auto& a, const auto& b) {
            return last_slice_[a.second->packet.mqd] < last_slice_[b.second->packet.mqd];
        });
    return queues;
}

void Scheduler::begin_slice() {
    list_read_ = false;
    leaving_.reset();
    slot_order_.start_over();
    retries_.reset();
    vmids_in_use_ = skipped_vmids();
    for (unsigned vmid = 0; vmid < vmid_count; ++vmid)
        if (!bit(vmids_in_use_, vmid))
            for (CommandProcessor* xcc : xccs_)
                xcc->clear_watches(vmid);
    for (ListedProcess& process : runlist_.processes) {
        process.vmid.reset();
        for (ListedQueue& queue : process.queues)
            queue.mapped = false;
    }
    ++slice_;
    slice_end_ = unit_.clock.ticks();
    const auto queues = turns();
    // A schedule cuts it short, as a runlist that comes in the middle of a slice does.
    if (!queues.empty())
        slice_end_ += slice_ticks(queues.front().first->packet) >>
                      unit_.schedule.pick(Schedule::Kind::time_slice, 4);
    for (const auto& [process, queue] : queues)
        if (place(*process, *queue))
            last_slice_[queue->packet.mqd] = slice_;
    for (ListedProcess& process : runlist_.processes)
        if (!process.vmid && xnack_mode_fits(process.packet))
            give_vmid(process);
    oversubscribed_ = !runlist_.all_mapped();
}

} // namespace vgpu
