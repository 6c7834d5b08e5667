// SPDX-License-Identifier: MIT
// The interface of the library behind the control socket.
#pragma once

#include "base/error.hpp"
#include "control/wire.hpp"

#include <memory>
#include <vector>

namespace xpreempt::control {

// One suspend, undone once.
class Hold {
public:
    virtual ~Hold() = default;
    // Does nothing if the object is gone, or if another caller has released it.
    virtual void release() = 0;
    // Returns true if the held object is gone; its handle may already name a new one.
    [[nodiscard]] virtual bool ended() const = 0;
};

struct Suspended {
    std::unique_ptr<Hold> hold;
    std::uint32_t level;
};

struct Snapshot {
    wire::Process process;
    std::vector<wire::Queue> queues;
    std::vector<wire::Ring> rings;
    std::vector<wire::Stream> streams;
    std::vector<wire::Xqueue> xqueues;
};

// Called by the control thread only. control_holds of the records is filled in by the caller.
class Host {
public:
    virtual ~Host() = default;
    [[nodiscard]] virtual bool is_read_only() const = 0; // suspend and resume are refused
    virtual Snapshot snapshot() = 0;
    virtual Result<Suspended> suspend(wire::Object object, std::uint64_t handle,
                                      std::uint32_t flags) = 0;
    // Holds on it now, whoever's.
    virtual std::uint32_t holds(wire::Object object, std::uint64_t handle) = 0;
};

} // namespace xpreempt::control
