// SPDX-License-Identifier: MIT
// Reads and rewrites AQL packets in the ring's memory (HSA System Architecture 1.2, section 2.9).
#include "backend/aql_ring.hpp"

#include "order/aql.hpp"

#include <algorithm>
#include <atomic>

namespace xpreempt::backend {

namespace {

using order::packet_bytes;
using order::type_of;

constexpr std::uint32_t barrier_bit = 1U << 8;
constexpr std::uint32_t header_mask = 0xffff; // above it a dispatch has its dimensions
constexpr unsigned first_signal_dword = 14;   // of the completion signal, in both types

} // namespace

AqlRing::AqlRing(const hip::QueueRecord& queue)
    : ring_base_(queue.ring_base), ring_packets_(queue.ring_bytes / packet_bytes),
      hsa_queue_(queue.hsa_queue) {}

std::uint32_t* AqlRing::words(std::uint64_t packet) const {
    return reinterpret_cast<std::uint32_t*>(ring_base_ + packet % ring_packets_ * packet_bytes);
}

std::uint32_t AqlRing::header(std::uint64_t packet) const {
    return std::atomic_ref(*words(packet)).load(std::memory_order_acquire);
}

bool AqlRing::is_dispatch(std::uint64_t packet) const {
    return type_of(header(packet)) == order::dispatch;
}

bool AqlRing::is_invalid(std::uint64_t packet) const {
    return type_of(header(packet)) == order::invalid;
}

std::uint64_t AqlRing::first_untouched() const {
    const std::uint64_t write = order::write_index(hsa_queue_);
    const std::uint64_t read = order::read_index(hsa_queue_);
    // The one at the read index may be running, whatever it is.
    for (std::uint64_t packet = read + 1; packet < write; ++packet) {
        if (packet - read >= ring_packets_)
            break; // reserved beyond a full ring: its slot still holds an older packet
        const std::uint32_t first = header(packet);
        if (type_of(first) != order::invalid && (first & barrier_bit) != 0)
            return packet;
    }
    return write;
}

void AqlRing::make_no_op(std::uint64_t dispatch) {
    std::uint32_t* packet = words(dispatch);
    const std::uint32_t was = header(dispatch) & header_mask;
    std::fill(packet + 1, packet + first_signal_dword, 0U);
    // Last, as whoever publishes a packet does it.
    std::atomic_ref(*packet).store((was & ~order::type_mask) | order::barrier_and,
                                   std::memory_order_release);
}

std::size_t take_back(AqlRing& ring, std::span<const std::span<const std::uint64_t>> commands) {
    std::uint64_t untouched = ring.first_untouched();
    // A completed packet and all before it can't be taken back, even if the read index lags
    // behind.
    for (const auto packets : commands)
        for (const std::uint64_t packet : packets)
            if (packet >= untouched && ring.is_invalid(packet))
                untouched = packet + 1;
    std::size_t first = commands.size();
    for (std::size_t i = commands.size(); i-- > 0;)
        for (const std::uint64_t packet : commands[i])
            if (packet >= untouched && ring.is_dispatch(packet)) {
                ring.make_no_op(packet);
                first = i;
            }
    return first;
}

} // namespace xpreempt::backend
