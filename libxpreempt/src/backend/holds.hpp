// SPDX-License-Identifier: MIT
// Counted holds of KFD queues: the first stops the queue, the last one's end starts it.
#pragma once

#include "backend/transport.hpp"
#include "base/error.hpp"
#include "hip/mapping.hpp"

#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <vector>

namespace xpreempt::backend {

// Of one queue, and of this library's stops alone; times are the caller's.
struct StopCounters {
    std::uint64_t stops = 0;
    std::uint64_t last_stop_ns = 0;
    std::uint64_t max_stop_ns = 0;
    std::uint64_t last_start_ns = 0;
};

// Thread-safe. The mutex is held across the ioctl, because the count must agree with the driver.
class Holds {
public:
    explicit Holds(Transport& transport) : transport_(transport) {}

    Result<void> hold(const hip::QueueRecord& queue, StopType type);
    // A queue that was destroyed meanwhile is released with success: nothing of it is left.
    Result<void> release(const hip::QueueRecord& queue);

    // Several at once, a queue perhaps more than once. All are held after it, or none that was not
    // before.
    Result<void> hold_all(std::span<const hip::QueueRecord> queues, StopType type);
    // An answer for each; a queue whose start is refused stays held.
    std::vector<Result<void>> release_each(std::span<const hip::QueueRecord> queues);

    // Every queue runs again, whoever holds it: for the end of the process.
    void release_all();
    [[nodiscard]] std::uint32_t count(hip::QueueRef queue) const;
    [[nodiscard]] StopCounters counters(hip::QueueRef queue) const;

private:
    struct Hold {
        hip::QueueRecord queue;
        std::uint32_t count;
    };

    Result<void> start(const hip::QueueRecord& queue);
    void count_stop(hip::QueueRef queue, std::uint64_t ns);
    void count_start(hip::QueueRef queue, std::uint64_t ns);

    Transport& transport_;
    mutable std::mutex mutex_;
    std::map<hip::QueueRef, Hold> holds_;
    std::map<hip::QueueRef, StopCounters> counters_;
};

} // namespace xpreempt::backend
