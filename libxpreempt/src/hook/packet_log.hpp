// SPDX-License-Identifier: MIT
// Records the AQL packets that a stretch of a thread's HIP calls reserved.
#pragma once

#include "hook/table.hpp"

#include <cstdint>

namespace xpreempt::hook {

void log_packets(PacketLog* log);

// `count` packets from `index` on were reserved by the thread whose log it is.
void log_reserved(PacketLog& log, const void* hsa_queue, std::uint64_t index, std::uint64_t count);

} // namespace xpreempt::hook
