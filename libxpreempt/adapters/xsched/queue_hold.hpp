// SPDX-License-Identifier: MIT
// The hold that the adapter has on a stream's KFD queue, for a caller whose verbs cannot fail.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <xpreempt/queue.h>

namespace xpreempt::adapter {

// The calls of libxpreempt that a hold is made of. A test passes its own.
struct QueueCalls {
    int (*open)(void* stream, std::uint32_t flags, xp_queue_t* queue);
    int (*preempt)(xp_queue_t queue);
    int (*resume)(xp_queue_t queue);
    int (*close)(xp_queue_t queue);
    const char* (*detail)(); // of the calling thread's last error
};
extern const QueueCalls library_calls;

// Delays between the retries of one round: each is twice the one before, up to longest.
struct BackOff {
    std::chrono::milliseconds shortest{1};
    std::chrono::milliseconds longest{500};
    unsigned retries = 24; // about 8 s
};

// Receives one message, a line without its end. Called with the hold's mutex: it must not call
// back.
using Report = std::function<void(const std::string& message)>;

// Thread-safe. The mutex is held across the system calls, because the state must agree with the
// driver, and because XSched may suspend in one thread while it resumes in another.
class QueueHold {
public:
    QueueHold(void* stream, Report report, const QueueCalls& calls = library_calls,
              const BackOff& back_off = {});
    // Ends the retries. Reports a queue that even now cannot be started.
    ~QueueHold();
    QueueHold(const QueueHold&) = delete;
    QueueHold& operator=(const QueueHold&) = delete;
    QueueHold(QueueHold&&) = delete;
    QueueHold& operator=(QueueHold&&) = delete;

    // Stops the queue that the stream is on now. A stopped queue stays stopped: returns 0. A
    // negative errno, and a message, if the queue keeps running; -EBUSY if other streams share it.
    int stop();

    // Starts the queue. If the driver refuses, a thread retries, and reports when it gives up.
    void start();

    // True from a successful stop() to the start().
    bool is_stopped() const;

    // Returns when the start() that was refused has succeeded; at once if there was none. Begins
    // another round of retries if the last one gave up.
    void wait_until_started();

private:
    int resume();
    void retry_in_thread();
    void retry();
    void report_error(const char* what, int error, const char* consequence) const;

    void* const stream_;
    const Report report_;
    const QueueCalls calls_;
    const BackOff back_off_;

    mutable std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<xp_queue_t> held_;
    bool start_owed_ = false; // held, though the caller believes that it runs
    bool retrying_ = false;
    bool ending_ = false;
    int last_refusal_ = 0; // of a stop, reported already
    std::thread retrier_;
};

} // namespace xpreempt::adapter
