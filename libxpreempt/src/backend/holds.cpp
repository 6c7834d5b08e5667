// SPDX-License-Identifier: MIT
// Counts holds of queues that several owners stop.
#include "backend/holds.hpp"

#include <cerrno>

namespace xpreempt::backend {

Result<void> Holds::hold(const hip::QueueRecord& queue, StopType type) {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(hip::ref_of(queue));
    if (found != holds_.end()) {
        ++found->second.count;
        return {};
    }
    if (const auto stopped = transport_.stop(queue, type); !stopped)
        return stopped;
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
    const auto started = transport_.start(queue);
    const bool gone = !started && (started.error().errno_value == ENOENT ||
                                   started.error().errno_value == ESTALE);
    if (!started && !gone)
        return started;
    holds_.erase(found);
    return {};
}

void Holds::release_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& [ref, hold] : holds_)
        (void)transport_.start(hold.queue); // the process ends: nobody is left to tell
    holds_.clear();
}

std::uint32_t Holds::count(hip::QueueRef queue) const {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(queue);
    return found == holds_.end() ? 0 : found->second.count;
}

} // namespace xpreempt::backend
