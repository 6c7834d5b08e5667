// SPDX-License-Identifier: MIT
// Reads order from an AQL ring: the signals that its packets wait for, and those that they
// complete.
//
// This is the whole truth of edges between queues: HIP turns event waits, the null stream's rules
// and graphs alike into barrier packets, so none of its calls has to be understood for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xpreempt::order {

using Signal = std::uint64_t; // hsa_signal_t::handle, the address of its amd_signal_t

// A queue's ring in this process' memory and its two indices, of which only the low bits are slots.
struct Ring {
    const std::byte* base = nullptr;
    std::uint32_t packets = 0; // a power of two
    std::uint64_t read = 0;    // read_dispatch_id
    std::uint64_t write = 0;   // write_dispatch_id
};

constexpr std::size_t packet_bytes = 64;

// The low byte of a packet's first word.
enum PacketType : std::uint8_t {
    vendor_specific = 0,
    invalid = 1, // not published yet, or taken out
    dispatch = 2,
    barrier_and = 3,
    barrier_or = 5,
};
constexpr std::uint32_t type_mask = 0xff;
constexpr PacketType type_of(std::uint32_t header) {
    return PacketType{static_cast<std::uint8_t>(header & type_mask)};
}

// Indices of amd_queue_t, which hsa_queue_t is the start of: the same places in ROCr 5.x to 7.x.
inline std::uint64_t write_index(std::uint64_t hsa_queue) {
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(hsa_queue + 0x38),
                           __ATOMIC_ACQUIRE);
}
inline std::uint64_t read_index(std::uint64_t hsa_queue) {
    return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(hsa_queue + 0x80),
                           __ATOMIC_ACQUIRE);
}

// As many packets before read are looked at; a queue doesn't run that many kernels at once.
constexpr std::uint64_t scan_back = 256;

const std::byte* packet_at(const Ring& ring, std::uint64_t index);

// The first word, by whose store-release HIP publishes the packet; another thread may be doing so
// now. Read it before the rest.
std::uint32_t header_of(const std::byte* packet);

// Signals that barriers between read and write wait for and that haven't come yet.
std::vector<Signal> waits_in(const Ring& ring);

// One of the ring's packets completes the signal. Also those shortly before read count: a kernel's
// slot may be free while it runs, and its packet stays there until the slot is used again.
bool completes(const Ring& ring, Signal signal);

// Packets that weren't taken out yet.
inline std::uint64_t outstanding(const Ring& ring) {
    return ring.write - ring.read;
}

// amd_signal_t: the value follows the kind (amd_hsa_signal.h).
std::int64_t value_of(Signal signal);

} // namespace xpreempt::order
