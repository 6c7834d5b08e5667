// SPDX-License-Identifier: MIT
// Finds the queues that wait on a held one, and the held ones that must run to unblock a higher
// priority.
#pragma once

#include "order/aql.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xpreempt::order {

constexpr std::size_t nobody = static_cast<std::size_t>(-1);

struct QueueState {
    bool held = false;         // also while it is lifted
    std::int32_t priority = 0; // the highest of its streams
    std::vector<Signal> waits;
};

// A copy in a DMA engine's ring that hasn't completed.
struct CopyState {
    std::size_t queue = nobody; // of the stream it belongs to
    std::int32_t priority = 0;
    std::uint32_t engine = 0;  // 0: any of them
    std::vector<Signal> waits; // that haven't come
    Signal completion = 0;
};

struct Owner {
    Signal signal;
    std::size_t queue; // with a packet that completes the signal
};

struct Snapshot {
    std::vector<QueueState> queues;
    std::vector<CopyState> copies; // oldest first
    std::vector<Owner> owners;
};

struct Verdict {
    std::vector<std::size_t> blocker; // of each queue: a held queue that it waits for, or nobody
    std::vector<bool> lift;           // of each queue: held, but must run for now
};

// Edges, from who waits to whom for:
// - a queue to the owner of a signal that one of its barriers waits for,
// - a copy to the owners of its signals.
// A held queue is lifted when one of higher priority waits for it over any number of edges, or when
// a copy that waits for it is in an engine before one of another stream of no lower priority: an
// engine works its ring off in order.
Verdict find_waiters(const Snapshot& snapshot);

} // namespace xpreempt::order
