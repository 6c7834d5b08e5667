// SPDX-License-Identifier: MIT
// A queue of commands in front of a hardware queue that can be suspended and resumed.
#pragma once

#include "base/error.hpp"
#include "xqueue/command_ring.hpp"
#include "xqueue/holdable.hpp"
#include "xqueue/hw_queue.hpp"
#include "xqueue/pace.hpp"
#include "xqueue/source.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <thread>
#include <xpreempt/stats.h>

namespace xpreempt::xqueue {

struct State {
    std::uint32_t suspends; // that weren't yet resumed
    std::uint32_t pending;
    std::uint32_t in_flight;
    Level held_level; // meaningless without suspends
    DeactivateMethod held_method;
    std::uint32_t threshold; // now in effect
    std::uint32_t batch;
    std::uint64_t command_ns; // measured for a latency budget, 0: not known
};

struct SuspendMode {
    bool exact = false;            // an error, and no suspend, when the best level can't be reached
    Level least = Level::block;    // the same for this level, whatever the latency budget needs
    bool finish_submitted = false; // first waits until what was submitted before has completed
    bool finish_launched = false;  // at the end waits until nothing that was launched runs
    Patience patience = Patience::full; // with a launch that has to end before anything is stopped
};

// Receives what a wait for the command would return.
using Notice = std::function<void(const Result<void>& answer)>;

// A marker can't be had or waited for now: there is no memory, or the stream is captured.
inline bool is_momentary(const Error& error) {
    return error.errno_value == ENOMEM || error.errno_value == EBUSY;
}

// Thread-safe. Lock order: close_mutex_, control_mutex_, mutex_; the latter two aren't held while
// the hardware queue launches or marks, control_mutex_ is while it stops or starts. A launch
// function must not call back into its own XQueue except to submit; calls that would wait return
// EDEADLK there. An exception out of it is a launch that failed with EIO.
//
// Only the thread that is launcher_ calls the hardware queue's launch() and mark(), and it checks
// withheld_ before each launch. A suspend increments withheld_, then waits until there is none: so
// a thread that checked withheld_ before that launches nothing after the suspend.
class XQueue final : public Holdable {
public:
    XQueue(std::unique_ptr<HwQueue> hw, LaunchConfig config, Level highest);

    ~XQueue() override { (void)close(); }
    XQueue(const XQueue&) = delete;
    XQueue& operator=(const XQueue&) = delete;

    static Result<void> check(const LaunchConfig& config);

    // Refuses new commands and suspends (ESHUTDOWN), resumes, launches what waits, and returns when
    // all of it has completed and no thread of this is left. EDEADLK in a launch function or a
    // notice of this.
    Result<void> close();
    // EBUSY: commands from before a capture of the stream are unfinished; their end is seen after
    // it.
    [[nodiscard]] Result<void> may_close() const;

    // Launches in this thread if nothing waits and fewer than `threshold` are in flight.
    Result<Ticket> submit(const Command& command);

    // ECANCELED: dropped. The launch callback's errno when it failed. EINVAL: no such ticket yet.
    Result<void> wait(Ticket ticket);
    Result<void> wait_all();
    // ETIMEDOUT: not by then. Polls the hardware; a time that has passed asks once.
    Result<void> wait_until(Ticket ticket, std::chrono::steady_clock::time_point deadline);
    // All that was submitted; a failed launch is still to be reported. Not from a launch function.
    Result<void> finish_until(std::chrono::steady_clock::time_point deadline);
    // Until no launch of another thread is in progress; false: there is one at that time.
    bool outlast_launch_until(std::chrono::steady_clock::time_point deadline);
    // Calls the notice once, without locks: now when the command is complete, else from a thread
    // that lives as long as the XQueue. close() returns after all of them. The notice takes the
    // answer of a launch that failed, as a wait does. EDEADLK in a launch function of this.
    Result<void> notify(Ticket ticket, Notice notice);

    // Counted. Stops as much as the latency budget needs, and as can be where there is none. When
    // it returns, no launch is in progress and none begins until the last resume.
    Result<Level> suspend(const SuspendMode& mode);
    Result<void> resume(); // ENOENT: not suspended
    Result<Level> hold(const HoldMode& mode) override {
        return suspend({.exact = mode.exact, .least = mode.least});
    }
    Result<void> release() override { return resume(); }

    // Forgets what is to be launched, relaunches included. Returns how many.
    Result<std::uint64_t> drop();

    // The calling thread is in a launch function of this.
    bool called_from_launch() const { return launches_in(std::this_thread::get_id()); }
    bool launches_in(std::thread::id thread) const {
        return launcher_.load(std::memory_order_relaxed) == thread;
    }
    // The calling thread is in one, or in a notice: it must not wait for the end of this.
    bool called_from_within() const;

