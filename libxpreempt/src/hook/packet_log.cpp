// SPDX-License-Identifier: MIT
// Records the AQL packets that a stretch of a thread's HIP calls reserved.
#include "hook/packet_log.hpp"

#include "hook/current_call.hpp"

namespace xpreempt::hook {

void log_packets(PacketLog* log) {
    current_call.log = log;
    if (log != nullptr)
        *log = {};
}

void log_reserved(PacketLog& log, const void* hsa_queue, std::uint64_t index, std::uint64_t count) {
    const auto address = reinterpret_cast<std::uintptr_t>(hsa_queue);
    const bool same_queue = log.num_packets == 0 || log.hsa_queue == address;
    if (!same_queue || count > PacketLog::max_packets - log.num_packets) {
        log.incomplete = 1;
        return;
    }
    log.hsa_queue = address;
    for (std::uint64_t i = 0; i < count; ++i)
        log.packets[log.num_packets++] = index + i;
}

} // namespace xpreempt::hook
