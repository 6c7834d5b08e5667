// SPDX-License-Identifier: MIT
// Retries the start of a queue, because XSched does not.
#include "queue_hold.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

namespace xpreempt::adapter {

const QueueCalls library_calls{xp_queue_open, xp_queue_preempt, xp_queue_resume, xp_queue_close,
                               xp_last_detail};

QueueHold::QueueHold(void* stream, Report report, const QueueCalls& calls, const BackOff& back_off)
    : stream_(stream), report_(std::move(report)), calls_(calls), back_off_(back_off) {}

QueueHold::~QueueHold() {
    {
        const std::lock_guard lock(mutex_);
        ending_ = true;
        changed_.notify_all();
    }
    if (retrier_.joinable())
        retrier_.join();
    const std::lock_guard lock(mutex_);
    if (!held_)
        return;
    if (const int error = resume(); error != 0) {
        report_error("cannot start its queue", error,
                     "the queue stays stopped until the stream is destroyed or the process exits");
        calls_.close(*held_);
    }
}

void QueueHold::report_error(const char* what, int error, const char* consequence) const {
    const char* detail = calls_.detail();
    if (detail == nullptr || detail[0] == '\0')
        detail = std::strerror(-error);
    char address[32];
    std::snprintf(address, sizeof address, "%p", stream_);
    report_(std::string("stream ") + address + ": " + what + ": " + detail + "; " + consequence);
}

// The queue is looked up anew for each stop: HIP may have moved the stream, and streams that came
// since may share its queue.
int QueueHold::stop() {
    const std::lock_guard lock(mutex_);
    start_owed_ = false;
    changed_.notify_all();
    if (held_)
        return 0;
    xp_queue_t queue{};
    int error = calls_.open(stream_, 0, &queue);
    if (error == 0) {
        error = calls_.preempt(queue);
        if (error == 0)
            held_ = queue;
    }
    // A scheduler suspends often: one line for a row of equal refusals.
    if (error != 0 && error != std::exchange(last_refusal_, error))
        report_error("cannot stop its queue", error,
                     "suspended at level 1: what was launched completes");
    if (error == 0)
        last_refusal_ = 0;
    else if (queue.handle != 0)
        calls_.close(queue);
    return error;
}

// With the mutex.
int QueueHold::resume() {
    if (!held_)
        return 0;
    const xp_queue_t queue = *held_;
    const int error = calls_.resume(queue);
    if (error != 0)
        return error;
    held_.reset();
    calls_.close(queue);
    start_owed_ = false;
    changed_.notify_all();
    return 0;
}

void QueueHold::start() {
    const std::lock_guard lock(mutex_);
    if (resume() == 0)
        return;
    start_owed_ = true;
    retry_in_thread();
}

// With the mutex.
void QueueHold::retry_in_thread() {
    if (retrying_ || ending_)
        return;
    if (retrier_.joinable())
        retrier_.join(); // its last access to the hold was before retrying_ became false
    try {
        retrier_ = std::thread(&QueueHold::retry, this);
        retrying_ = true;
    } catch (const std::system_error& error) {
        report_(std::string("cannot start a thread that retries to start a queue: ") +
                error.what());
    }
}

void QueueHold::retry() {
    std::unique_lock lock(mutex_);
    auto delay = back_off_.shortest;
    int error = 0;
    unsigned tries = 0;
    for (; tries < back_off_.retries; ++tries) {
        changed_.wait_for(lock, delay, [this] { return ending_ || !start_owed_; });
        if (ending_ || !start_owed_)
            break;
        error = resume();
        if (error == 0)
            break;
        delay = std::min(2 * delay, back_off_.longest);
    }
    if (tries == back_off_.retries && tries > 0)
        report_error("cannot start its queue, gave up", error,
                     "the queue stays stopped until the next resume or wait");
    retrying_ = false;
    changed_.notify_all();
}

bool QueueHold::is_stopped() const {
    const std::lock_guard lock(mutex_);
    return held_.has_value() && !start_owed_;
}

void QueueHold::wait_until_started() {
    std::unique_lock lock(mutex_);
    while (start_owed_ && !ending_) {
        retry_in_thread();
        if (!retrying_) // no thread is to be had: this one retries
            (void)resume();
        changed_.wait_for(lock, back_off_.longest,
                          [this] { return !start_owed_ || !retrying_ || ending_; });
    }
}

} // namespace xpreempt::adapter
