// SPDX-License-Identifier: MIT
// Stops and starts the queue that the stream is on, and reports a refused stop.
#include "queue_hold.hpp"

#include <cstdio>
#include <cstring>
#include <utility>

namespace xpreempt::adapter {

const QueueCalls library_calls{xp_stream_hold, xp_stream_release, xp_last_detail};

// The queue is looked up anew for each stop: HIP may have moved the stream, and streams that came
// since may share its queue.
int QueueHold::stop() {
    const std::lock_guard lock(mutex_);
    if (held_)
        return 0;
    const int error = calls_.hold(stream_, XP_HOLD_LEAST(XP_LEVEL_DEACTIVATE), nullptr);
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
    held_ = error == 0;
    return error;
}

void QueueHold::start() {
    const std::lock_guard lock(mutex_);
    if (std::exchange(held_, false))
        calls_.release(stream_);
}

bool QueueHold::is_stopped() const {
    const std::lock_guard lock(mutex_);
    return held_;
}

} // namespace xpreempt::adapter
