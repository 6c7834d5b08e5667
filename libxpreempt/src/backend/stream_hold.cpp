// SPDX-License-Identifier: MIT
// All queues of a stream, or none.
#include "backend/stream_hold.hpp"

#include <cerrno>
#include <new>
#include <utility>

namespace xpreempt::backend {

Result<void> StreamHold::stop(StopType type, bool allow_shared) try {
    TRY(mapping_.queue_of(key_));
    // More than one while a graph is under way.
    const auto queues = mapping_.busy_queues(key_);
    stopped_.reserve(queues.size()); // first: a hold has its owner at once
    if (calls_)
        calls_->stands(true);
    for (const hip::QueueRecord& queue : queues) {
        const bool is_shared = queue.num_streams > 1 && !allow_shared;
        const auto held = is_shared ? fail(EBUSY, Op::share_queue, queue.kfd_queue_id)
                                    : holds_.hold(queue, type, owner_);
        if (!held) {
            start();
            return held;
        }
        stopped_.push_back(queue);
    }
    // Last: Gates ends the holds that are there when the stream is destroyed.
    if (mapping_.birth_of(key_) != birth_) {
        start();
        return fail(EBUSY, Op::call_hip);
    }
    return {};
} catch (const std::bad_alloc&) { // before the first hold
    return fail(ENOMEM, Op::allocate);
}

void StreamHold::start() {
    for (const hip::QueueRecord& queue : std::exchange(stopped_, {}))
        holds_.release(queue, owner_);
    if (calls_)
        calls_->stands(false);
}

} // namespace xpreempt::backend
