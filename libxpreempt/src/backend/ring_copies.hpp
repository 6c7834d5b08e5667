// SPDX-License-Identifier: MIT
// Copies in system memory of the rings that lie in VRAM, as far as edges need them.
//
// A read of VRAM by the CPU crosses PCIe and takes about a microsecond. So no thread of the program
// reads such a ring: the order thread copies each packet once, and the other threads read the copy.
#pragma once

#include "hip/mapping.hpp"
#include "order/aql.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace xpreempt::backend {

class RingCopies {
public:
    // Hold it for want() and substitute(), and while the substituted ring is read.
    [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

    // The packets before `write` may be edges and are to be copied. Those that come later are
    // kernels in one packet until the next call.
    void want(hip::QueueRef queue, std::uint64_t write);

    // Puts the copy in the place of the ring, with the packets that were copied. Returns false if
    // wanted ones are missing.
    bool substitute(hip::QueueRef queue, order::Ring& ring);

    struct Progress {
        bool copied = false;  // at least one packet
        bool more = false;    // wanted packets are left
        bool waiting = false; // a wanted packet was reserved and isn't published
    };
    // Copies a bounded part of the wanted packets. Called by the order thread only, which
    // must not have locked the mapping.
    Progress refresh(const hip::Mapping& mapping);

private:
    struct Copy {
        std::vector<std::byte> packets;
        std::uint64_t wanted = 0; // end of the packets to be copied
        std::uint64_t copied = 0; // end of those that were
    };
    void refresh(const hip::QueueRecord& queue, Progress& progress);

    std::mutex mutex_; // never held while VRAM is read
    std::map<hip::QueueRef, Copy> copies_;
};

} // namespace xpreempt::backend
