// SPDX-License-Identifier: MIT
// A queue of commands in front of a hardware queue that can be suspended and resumed.
#pragma once

#include "base/error.hpp"
#include "xqueue/hw_queue.hpp"

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace xpreempt::xqueue {

using Ticket = std::uint64_t; // commands of one XQueue, counted from 1

struct LaunchConfig {
    std::uint32_t threshold = 16;   // commands that may be in flight
    std::uint32_t batch = 8;        // commands between two markers; at most threshold
    std::uint32_t capacity = 65536; // commands that may wait; then submit blocks
};

struct Statistics {
    std::uint64_t submitted = 0;
    std::uint64_t launched = 0;
    std::uint64_t launched_inline = 0; // by the thread that submitted
    std::uint64_t launch_failures = 0;
    std::uint64_t completed = 0;
    std::uint64_t dropped = 0;
    std::array<std::uint64_t, 4> suspends{}; // by the level that was reached
    std::uint64_t resumes = 0;
    std::uint64_t hw_failures = 0; // stops and starts that the hardware queue refused
    std::uint64_t last_suspend_ns = 0;
    std::uint64_t max_suspend_ns = 0;
    std::uint64_t last_resume_ns = 0;
};

struct State {
    std::uint32_t suspends; // that were not yet resumed
    std::uint32_t pending;
    std::uint32_t in_flight;
    Level held_level; // meaningless without suspends
};

struct Suspension {
    Level level;
    Error hw_error; // errno_value 0, or why it is not the level that was wanted
};

// Thread-safe. Lock order: control_mutex_ before mutex_; neither is held while the hardware queue
// launches or marks, control_mutex_ is while it stops or starts. A launch callback must not call
// back into its own XQueue but to submit; suspend and wait answer EDEADLK there.
class XQueue {
public:
    XQueue(std::unique_ptr<HwQueue> hw, LaunchConfig config, Level highest);

    // Resumes, launches what waits, and waits until all of it has completed.
    ~XQueue();
    XQueue(const XQueue&) = delete;
    XQueue& operator=(const XQueue&) = delete;
    XQueue(XQueue&&) = delete;
    XQueue& operator=(XQueue&&) = delete;

    static Result<void> check(const LaunchConfig& config);

    // Launches at once, in this thread, when nothing waits and fewer than `threshold` are in
    // flight.
    Result<Ticket> submit(Command command);

    // ECANCELED: dropped. The launch callback's errno when it failed. EINVAL: no such ticket yet.
    Result<void> wait(Ticket ticket);
    Result<void> wait_all();

    // Counted. When it returns, no launch is going on and none begins until the last resume.
    // exact: an error, and no suspend, when the best level cannot be reached.
    Result<Suspension> suspend(bool exact);
    Result<void> resume(); // EALREADY: not suspended

    // Forgets what was not launched. Returns how many.
    Result<std::uint64_t> drop();

    LaunchConfig config() const;
    Result<void> configure(const LaunchConfig& config);
    LevelChoice level();
    void limit_level(Level highest);
    // Who runs first: for schedulers and for who waits across xqueues; the XQueue only keeps it.
    void set_priority(std::int32_t priority) {
        priority_.store(priority, std::memory_order_relaxed);
    }
    std::int32_t priority() const { return priority_.load(std::memory_order_relaxed); }
    State state() const;
    Statistics statistics() const;

private:
    using Lock = std::unique_lock<std::mutex>;
    struct Marked {
        Ticket ticket;       // the last command before the marker
        std::uint32_t count; // commands between it and the marker before
        std::shared_ptr<Marker> marker;
    };

    void work();
    void make_room(Lock& lock);
    Result<void> launch(Lock& lock, const Command& command, Ticket ticket);
    Result<void> place_marker(Lock& lock);
    void reap(Lock& lock);
    void complete(Ticket ticket);
    bool may_launch() const { return !launching_ && holds_ == 0; }
    bool hardware_held() const { return holds_ > 0 && held_level_ != Level::block; }
    Result<void> result_of(Ticket ticket);
    bool was_dropped(Ticket ticket) const;
    bool called_from_launch() const;
    Result<void> stop_hardware(Level level);
    Result<void> start_hardware(Level level);

    const std::unique_ptr<HwQueue> hw_;
    std::atomic<std::int32_t> priority_{0};

    std::mutex control_mutex_;      // suspend and resume, one after the other
    Level hw_level_ = Level::block; // what the hardware was told; under control_mutex_

    mutable std::mutex mutex_; // all below
    std::condition_variable work_, changed_;
    LaunchConfig config_;
    Level highest_;
    Level held_level_ = Level::block;
    std::uint32_t holds_ = 0;
    std::deque<Command> pending_;
    std::deque<Marked> markers_;
    Ticket last_submitted_ = 0;
    Ticket last_launched_ = 0; // dropped ones count as launched
    Ticket last_completed_ = 0;
    Ticket last_marked_ = 0;
    std::uint32_t in_flight_ = 0;
    std::uint32_t unmarked_ = 0; // in flight, behind the last marker
    bool launching_ = false;     // one thread is in the hardware queue's launch() or mark()
    bool stopping_ = false;
    std::thread::id launcher_;
    Error broken_{0, Op::wait}; // completion cannot be told any more: every call answers this
    std::map<Ticket, Ticket> dropped_; // first to last
    std::map<Ticket, Error> failures_; // of launches by the worker, until waited for
    Statistics statistics_;

    std::thread worker_; // last: it uses everything above
};

} // namespace xpreempt::xqueue
