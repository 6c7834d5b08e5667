// SPDX-License-Identifier: MIT
// Where a fault knob may step in between the hardware and the driver. The default is no fault.
#pragma once

#include <cstdint>

namespace vgpu {

// A ring of an SDMA engine, of a user or of the kernel.
struct SdmaRing {
    bool user = true;
    unsigned engine = 0;
    std::uint32_t doorbell = 0;
    unsigned vmid = 0;
    std::uint16_t pasid = 0;
};

// A user queue that is asked to leave the hardware.
struct StopRequest {
    unsigned slot = 0; // unique among all XCCs
    unsigned xcc = 0;
    std::uint32_t doorbell = 0; // dword in the doorbell BAR
    unsigned vmid = 0;
    std::uint16_t pasid = 0;
    bool direct = false; // by CP_HQD_DEQUEUE_REQUEST rather than by UNMAP_QUEUES
    bool save = false;   // its waves are to be saved
};

// A user queue that a runlist maps.
struct MappedQueue {
    std::uint32_t doorbell = 0; // dword in the doorbell BAR
    unsigned vmid = 0;
    std::uint16_t pasid = 0;
};

class FaultHooks {
public:
    virtual ~FaultHooks() = default;

    virtual void stop_begins(const StopRequest& request) { static_cast<void>(request); }
    // Asked for each queue that an UNMAP_QUEUES of the HIQ selects: true leaves it in its slot.
    virtual bool skip_unmap(const StopRequest& request) {
        return static_cast<void>(request), false;
    }
    // Asked for a queue that is mapped again and has packets it never saw: true keeps it from
    // looking at its write pointer.
    virtual bool lose_doorbell(const MappedQueue& queue) { return static_cast<void>(queue), false; }
    // The HIQ writes CP_IQ_WAIT_TIME2: true keeps the write from this XCC.
    virtual bool lose_grace(unsigned xcc) { return static_cast<void>(xcc), false; }
    // The driver reads CP_HQD_ACTIVE of a queue with a pending dequeue.
    virtual void active_polled(unsigned slot) { static_cast<void>(slot); }
    // Asked before a stopped queue is taken off its slot: true keeps it there.
    virtual bool stop_held(unsigned slot) { return static_cast<void>(slot), false; }
    // A queue that doesn't leave is reset: false when it stays even so.
    virtual bool queue_reset(unsigned slot) { return static_cast<void>(slot), true; }
    // Asked once for each save: true makes the queue's waves ignore it.
    virtual bool waves_hang(const StopRequest& request) {
        return static_cast<void>(request), false;
    }
    // Asked for the first QUERY_STATUS of the HIQ after an UNMAP_QUEUES that saved waves: true
    // loses the fence.
    virtual bool drop_fence() { return false; }
    // Asked once for each unmap of a queue, when its waves are saved: true lets the HIQ continue
    // before the queue is stored. The queue stays in its slot while stop_held().
    virtual bool early_fence(const StopRequest& request) {
        return static_cast<void>(request), false;
    }
    // A fence of the HIQ is about to be written; then asked again and again while it waits.
    virtual bool delay_fence() { return false; }
    virtual bool fence_held() { return false; }
    // An interrupt entry isn't written; or it is, and the MSI doesn't follow.
    virtual bool lose_interrupt(std::uint8_t source) { return static_cast<void>(source), false; }
    virtual bool lose_msi() { return false; }
    // A ring with work: true keeps its engine from doing or unmapping it.
    virtual bool sdma_stuck(const SdmaRing& ring) { return static_cast<void>(ring), false; }
    // A translation for a wave or SDMA in a user's VMID: true makes it a VM fault.
    virtual bool fault_access(unsigned vmid, std::uint16_t pasid) {
        return static_cast<void>(vmid), static_cast<void>(pasid), false;
    }
    // Engines, queues and interrupts hang until the device is reset.
    virtual bool hung() { return false; }
    // The device was reset: nothing is pending any more.
    virtual void device_reset() {}
};

} // namespace vgpu
