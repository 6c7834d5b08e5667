// SPDX-License-Identifier: MIT
// The source of one stream, as callers of the library hold and rank it: an xqueue or a hooked
// stream.
#pragma once

#include "xqueue/hw_queue.hpp"

#include <atomic>
#include <cstdint>

namespace xpreempt::xqueue {

// How one hold is wanted.
struct HoldMode {
    bool exact = false;         // an error, and no hold, when the highest level can't be reached
    Level least = Level::block; // the same for this level
    bool allow_shared = false;  // other streams may stop with it; an xqueue has its own setting
};

class Holdable : public Source {
public:
    // Counted; the first one decides the level. A call that has begun continues.
    virtual Result<Level> hold(const HoldMode& mode) = 0;
    virtual Result<void> release() = 0;                       // ENOENT: not held
    [[nodiscard]] virtual bool lives() const { return true; } // false: its stream was destroyed

    // For schedulers and for waits across queues, which are notified by the caller.
    void set_priority(std::int32_t priority) {
        priority_.store(priority, std::memory_order_relaxed);
    }
    void set_attributes(const Attributes& attributes) { attributes_.set(attributes); }
    [[nodiscard]] std::int32_t priority() const final {
        return priority_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] Attributes attributes() const final { return attributes_.get(); }

private:
    std::atomic<std::int32_t> priority_{0};
    SharedAttributes attributes_;
};

} // namespace xpreempt::xqueue
