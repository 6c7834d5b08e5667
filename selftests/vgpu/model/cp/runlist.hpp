// SPDX-License-Identifier: MIT
// The contents of a runlist: processes, each with the queues that follow it.
#pragma once

#include "model/cp/pm4.hpp"

#include <optional>
#include <vector>

namespace vgpu {

// How long a process may run while others wait: its quantum in ms, at 100 MHz. The driver asks for
// 10; 0 is taken for that.
constexpr std::uint64_t slice_ticks(const pm4::MapProcess& packet) {
    return 100'000ULL * (packet.quantum != 0 ? packet.quantum : 10);
}

struct ListedQueue {
    pm4::MapQueues packet;
    bool mapped = false; // in this time slice
};

struct ListedProcess {
    pm4::MapProcess packet;
    std::optional<unsigned> vmid; // in this time slice
    std::vector<ListedQueue> queues;
};

// Emptied by UNMAP_QUEUES, filled again by RUN_LIST.
struct Runlist {
    std::vector<ListedProcess> processes;
    unsigned process_limit = 0; // that may have a VMID at one time
    bool chained = false;       // ends with a jump to its beginning: more than fits at one time

    // Every queue is mapped; besides, every process has a VMID.
    bool all_mapped() const;
    bool fits() const;
    // Takes off what UNMAP_QUEUES selects, whether it is mapped or not.
    void remove(const pm4::UnmapQueues& packet);
};

} // namespace vgpu
