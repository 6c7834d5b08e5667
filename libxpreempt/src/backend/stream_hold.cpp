// SPDX-License-Identifier: MIT
// All queues of a stream, or none.
#include "backend/stream_hold.hpp"

#include <cerrno>

namespace xpreempt::backend {

Result<void> StreamHold::stop(StopType type, bool allow_shared) {
    if (const auto queue = mapping_.queue_of(key_); !queue)
        return tl::make_unexpected(queue.error());
    if (calls_)
        calls_->stands(true);
    // More than one while a graph is under way.
    for (const hip::QueueRecord& queue : mapping_.busy_queues(key_)) {
        const bool is_shared = queue.num_streams > 1 && !allow_shared;
        const auto held = is_shared ? fail(EBUSY, Op::share_queue, queue.kfd_queue_id)
                                    : holds_.hold(queue, type, owner_);
        if (!held) {
            (void)start(); // the first error is the one to report
            return held;
        }
        stopped_.push_back(queue);
    }
    return {};
}

Result<void> StreamHold::start() {
    const bool any = !stopped_.empty();
    while (!stopped_.empty()) {
        if (const auto released = holds_.release(stopped_.back(), owner_); !released)
            return released;
        stopped_.pop_back();
    }
    if (calls_)
        calls_->stands(false);
    return any ? Result<void>{} : fail(ENOENT, Op::nothing_held);
}

} // namespace xpreempt::backend
