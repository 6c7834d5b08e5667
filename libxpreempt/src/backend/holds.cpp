// SPDX-License-Identifier: MIT
// Counts holds of queues that several owners stop.
#include "backend/holds.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace xpreempt::backend {

namespace {

using Clock = std::chrono::steady_clock;

// Queues come and go in a long-lived process; counters of the oldest go first.
constexpr std::size_t max_counted = 1024;

std::uint64_t ns_since(Clock::time_point begin) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
}

} // namespace

Result<void> Holds::hold(const hip::QueueRecord& queue, StopType type) {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(hip::ref_of(queue));
    if (found != holds_.end()) {
        ++found->second.count;
        return {};
    }
    const auto begin = Clock::now();
    if (const auto stopped = transport_.stop(queue, type); !stopped)
        return stopped;
    if (counters_.size() == max_counted && !counters_.contains(hip::ref_of(queue)))
        counters_.erase(std::ranges::min_element(
            counters_, {}, [](const auto& counted) { return counted.first.generation; }));
    StopCounters& counters = counters_[hip::ref_of(queue)];
    ++counters.stops;
    counters.last_stop_ns = ns_since(begin);
    counters.max_stop_ns = std::max(counters.max_stop_ns, counters.last_stop_ns);
    holds_.emplace(hip::ref_of(queue), Hold{queue, 1});
    return {};
}

Result<void> Holds::release(const hip::QueueRecord& queue) {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(hip::ref_of(queue));
    if (found == holds_.end())
        return fail(EALREADY, Op::resume_queue, queue.kfd_queue_id);
    if (found->second.count > 1) {
        --found->second.count;
        return {};
    }
    const auto started = start(queue);
    const bool gone = !started && (started.error().errno_value == ENOENT ||
                                   started.error().errno_value == ESTALE);
    if (!started && !gone)
        return started;
    holds_.erase(found);
    return {};
}

Result<void> Holds::start(const hip::QueueRecord& queue) {
    const auto begin = Clock::now();
    const auto started = transport_.start(queue);
    if (const auto counted = counters_.find(hip::ref_of(queue));
        started && counted != counters_.end())
        counted->second.last_start_ns = ns_since(begin);
    return started;
}

void Holds::release_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& [ref, hold] : holds_)
        (void)transport_.start(hold.queue); // the process ends: nobody is left to tell
    holds_.clear();
}

StopCounters Holds::counters(hip::QueueRef queue) const {
    const std::lock_guard lock(mutex_);
    const auto found = counters_.find(queue);
    return found == counters_.end() ? StopCounters{} : found->second;
}

std::uint32_t Holds::count(hip::QueueRef queue) const {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(queue);
    return found == holds_.end() ? 0 : found->second.count;
}

} // namespace xpreempt::backend
