// SPDX-License-Identifier: MIT
// Compute queues that every GPU of this machine holds at once.
#pragma once

namespace xpreempt::hook {

// nodes: the directory /sys/class/kfd/kfd/topology/nodes. Returns the number of the GPU with the
// fewest slots, since more queues than that would be time-sliced; 0 if there is no GPU or the
// kernel doesn't report it.
unsigned compute_slots(const char* nodes);

} // namespace xpreempt::hook
