// SPDX-License-Identifier: MIT
// A HIP event as the marker behind what was put into a stream.
#pragma once

#include "backend/captures.hpp"
#include "hip/mapping.hpp"
#include "xqueue/hw_queue.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace xpreempt::backend {

// Events for markers of a stream that come one after the other. Thread-safe.
class EventPool {
public:
    // key: of a stream that lives. device: see hip::device_of().
    EventPool(const hip::Functions& hip, const hip::Mapping& mapping, Captures& captures,
              const void* key, int device)
        : hip_(hip), mapping_(mapping), captures_(captures), key_(key),
          birth_(mapping.birth_of(key)), device_(device) {}
    ~EventPool();
    EventPool(const EventPool&) = delete;
    EventPool& operator=(const EventPool&) = delete;

    Result<hip::Event> take();
    void give_back(hip::Event event);

    [[nodiscard]] const hip::Functions& hip() const { return hip_; }
    [[nodiscard]] Captures& captures() const { return captures_; }
    [[nodiscard]] const void* key() const { return key_; }
    [[nodiscard]] bool lives() const { return mapping_.birth_of(key_) == birth_; } // the stream
    [[nodiscard]] int device() const { return device_; }

private:
    const hip::Functions& hip_;
    const hip::Mapping& mapping_;
    Captures& captures_;
    const void* const key_;
    const std::uint64_t birth_;
    const int device_;
    std::mutex mutex_;
    std::vector<hip::Event> free_;
    std::size_t created_ = 0; // free_ has room for so many
};

// The stream is that of the pool. The marker keeps the pool. While the stream is captured the
// marker hasn't passed, and a wait in a thread that captures, or one of the kind
// wait_unless_captured, is refused with EBUSY. It passes with the end of the stream. EBUSY: it is
// captured now. Throws nothing.
Result<std::shared_ptr<xqueue::Marker>> place_marker(const std::shared_ptr<EventPool>& events,
                                                     hip::Stream stream,
                                                     Captures::Kind wait = Captures::Kind::wait);

} // namespace xpreempt::backend
