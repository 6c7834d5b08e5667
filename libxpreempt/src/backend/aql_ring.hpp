// SPDX-License-Identifier: MIT
// The packets of a stopped AQL queue, and how launched ones are taken back out of it.
#pragma once

#include "hip/mapping.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

namespace xpreempt::backend {

// For a queue that the packet processor doesn't read now: it has been stopped, so it fetches again
// what it had fetched. Other threads may continue to write packets behind those that are here.
class AqlRing {
public:
    explicit AqlRing(const hip::QueueRecord& queue);

    // From this packet on none can have begun: a packet with the barrier bit starts when all
    // before it have completed, and not all have. Packets are numbered as the write index does.
    [[nodiscard]] std::uint64_t first_untouched() const;

    [[nodiscard]] bool is_dispatch(std::uint64_t packet) const;
    // Completed: its slot was handed back. (One that isn't yet published looks the same.)
    [[nodiscard]] bool is_invalid(std::uint64_t packet) const;

    // A barrier packet that waits for nothing. It completes in its turn, with its fences and its
    // completion signal.
    void make_no_op(std::uint64_t dispatch);

private:
    [[nodiscard]] std::uint32_t* words(std::uint64_t packet) const;
    [[nodiscard]] std::uint32_t header(std::uint64_t packet) const;

    std::uint64_t ring_base_;
    std::uint64_t ring_packets_;
    std::uint64_t hsa_queue_;
};

// Commands in the order of their launch, each the packets it reserved. Makes no-ops of all kernels
// that can't have begun, and returns the first command with such a one; commands.size(): none.
std::size_t take_back(AqlRing& ring, std::span<const std::span<const std::uint64_t>> commands);

} // namespace xpreempt::backend
