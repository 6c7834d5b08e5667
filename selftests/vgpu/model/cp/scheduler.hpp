// SPDX-License-Identifier: MIT
// Hardware scheduling of all XCCs together: what the packets of the HIQ ask for.
#pragma once

#include "model/base/clock.hpp"
#include "model/base/observer.hpp"
#include "model/cp/cp_faults.hpp"
#include "model/cp/pm4.hpp"
#include "model/cp/pm4_executor.hpp"
#include "model/gmc/memory_controller.hpp"
#include "model/sdma/sdma_engine.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace vgpu {

class CommandProcessor;

// One partition of all XCCs (SPX). Each XCC has a HIQ, and they share one ring. Only that of XCC 0
// is acted on, here, for all XCCs: a queue of the runlist has the same slot on each, and leaves it
// on each before the next packet begins.
class Scheduler {
public:
    struct Surroundings {
        MemoryController& memory;
        std::span<SdmaEngine> sdma;
        Clock& clock;
        CpFaults& faults;
        Observer& observer;
    };
    explicit Scheduler(const Surroundings& surroundings) : unit_(surroundings) {}

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

    // Waves of a queue were saved, for whatever reason.
    void count_saved(std::uint64_t waves) { waves_saved_ += waves; }
    void reset();

private:
    using Leaving = std::vector<std::pair<CommandProcessor*, unsigned>>;
    bool all_left(const Leaving& leaving) const;
    bool selects(const pm4::UnmapQueues& packet, const CommandProcessor& xcc, unsigned slot) const;
    void map_sdma_queue(const pm4::MapQueues& packet);

    Surroundings unit_;
    std::vector<CommandProcessor*> xccs_;
    std::uint64_t waves_saved_ = 0; // since the last UNMAP_QUEUES of the HIQ began
    std::uint16_t runlist_vmids_ = 0;
    std::uint64_t runlist_slots_ = 0;
    std::uint16_t vmids_in_use_ = 0;
    std::optional<unsigned> process_vmid_; // of the MAP_PROCESS whose queues follow
};

} // namespace vgpu
