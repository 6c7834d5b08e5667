// SPDX-License-Identifier: MIT
// One hold on the queues that a stream uses, as it finds them.
#pragma once

#include "backend/direct_calls.hpp"
#include "backend/holds.hpp"
#include "hip/mapping.hpp"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace xpreempt::backend {

// Not thread-safe.
class StreamHold {
public:
    // key: hip::Mapping::key_of(). calls: notified that the stream is stopped; may be null. birth:
    // of the stream, if that is not the one of now. References must outlive it.
    StreamHold(const hip::Mapping& mapping, Holds& holds, hip::Stream key, const Owner& owner,
               std::shared_ptr<DirectCalls> calls, std::optional<std::uint64_t> birth = {})
        : mapping_(mapping), holds_(holds), key_(key),
          birth_(birth ? *birth : mapping.birth_of(key)), owner_(owner), calls_(std::move(calls)) {}

    // All of its queues or none. EBUSY: other streams share one, or the stream is destroyed.
    Result<void> stop(StopType type, bool allow_shared);
    void start();
    [[nodiscard]] bool any() const { return !stopped_.empty(); }

private:
    const hip::Mapping& mapping_;
    Holds& holds_;
    const hip::Stream key_;
    const std::uint64_t birth_;
    const Owner owner_;
    const std::shared_ptr<DirectCalls> calls_;
    std::vector<hip::QueueRecord> stopped_; // the stream may have moved when it is started
};

} // namespace xpreempt::backend
