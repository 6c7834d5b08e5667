// SPDX-License-Identifier: MIT
// The contents of a runlist: processes, each with the queues that follow it.
#include "model/cp/runlist.hpp"

#include <algorithm>

namespace vgpu {

bool Runlist::all_mapped() const {
    return std::all_of(processes.begin(), processes.end(), [](const ListedProcess& process) {
        return std::all_of(process.queues.begin(), process.queues.end(),
                           [](const ListedQueue& queue) { return queue.mapped; });
    });
}

bool Runlist::fits() const {
    return all_mapped() &&
           std::all_of(processes.begin(), processes.end(),
                       [](const ListedProcess& process) { return process.vmid.has_value(); });
}

void Runlist::remove(const pm4::UnmapQueues& packet) {
    switch (packet.select) {
    case pm4::QueueSelect::by_doorbell:
        for (ListedProcess& process : processes)
            std::erase_if(process.queues, [&](const ListedQueue& queue) {
                return packet.names(queue.packet.doorbell);
            });
        return;
    case pm4::QueueSelect::by_pasid:
        std::erase_if(processes, [&](const ListedProcess& process) {
            return process.packet.pasid == packet.pasid;
        });
        return;
    case pm4::QueueSelect::all:
    case pm4::QueueSelect::all_dynamic: processes.clear(); return;
    }
}

} // namespace vgpu
