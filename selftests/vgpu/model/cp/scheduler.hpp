// SPDX-License-Identifier: MIT
// Hardware scheduling of all XCCs together: what the packets of the HIQ ask for.
#pragma once

#include "model/base/clock.hpp"
#include "model/base/fault_hooks.hpp"
#include "model/base/observer.hpp"
#include "model/base/schedule.hpp"
#include "model/cp/pm4.hpp"
#include "model/cp/pm4_executor.hpp"
#include "model/cp/runlist.hpp"
#include "model/cp/slot_order.hpp"
#include "model/gmc/memory_controller.hpp"
#include "model/sdma/sdma_engine.hpp"
#include "model/sq/gws_range.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace vgpu {

class CommandProcessor;

// One partition of all XCCs (SPX). Each XCC has a HIQ, and they share one ring. Only that of XCC 0
// is acted on, here, for all XCCs: a queue of the runlist has the same slot on each, and leaves it
// on each before the next packet begins.
//
// A runlist with more than fits is served in time slices: at the end of a slice everything is
// saved and taken off, and the queues next in the list come on.
class Scheduler {
public:
    struct Surroundings {
        MemoryController& memory;
        std::deque<SdmaEngine>& sdma;
        Clock& clock;
        FaultHooks& faults;
        Schedule& schedule;
        Observer& observer;
        std::optional<std::uint64_t> slot_seed;
    };
    explicit Scheduler(const Surroundings& surroundings)
        : unit_(surroundings), slot_order_(surroundings.slot_seed) {}

    // In the order of the XCCs, once each.
    void attach(CommandProcessor& xcc) { xccs_.push_back(&xcc); }
    unsigned xccs() const { return static_cast<unsigned>(xccs_.size()); }
    CommandProcessor& xcc(unsigned index) const { return *xccs_[index]; }

    void set_resources(const pm4::SetResources& packet);
    void start_run_list(const pm4::RunList& packet);
    void map_process(const pm4::MapProcess& packet);
    void map_queues(const pm4::MapQueues& packet);
    // The stall that ends when every selected queue has left the hardware. `hiq` stays.
    Stall unmap_queues(unsigned hiq, const pm4::UnmapQueues& packet);
    Stall query_status(const pm4::QueryStatus& packet);
    // A packet of the HIQ writes a register of each XCC.
    void write_register(std::uint32_t dword, std::uint32_t value);

    // Goes on with time slices. True when something was done.
    bool run();
    // Ticks until the slice ends; nothing when everything of the runlist is mapped.
    std::optional<std::uint64_t> slice_left() const;

    // Waves of a queue were saved, for whatever reason.
    void count_saved(std::uint64_t waves) { waves_saved_ += waves; }
    void reset();

private:
    using Leaving = std::vector<std::pair<CommandProcessor*, unsigned>>;
    bool all_left(const Leaving& leaving) const;
    bool selects(const pm4::UnmapQueues& packet, const CommandProcessor& xcc, unsigned slot) const;
    std::optional<unsigned> free_vmid(std::uint16_t pasid) const;
    bool give_vmid(ListedProcess& process);
    std::optional<sq::GwsRange> free_gws(unsigned resources, unsigned vmid) const;
    std::optional<unsigned> free_slot() const;
    bool place(ListedProcess& process, ListedQueue& queue);
    void map_sdma_queue(const pm4::MapQueues& packet, unsigned engine, unsigned vmid);

    // silent_faults.cpp
    std::optional<unsigned> skipped_slot(const pm4::MapQueues& packet) const;
    std::uint16_t skipped_vmids(std::optional<std::uint16_t> pasid = {}) const;

    // time_slices.cpp
    void report_surplus();
    bool xnack_mode_fits(const pm4::MapProcess& packet);
    std::vector<std::pair<ListedProcess*, ListedQueue*>> turns();
    void begin_slice();
    void end_slice();
    bool unmap_sdma_queues();

    Surroundings unit_;
    SlotOrder slot_order_;
    std::vector<CommandProcessor*> xccs_;
    std::uint64_t waves_saved_ = 0; // since the last UNMAP_QUEUES of the HIQ began
    std::uint16_t runlist_vmids_ = 0;
    std::uint64_t runlist_slots_ = 0;
    std::uint16_t vmids_in_use_ = 0;
    std::uint64_t gws_resources_ = 0; // that processes may have
    bool separates_xnack_modes_ = false;
    std::optional<bool> retries_; // XNACK mode of this time slice, when modes are separated
    Runlist runlist_;
    bool list_read_ = false;      // it is new: nothing of it is mapped yet
    bool oversubscribed_ = false; // some queue of it has to wait
    std::uint64_t slice_ = 0;
    std::uint64_t slice_end_ = 0;
    // By MQD, the last slice a queue had a part in. It outlives the runlist, for the driver sends a
    // new one whenever a queue comes or goes, and a queue at the end must have its turn still.
    std::map<std::uint64_t, std::uint64_t> last_slice_;
    std::optional<Leaving> leaving_; // at the end of a slice
};

} // namespace vgpu
