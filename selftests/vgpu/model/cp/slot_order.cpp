// SPDX-License-Identifier: MIT
// The order in which the queues of a runlist take HQD slots.
#include "model/cp/slot_order.hpp"

#include <cstddef>
#include <utility>

namespace vgpu {

SlotOrder::SlotOrder(std::optional<std::uint64_t> seed) {
    std::size_t next = 0;
    for (unsigned me = 1; me <= 2; ++me)
        for (unsigned queue = 0; queue < queues_per_pipe; ++queue)
            for (unsigned pipe = 0; pipe < pipes_per_me; ++pipe)
                slots_[next++] = slot_of({me, pipe, queue});
    if (seed)
        slot_choice_.emplace(*seed);
}

// Not std::shuffle: a seed must give the same slots with every standard library.
void SlotOrder::start_over() {
    if (!slot_choice_)
        return;
    for (std::size_t left = slots_.size(); left > 1; --left)
        std::swap(slots_[left - 1], slots_[(*slot_choice_)() % left]);
}

} // namespace vgpu
