// SPDX-License-Identifier: MIT
// Stops and starts the queue that the stream is on, and reports a refused stop.
#include "queue_hold.hpp"

#include <cstdio>
#include <cstring>
#include <utility>

namespace xpreempt::adapter {

const QueueCalls library_calls{xp_queue_open, xp_queue_preempt, xp_queue_close, xp_last_detail};

// The queue is looked up anew for each stop: HIP may have moved the stream, and streams that came
// since may share its queue.
int QueueHold::stop() {
    const std::lock_guard lock(mutex_);
    if (held_)
        return 0;
    xp_queue_t queue{};
    int error = calls_.open(stream_, 0, &queue);
    if (error == 0)
        error = calls_.preempt(queue);
    // A scheduler suspends often: one line for a row of equal refusals.
    if (error != std::exchange(last_refusal_, error) && error != 0) {
        const char* detail = calls_.detail();
        if (detail == nullptr || detail[0] == '\0')
            detail = std::strerror(-error);
        char address[32];
        std::snprintf(address, sizeof address, "%p", stream_);
        report_(std::string("stream ") + address + ": cannot stop its queue: " + detail +
                "; suspended at level 1: what was launched completes");
    }
    if (error == 0)
        held_ = queue;
    else if (queue.handle != 0)
        calls_.close(queue);
    return error;
}

void QueueHold::start() {
    const std::lock_guard lock(mutex_);
    if (const auto queue = std::exchange(held_, std::nullopt))
        calls_.close(*queue);
}

bool QueueHold::is_stopped() const {
    const std::lock_guard lock(mutex_);
    return held_.has_value();
}

} // namespace xpreempt::adapter