    LaunchConfig config() const;
    Result<void> configure(const LaunchConfig& config);
    LevelChoice level(); // of a suspend that came now
    void limit_level(Level highest);

    // As a source: work is what isn't known to be complete, including a launch in progress.
    [[nodiscard]] bool has_work() const override;
    [[nodiscard]] std::uint32_t holds() const override;
    Result<bool> stop(Patience patience) override;
    void outlast() override;
    Result<void> start(Patience patience) override;
    [[nodiscard]] std::vector<QueueName> queues() const override;

    // Registering an observer starts a thread that lives as long as the XQueue.
    void observe(std::shared_ptr<Observer> observer) override;
    State state() const;
    struct xp_xqueue_stats statistics() const;

private:
    using Lock = std::unique_lock<std::mutex>;
    struct Marked {
        Ticket ticket;       // the last command before the marker
        std::uint32_t count; // commands between it and the marker before
        std::shared_ptr<Marker> marker;
    };
    struct Attempt {
        Launch launch;
        Error error; // errno_value 0: launched
        bool by_worker = false;
    };

    // How a thread waits for the hardware.
    enum class Wake : std::uint8_t {
        late,     // whenever the system wakes the thread: for threads that have nothing to lose
        brief,    // the same, after a poll of some microseconds
        usual,    // promptly if it is microseconds away, as far as is known, else late
        promptly, // within microseconds, at the cost of CPU time
    };

    void pace_direct();

    // Commands from before the capture of the stream can neither be launched nor waited for.
    [[nodiscard]] bool is_captured() const { return captures_ != 0 && hw_->is_captured(); }
    // A command that is no part of a capture may be launched.
    [[nodiscard]] bool stays_out_of_graphs() const {
        return captures_ == 0 || hw_->stays_out_of_graphs();
    }

    // launch.cpp
    class Turn;
    Result<void> launch_one(const Launch& launch);
    void work();
    void launch_pending(Lock& lock);
    std::size_t launch(Lock& lock, std::span<Attempt> attempts);
    Result<Ticket> launch_captured(const Command& command);
    std::uint32_t until_marker() const;
    void find_room(Lock& lock);
    Wake refill_wake();
    void account(const Attempt& attempt);
    Result<void> place_marker(Lock& lock);
    Result<void> add_marker(Result<std::shared_ptr<Marker>> marker);
    void make_room(Lock& lock);
    std::uint64_t launch_delay_ns() const;
    void delay_launch(Lock& lock, std::uint64_t ns);
    void count_load();
    bool has_company() const;
    // XQueues that a scheduler may stop together share a budget. Others may run side by side, and
    // turns would take that from them.
    bool shares_budget() const {
        return pace_.adapts() && observer_ != nullptr && load_ != nullptr;
    }
    bool may_launch_inline();
    DeviceTurns::Launcher as_launcher() const { return {hw_->now_ns(), pace_.command_ns()}; }
    void take_turn_and_launch(Lock& lock);
    void leave_turn();
    void note_refill(Lock& lock);
    void refill(Lock& lock);
    std::uint64_t sleep_ns();
    void sleep(Lock& lock, std::uint64_t ns);
    bool ran_dry(Lock& lock);
    void wake_worker();
    void end_nap();
    void announce_progress();
    void announce();
    bool is_launching() const { return !launches_in({}); }
    bool may_launch() const {
        return !is_launching() && withheld_.load(std::memory_order_relaxed) == 0;
    }
    Ticket launchable_from(Ticket ticket);

    // complete.cpp
    using Dropped = std::map<Ticket, Ticket>; // first to last
    Result<void> finish(Lock& lock, Ticket ticket, Wake wake = Wake::usual);
    Result<void> outcome(Lock& lock, Ticket ticket);
    Result<void> reach(Lock& lock, Ticket ticket, std::chrono::steady_clock::time_point deadline);
    bool is_finished(Ticket ticket) const;
    bool may_mark(Ticket ticket) const;
    Result<void> finish_all(Lock& lock, Ticket last, Wake wake = Wake::usual);
    Result<void> wait_marked(Lock& lock, const Marked& marked, Wake wake);
    void await(Lock& lock, Ticket ticket);
    void reap(Lock& lock);
    void complete(const Marker& marker, std::uint64_t now_ns);
    void complete_if_idle();
    void complete_until(Ticket ticket);
    static void end(Command& command);
    void end_from(Ticket ticket);
    Dropped::const_iterator dropped_range(Ticket ticket) const;
    Ticket dropped_from(Ticket ticket) const; // the range's first, or 0: not dropped
    Ticket dropped_until(Ticket ticket) const;
    void drop_pending();
    void remember_dropped(Ticket first, Ticket last);

