// SPDX-License-Identifier: MIT
// A HIP event as the marker behind what was put into a stream.
#pragma once

#include "hip/runtime.hpp"
#include "xqueue/hw_queue.hpp"

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

namespace xpreempt::backend {

// Events of a device for markers that come one after the other. Thread-safe.
class EventPool : public std::enable_shared_from_this<EventPool> {
public:
    // device: see hip::device_of().
    EventPool(const hip::Functions& hip, int device) : hip_(hip), device_(device) {}
    ~EventPool();
    EventPool(const EventPool&) = delete;
    EventPool& operator=(const EventPool&) = delete;

    Result<hip::Event> take();
    void give_back(hip::Event event);

    [[nodiscard]] const hip::Functions& hip() const { return hip_; }
    [[nodiscard]] int device() const { return device_; }

private:
    const hip::Functions& hip_;
    const int device_;
    std::mutex mutex_;
    std::vector<hip::Event> free_;
    std::size_t created_ = 0; // free_ has room for so many
};

// The stream is one of the pool's device, and not captured. The marker keeps the pool. Throws
// nothing.
Result<std::shared_ptr<xqueue::Marker>> place_marker(EventPool& events, hip::Stream stream);

} // namespace xpreempt::backend
