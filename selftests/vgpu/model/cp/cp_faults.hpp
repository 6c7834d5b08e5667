// SPDX-License-Identifier: MIT
// Where a fault knob may step in between the CP and the driver. The default is no fault.
#pragma once

#include <cstdint>

namespace vgpu {

class CpFaults {
public:
    virtual ~CpFaults() = default;

    // A direct dequeue (CP_HQD_DEQUEUE_REQUEST) of a user queue begins.
    virtual void dequeue_begins(unsigned slot) { static_cast<void>(slot); }
    // The driver reads CP_HQD_ACTIVE of a queue with a pending dequeue.
    virtual void active_polled(unsigned slot) { static_cast<void>(slot); }
    // Asked before a stopped queue is taken off its slot: true keeps it there.
    virtual bool dequeue_held(unsigned slot) { return static_cast<void>(slot), false; }
    // Asked for the first QUERY_STATUS of the HIQ after an UNMAP_QUEUES that saved waves: true
    // loses the fence.
    virtual bool drop_fence() { return false; }
    // The device was reset: nothing is pending any more.
    virtual void device_reset() {}
};

} // namespace vgpu
