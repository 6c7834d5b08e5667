// SPDX-License-Identifier: MIT
// Compares the write indices of queues with what the hook saw.
#include "backend/queue_use.hpp"

#include "backend/queue_order.hpp"
#include "kfd/queue_ioctls.hpp"
#include "order/aql.hpp"

#include <algorithm>
#include <cerrno>
#include <mutex>

namespace xpreempt::backend {

namespace {

// ROCr's own queues have 64 packets, HIP's 1024 or more.
constexpr std::uint32_t most_packets_of_rocr = 64;

bool same(const hip::QueueRecord& queue, const hip::RingRecord& ring) {
    return queue.kfd_queue_id == ring.kfd_queue_id && queue.generation == ring.generation;
}

} // namespace

bool QueueUse::is_rocrs() const {
    return queue.ring_bytes / order::packet_bytes <= most_packets_of_rocr;
}

std::vector<QueueUse> uses_of_queues(const hip::Mapping& mapping) {
    std::vector<QueueUse> uses;
    if (!mapping.available())
        return uses;
    const std::lock_guard reading(mapping);
    // Rings last: a packet that comes meanwhile is seen, and not counted.
    for (const hip::QueueRecord& queue : mapping.queues())
        uses.push_back({queue, {}, packets_ever_in(queue)});
    for (const hip::RingRecord& ring : mapping.rings())
        for (QueueUse& use : uses)
            if (same(use.queue, ring))
                use.ring = ring;
    return uses;
}

std::string why_blind(const hip::Mapping& mapping) {
    const std::vector<QueueUse> uses = uses_of_queues(mapping);
    const auto blind = std::ranges::count_if(uses, &QueueUse::is_blind);
    if (blind == 0)
        return "";
    return "the hook is blind: packets came past it into " + std::to_string(blind) + " of " +
           std::to_string(uses.size()) +
           " KFD queues; preload libxpreempt-hook.so, and use no HIP that is static, opened with "
           "RTLD_DEEPBIND or newer than the hook";
}

std::string why_unmapped(const Error& error, const hip::Mapping& mapping) {
    if (error.errno_value == ENOSYS)
        return "libxpreempt-hook.so is not loaded: preload it, or link it before HIP";
    if (const std::uint64_t missed = mapping.table()->overflows(); missed > 0)
        return "the hook's tables are full: " + std::to_string(missed) +
               " times a queue or a stream found no room";
    if (error.errno_value == EXDEV) {
        const std::uint32_t before = mapping.queues_before();
        if (before > 0)
            return "the stream's queue is one of " + std::to_string(before) +
                   " from before libxpreempt-hook.so was loaded: preload it with LD_PRELOAD";
        return "the stream's packets go to a queue that is not KFD's, as under a profiler";
    }
    if (std::string blind = why_blind(mapping); !blind.empty())
        return blind;
    if (mapping.queues().empty())
        return "the hook saw no KFD queue created: use the stream, or preload libxpreempt-hook.so "
               "if it was used";
    return "no packet of the stream was seen on any KFD queue: launch one, or call "
           "xp_stream_touch()";
}

} // namespace xpreempt::backend
