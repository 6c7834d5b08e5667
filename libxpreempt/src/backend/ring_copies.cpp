// SPDX-License-Identifier: MIT
// Reads VRAM packet by packet, publishes the copies in batches.
#include "backend/ring_copies.hpp"

#include "backend/queue_order.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <set>

namespace xpreempt::backend {

namespace {

// Packets that are read with the mapping locked, which blocks the program's calls that create
// queues or need edges for about five reads of VRAM a packet.
constexpr std::uint64_t max_batch = 16;

using Packet = std::array<std::byte, order::packet_bytes>;

// Returns false for a packet that its producer hasn't published yet.
bool read_packet(const order::Ring& ring, std::uint64_t index, Packet& packet) {
    const std::byte* from = order::packet_at(ring, index);
    const std::uint32_t header = order::header_of(from);
    // Before the read index the packet processor has invalidated the header, and the rest stays.
    if (index >= ring.read && order::type_of(header) == order::invalid)
        return false;
    // Loads of write-combining memory are ordered by a fence alone.
    std::atomic_thread_fence(std::memory_order_seq_cst);
    std::memcpy(packet.data(), from, packet.size());
    return true;
}

} // namespace

void RingCopies::want(hip::QueueRef queue, std::uint64_t write) {
    Copy& copy = copies_[queue];
    copy.wanted = std::max(copy.wanted, write);
}

bool RingCopies::substitute(hip::QueueRef queue, order::Ring& ring) {
    const auto found = copies_.find(queue);
    const bool is_copied = found != copies_.end() && !found->second.packets.empty();
    const std::uint64_t wanted = found != copies_.end() ? found->second.wanted : 0;
    const std::uint64_t copied = is_copied ? found->second.copied : 0;
    ring.base = is_copied ? found->second.packets.data() : nullptr;
    ring.write = std::clamp(copied, ring.read, ring.write);
    return copied >= wanted || wanted <= ring.read;
}

void RingCopies::refresh(const hip::QueueRecord& queue, Progress& progress) {
    const auto ring = ring_of(queue);
    if (!ring)
        return;
    std::uint64_t first = 0, end = 0;
    {
        const auto locked = lock();
        Copy& copy = copies_[hip::ref_of(queue)];
        if (copy.packets.empty())
            copy.packets.resize(std::size_t{ring->packets} * order::packet_bytes);
        // Owners of signals are found in the packets shortly before the read index, too.
        first = std::max(ring->read - std::min(ring->read, order::scan_back),
                         ring->write - std::min<std::uint64_t>(ring->write, ring->packets));
        if (copy.copied < first) {
            std::ranges::fill(copy.packets, std::byte{0}); // from an earlier round through the ring
            copy.copied = first;
        }
        first = copy.copied;
        end = std::min({copy.wanted, ring->write, first + max_batch});
        progress.more |= end < std::min(copy.wanted, ring->write);
    }
    std::vector<Packet> packets;
    for (std::uint64_t index = first; index < end; ++index) {
        Packet packet;
        if (!read_packet(*ring, index, packet)) {
            progress.waiting = true;
            break;
        }
        packets.push_back(packet);
    }
    if (packets.empty())
        return;
    progress.copied = true;
    const auto locked = lock();
    Copy& copy = copies_[hip::ref_of(queue)];
    for (const Packet& packet : packets)
        std::memcpy(copy.packets.data() +
                        (copy.copied++ & (ring->packets - 1)) * order::packet_bytes,
                    packet.data(), packet.size());
}

RingCopies::Progress RingCopies::refresh(const hip::Mapping& mapping) {
    Progress progress;
    for (const hip::QueueRef ref : mapping.queues_in_vram()) {
        const std::lock_guard reading(mapping);
        for (const hip::QueueRecord& queue : mapping.queues()) // it may be gone
            if (hip::ref_of(queue) == ref)
                refresh(queue, progress);
    }
    const std::set<hip::QueueRef> in_vram = mapping.queues_in_vram();
    const auto locked = lock();
    std::erase_if(copies_, [&](const auto& copy) { return !in_vram.contains(copy.first); });
    return progress;
}

} // namespace xpreempt::backend
