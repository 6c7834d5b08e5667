// SPDX-License-Identifier: MIT
// Allocates slots of a queue's scratch to waves.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>

namespace vgpu::sq {

// A wave has one slot from its launch to its end, saves included: FLAT_SCRATCH, which the trap
// handler saves and restores as it finds it, points there.
class ScratchSlots {
public:
    // More than one XCC has waves for. A slot from 512 on costs the control stack a dword more.
    static constexpr std::uint32_t capacity = 1023;

    bool has_room(std::uint32_t wanted, std::uint32_t ring_waves) const {
        return used_.count() + wanted <= (ring_waves < capacity ? ring_waves : capacity);
    }
    // The lowest free one, after has_room() said yes.
    std::uint32_t take() {
        std::uint32_t slot = 0;
        while (used_.test(slot)) {
            ++slot;
        }
        used_.set(slot);
        return slot;
    }
    // A known one. False when another wave has it.
    bool reserve(std::uint32_t slot) {
        if (slot >= capacity || used_.test(slot)) {
            return false;
        }
        used_.set(slot);
        return true;
    }
    void give(std::uint32_t slot) { used_.reset(slot); }

private:
    std::bitset<capacity> used_;
};

} // namespace vgpu::sq
