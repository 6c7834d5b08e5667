// SPDX-License-Identifier: MIT
// The hold that the adapter has on a stream's KFD queue, for a caller whose verbs cannot fail.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <xpreempt/stream.h>

namespace xpreempt::adapter {

// The calls of libxpreempt that a hold is made of. A test passes its own.
struct QueueCalls {
    int (*hold)(void* stream, std::uint32_t flags, std::uint32_t* level);
    int (*release)(void* stream);
    const char* (*detail)(); // of the calling thread's last error
};
extern const QueueCalls library_calls;

// Receives one message, a line without its end. Called with the hold's mutex: it must not call
// back.
using Report = std::function<void(const std::string& message)>;

// Thread-safe. The mutex is held across the system calls, because the state must agree with the
// driver, and because XSched may suspend in one thread while it resumes in another.
class QueueHold {
public:
    QueueHold(void* stream, Report report, const QueueCalls& calls = library_calls)
        : stream_(stream), report_(std::move(report)), calls_(calls) {}
    ~QueueHold() { start(); }
    QueueHold(const QueueHold&) = delete;
    QueueHold& operator=(const QueueHold&) = delete;
    QueueHold(QueueHold&&) = delete;
    QueueHold& operator=(QueueHold&&) = delete;

    // Stops the queue that the stream is on now. A stopped queue stays stopped: returns 0. A
    // negative errno, and a message, if the queue keeps running, as when other streams share it.
    int stop();

    // Starts the queue. If the driver refuses, libxpreempt retries.
    void start();

    // True from a successful stop() to the start().
    bool is_stopped() const;

private:
    void* const stream_;
    const Report report_;
    const QueueCalls calls_;

    mutable std::mutex mutex_;
    bool held_ = false;
    int last_refusal_ = 0; // of a stop, reported already
};

} // namespace xpreempt::adapter
