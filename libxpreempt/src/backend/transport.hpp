// SPDX-License-Identifier: MIT
// How a KFD queue of this process can be stopped: found out once, best way first.
#pragma once

#include "base/error.hpp"
#include "hip/mapping.hpp"
#include "kfd/device.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace xpreempt::backend {

enum class TransportKind : std::uint8_t {
    none = 0,         // nothing can be stopped; launches can be withheld
    update_queue = 1, // any driver: UPDATE_QUEUE with percentage 0
    patched = 2,      // PREEMPT_QUEUE and RESUME_QUEUE
};

enum class StopType : std::uint8_t {
    drain, // running waves end by themselves
    save,  // running waves are saved where they are
};

class Transport {
public:
    virtual ~Transport() = default;
    [[nodiscard]] virtual TransportKind kind() const = 0;
    [[nodiscard]] virtual bool can(StopType type) const = 0;
    virtual Result<void> stop(const hip::QueueRecord& queue, StopType type) = 0;
    virtual Result<void> start(const hip::QueueRecord& queue) = 0;
};

struct Probe {
    TransportKind kind = TransportKind::none;
    std::string reason;                    // why not a better one; empty for the best
    kfd_ioctl_preempt_query_args driver{}; // zero unless patched
};

struct Selected {
    Probe probe;
    std::unique_ptr<Transport> transport;      // never null
    std::shared_ptr<const kfd::Device> device; // null: /dev/kfd cannot be opened
};

Selected select_transport(const hip::Mapping& mapping, const std::string& device_path);

} // namespace xpreempt::backend