    // observe.cpp
    class Reaction;
    Result<void> start_watcher();
    void watch();
    bool watch_once(Lock& lock, Reaction& reaction);
    class Telling;
    void deliver(Lock& lock, Ticket ticket, const Notice& notice);
    bool deliver(Lock& lock, Ticket from);
    void fail_notices(Lock& lock, Ticket until, const Error& error);
    bool launches_work() const { return is_launching() && !into_graph_; }
    bool works() const { return pending_ > 0 || in_flight_ > 0 || launches_work(); }
    bool watching() const {
        return (observer_ != nullptr || !notices_.empty()) && broken_.errno_value == 0;
    }
    void report_work();
    void report_holds();

    // suspend.cpp
    bool hardware_held() const { return held_method_ == DeactivateMethod::hardware; }
    Level needed() const;
    std::string times() const;
    Error stop_hardware(Lock& lock, const SuspendMode& mode);
    Result<void> deactivate(Lock& lock);
    Result<void> interrupt(Lock& lock);
    void start_hardware(Lock& lock);
    class Stopwatch;
    Error add_hold(Lock& lock, const SuspendMode& mode, Stopwatch& stopwatch);
    void count_suspend(Level level, const Stopwatch& stopwatch);
    Result<void> release(Stopwatch& stopwatch);
    Result<void> finish_launched(Lock& lock, Stopwatch& stopwatch);
    void take_back(Ticket from);
    void outlast_launch(Lock& lock, const SuspendMode& mode, Error& missed);
    void drop_hold(Lock& lock);

    const std::unique_ptr<HwQueue> hw_;
    const std::atomic<std::size_t>& captures_ = hw_->captures();
    DeviceLoad* const load_; // null: not counted

    std::mutex close_mutex_;
    std::mutex control_mutex_; // suspend and resume, one after the other

    // Read without a lock: whether anybody is to be told, by who asks about itself, and as told
    // above.
    std::atomic<bool> observed_{false};
    std::atomic<std::thread::id> launcher_;  // written under mutex_
    std::atomic<std::uint32_t> withheld_{0}; // reasons not to launch; written under mutex_

    mutable std::mutex mutex_;   // all below
    bool counted_ = false;       // in load_
    bool room_is_near_ = true;   // the last submit that needed room found some in time
    bool refills_early_ = false; // the last brief wait of the worker ended while it polled
    std::uint32_t refills_ = 0;  // that the worker waited for
    bool waits_end_soon_ = true; // the last usual wait that polled first ended while it polled
    std::uint32_t waits_ = 0;    // that did not poll first
    DeviceTurns::Seat seat_;
    SleepMargin sleep_margin_; // of the worker
    bool napping_ = false;     // the worker sleeps until something is due
    bool slept_ = false;       // until just now
    bool napped_ = false;      // since the last launch
    std::condition_variable work_, changed_, reached_;
    std::multiset<Ticket> awaited_; // by threads that sleep on reached_
    Pace pace_;
    Level highest_;
    std::uint32_t holds_ = 0;         // suspends that weren't yet resumed
    Level held_level_ = Level::block; // the state of the hardware; written under both mutexes
    DeactivateMethod held_method_ = DeactivateMethod::none;
    bool withholds_direct_ = false; // calls of the program, since the first hold
    CommandRing ring_; // after completed_, up to submitted_; launch == null: failed to launch
    std::deque<Marked> markers_;
    Ticket submitted_ = 0;
    Ticket launched_ = 0; // what failed or was dropped counts as launched, and then as complete
    Ticket completed_ = 0;
    std::uint32_t pending_ = 0;   // to be launched
    std::uint32_t in_flight_ = 0; // launched, and not known to be complete
    std::uint32_t unmarked_ = 0;  // of these, behind the last marker
    bool into_graph_ = false;     // it launches into a capture, which is no work of the GPU
    bool taking_back_ = false;    // in the hardware queue's deactivate(): markers may be void
    bool worker_sleeps_ = false;
    bool any_over_ = false;     // a command had Command::over
    bool closed_ = false;       // nothing new is taken
    bool stopping_ = false;     // and nothing is left
    Error broken_{0, Op::wait}; // completion can't be known any more: every call returns this
    Dropped dropped_;
    std::map<Ticket, Error> failures_; // of launches by the worker, until waited for
    std::multimap<Ticket, Notice> notices_;
    std::uint32_t telling_ = 0; // notices that are being called
    struct xp_xqueue_stats statistics_{};
    std::shared_ptr<Observer> observer_;
    bool reported_work_ = false;

    // Last: they use everything above.
    std::thread worker_;
    std::thread watcher_; // waits for the GPU while there is an observer or a notice
};

} // namespace xpreempt::xqueue
