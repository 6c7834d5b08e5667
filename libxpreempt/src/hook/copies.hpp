// SPDX-License-Identifier: MIT
// Copies by DMA engine that HIP asked ROCr for, and the threads that must never be kept waiting.
#pragma once

#include "hook/table.hpp"

#include <cstdint>

namespace xpreempt::hook {

// The copies of which the completion signal hasn't come, oldest first. Returns how many there are.
std::uint32_t unfinished_copies(CopyRecord* out, std::uint32_t max);

// In a handler that ROCr calls for a signal. All of ROCr's handlers run on that one thread.
int in_event_thread();

void forget_copies(); // after fork

} // namespace xpreempt::hook
