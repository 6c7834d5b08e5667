// SPDX-License-Identifier: MIT
// The order in which the queues of a runlist take HQD slots.
#pragma once

#include "model/cp/hqd.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <random>

namespace vgpu {

// Each runlist, and each time slice of one, starts over: round the pipes, lowest queue first, as a
// MI308X does. Firmware promises no order, so a seed makes every start another permutation, and a
// queue comes back in another slot than it left.
class SlotOrder {
public:
    using Slots = std::array<unsigned, hqd_slots>;

    explicit SlotOrder(std::optional<std::uint64_t> seed);

    void start_over();
    const Slots& slots() const { return slots_; }

private:
    Slots slots_{};
    std::optional<std::mt19937_64> slot_choice_;
};

} // namespace vgpu
