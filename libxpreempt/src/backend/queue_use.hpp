// SPDX-License-Identifier: MIT
// Use of the queues of this process: those that had packets, and those whose packets the hook saw.
#pragma once

#include "base/error.hpp"
#include "hip/mapping.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace xpreempt::backend {

struct QueueUse {
    hip::QueueRecord queue;
    hip::RingRecord ring;
    std::uint64_t packets; // ever reserved; 0 if it is no AQL queue

    // ROCr made the queue for itself, and fills it without a call. Known by the small ring.
    [[nodiscard]] bool is_rocrs() const;
    // Packets came, and by no call that the hook interposes.
    [[nodiscard]] bool is_blind() const { return packets > 0 && ring.seen == 0 && !is_rocrs(); }
};

// Locks the mapping.
std::vector<QueueUse> uses_of_queues(const hip::Mapping& mapping);

// Names what the hook misses and what to do about it; empty if it sees the packets of every queue.
std::string why_blind(const hip::Mapping& mapping);

// Why queue_of() failed.
std::string why_unmapped(const Error& error, const hip::Mapping& mapping);

} // namespace xpreempt::backend
