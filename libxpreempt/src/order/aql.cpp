// SPDX-License-Identifier: MIT
// Reads AQL packets as the HSA runtime specification and hsa_ext_amd.h lay them out.
#include "order/aql.hpp"

#include <algorithm>

namespace xpreempt::order {

namespace {

constexpr std::uint8_t amd_barrier_value = 2; // hsa_amd_packet_type8_t
constexpr std::size_t num_dependencies = 5;

// hsa_barrier_and_packet_t, hsa_barrier_or_packet_t
constexpr std::size_t dependencies_at = 8;
// hsa_amd_barrier_value_packet_t
constexpr std::size_t value_signal_at = 8, value_at = 16, mask_at = 24, condition_at = 32;
// The same place in every packet.
constexpr std::size_t completion_at = 56;

// Another thread may be writing the packet.
template <typename T> T read_at(const std::byte* packet, std::size_t offset) {
    return __atomic_load_n(reinterpret_cast<const T*>(packet + offset), __ATOMIC_RELAXED);
}

// hsa_signal_condition32_t
bool fulfilled(std::uint32_t condition, std::int64_t value, std::int64_t reference) {
    switch (condition) {
    case 0: return value == reference;
    case 1: return value != reference;
    case 2: return value < reference;
    default: return value >= reference;
    }
}

void waits_of(const std::byte* packet, std::vector<Signal>& waits) {
    const std::uint32_t header = header_of(packet);
    const PacketType type = type_of(header);
    if (type == barrier_and || type == barrier_or) {
        std::vector<Signal> pending;
        bool any_came = false;
        for (std::size_t i = 0; i < num_dependencies; ++i) {
            const auto signal = read_at<Signal>(packet, dependencies_at + 8 * i);
            if (signal == 0)
                continue;
            if (value_of(signal) == 0)
                any_came = true;
            else
                pending.push_back(signal);
        }
        if (type == barrier_and || !any_came)
            waits.insert(waits.end(), pending.begin(), pending.end());
    } else if (type == vendor_specific &&
               static_cast<std::uint8_t>(header >> 16) == amd_barrier_value) {
        const auto signal = read_at<Signal>(packet, value_signal_at);
        if (signal != 0 && !fulfilled(read_at<std::uint32_t>(packet, condition_at),
                                      value_of(signal) & read_at<std::int64_t>(packet, mask_at),
                                      read_at<std::int64_t>(packet, value_at)))
            waits.push_back(signal);
    }
}

} // namespace

const std::byte* packet_at(const Ring& ring, std::uint64_t index) {
    return ring.base + (index & (ring.packets - 1)) * packet_bytes;
}

std::uint32_t header_of(const std::byte* packet) {
    return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(packet), __ATOMIC_ACQUIRE);
}

std::int64_t value_of(Signal signal) {
    return __atomic_load_n(reinterpret_cast<const std::int64_t*>(signal + 8), __ATOMIC_ACQUIRE);
}

std::vector<Signal> waits_in(const Ring& ring) {
    std::vector<Signal> waits;
    // More than a ring of packets can't be: then the indices aren't what we take them for.
    if (outstanding(ring) > ring.packets)
        return waits;
    for (std::uint64_t index = ring.read; index != ring.write; ++index)
        waits_of(packet_at(ring, index), waits);
    return waits;
}

bool completes(const Ring& ring, Signal signal) {
    const std::uint64_t count =
        std::min<std::uint64_t>({ring.write, outstanding(ring) + scan_back, ring.packets});
    for (std::uint64_t i = 1; i <= count; ++i) {
        const std::byte* packet = packet_at(ring, ring.write - i);
        (void)header_of(packet); // what comes behind it was written before
        if (read_at<Signal>(packet, completion_at) == signal)
            return true;
    }
    return false;
}

} // namespace xpreempt::order
