// SPDX-License-Identifier: MIT
// When asynchronous things happen. A seed draws each time and order among those that the hardware
// may choose; without a seed everything happens as early as it can, in a fixed order.
#pragma once

#include "model/base/observer.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <utility>

namespace vgpu {

// A choice depends on the seed, its kind, and on how many of that kind were made before it. A delay
// counts steps, which are slices of the device's work (Device::run), and is bounded. When nothing
// else can proceed the delay that ends first is over.
class Schedule {
public:
    // README.md, "Schedules", says why each of them is the hardware's to choose.
    enum class Kind : std::uint8_t {
        doorbell,     // a queue looks at its ring after a doorbell
        map,          // ... after it was mapped
        stop,         // the CP takes note of a dequeue request or of an unmap
        ask,          // the waves of a workgroup are asked to save
        leave,        // a stopped queue is stored and leaves its slot
        fence,        // a fence is written
        completion,   // the end of a dispatch is reported
        read_pointer, // the read pointer is written to memory
        interrupt,    // an entry of the interrupt ring is written
        msi,          // the MSI that announces it
        relaunch,     // a saved workgroup comes back
        pushed,       // the order of saved workgroups on their stack
        unit,         // the compute unit that is tried first
        turn,         // which wave is next
        turn_length,  // instructions until another wave is
        xcc_speed,    // instructions of an XCC in a step
        xcc_order,    // the XCC whose command processor is first in a step
        time_slice,   // length of an oversubscribed runlist's time slice
    };
    static constexpr std::size_t kinds = 18;

    using Step = std::uint64_t;

    explicit Schedule(Observer& observer) : observer_(observer) {}

    void follow(std::uint64_t seed);
    bool on() const { return on_; }

    // The step in which an event happens: now, or later.
    Step later(Kind kind) { return on_ ? draw_step(kind) : 0; }
    bool reached(Step step) const { return step <= now_; }
    // One of `count` > 0 alternatives; without a seed the first.
    std::size_t pick(Kind kind, std::size_t count) { return on_ ? draw(kind) % count : 0; }
    template <class T> void shuffle(Kind kind, std::span<T> items) {
        for (std::size_t left = on_ ? items.size() : 0; left > 1; --left)
            std::swap(items[left - 1], items[pick(kind, left)]);
    }

    // The device begins a step.
    void step();
    // Nothing can proceed in this step. True when a delay was cut short, so that something may.
    bool skip();

private:
    std::uint64_t draw(Kind kind);
    Step draw_step(Kind kind);

    Observer& observer_;
    bool on_ = false;
    std::uint64_t seed_ = 0;
    Step now_ = 0;
    std::array<std::uint64_t, kinds> drawn_{};
    std::array<std::uint64_t, kinds> counted_{}; // of them, those that the observer knows
    std::set<Step> ahead_;                       // steps in which something happens
};

} // namespace vgpu
