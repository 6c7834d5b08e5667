// SPDX-License-Identifier: MIT
// How a KFD queue of this process can be stopped: found out once, best way first.
#pragma once

#include "base/error.hpp"
#include "hip/mapping.hpp"
#include "kfd/device.hpp"
#include "kfd/module.hpp"

#include <cerrno>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace xpreempt::backend {

enum class TransportKind : std::uint8_t {
    none = 0,         // nothing can be stopped; launches can be withheld
    update_queue = 2, // any driver: UPDATE_QUEUE with percentage 0
    patched = 4,      // a driver with QUERY, SWITCH and STATUS
};

enum class StopType : std::uint8_t {
    drain, // running waves end by themselves
    save,  // running waves are saved where they are
};

// Optional parameters of a stop.
struct StopOptions {
    std::uint32_t timeout_ms = 0; // until the driver gives up the wait; 0: its own bound
    bool fast = false;            // shortest grace period
};

class Transport {
public:
    virtual ~Transport() = default;
    [[nodiscard]] virtual TransportKind kind() const = 0;
    [[nodiscard]] virtual bool can(StopType type) const = 0;
    // One queue, without an allocation.
    virtual Result<void> stop(const hip::QueueRecord& queue, StopType) {
        return fail(EOPNOTSUPP, Op::preempt_queue, queue.kfd_queue_id);
    }
    virtual Result<void> start(const hip::QueueRecord& queue) {
        return fail(EOPNOTSUPP, Op::resume_queue, queue.kfd_queue_id);
    }
    // The same as stop() unless overridden: only a driver with SWITCH has options.
    virtual Result<void> stop_with(const hip::QueueRecord& queue, StopType type,
                                   const StopOptions&) {
        return stop(queue, type);
    }

    // Asks for a stop once more that was late (ETIME), and waits a millisecond at most.
    virtual Result<void> confirm(const hip::QueueRecord&, StopType) { return {}; }

    // Several different queues, with as few updates of the runlist as the driver allows; one by one
    // and the stops first unless overridden. An answer for each queue, in their order.
    struct Switched {
        std::vector<Result<void>> stopped, started;
    };
    virtual Switched switch_all(std::span<const hip::QueueRecord> to_stop, StopType type,
                                std::span<const hip::QueueRecord> to_start);
};

struct Probe {
    TransportKind kind = TransportKind::none;
    std::string reason;                    // why not a better one; empty for the best
    kfd_ioctl_preempt_query_args driver{}; // zero unless patched
};

struct Selected {
    Probe probe;
    std::unique_ptr<Transport> transport;      // never null
    std::shared_ptr<const kfd::Device> device; // null: /dev/kfd can't be opened
};

// "patched", "update-queue", "none".
const char* name_of(TransportKind kind);

// The best transport, or only the one that `wanted` names. device: null with open_errno if it could
// not be opened. Sends the driver no call but QUERY.
struct ProbeInputs {
    std::shared_ptr<const kfd::Device> device;
    int open_errno = 0;
    const hook::Table* table = nullptr;
    kfd::LoadedModule module;
    std::string wanted;
};
Selected select_transport(const ProbeInputs& inputs);

// Selects the transport of this process: opens /dev/kfd, and calls it through the hook if that is
// loaded.
Selected select_transport(const hip::Mapping& mapping, const std::string& wanted);

} // namespace xpreempt::backend
