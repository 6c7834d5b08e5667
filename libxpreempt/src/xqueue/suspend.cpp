// SPDX-License-Identifier: MIT
// Suspend and resume of an XQueue: counted, at the best level that the hardware queue reaches.
#include "xqueue/xqueue.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>

namespace xpreempt::xqueue {

namespace {

using Clock = std::chrono::steady_clock;

// A launch takes microseconds, or the time it takes to load a kernel.
constexpr auto usual_launch = std::chrono::milliseconds(20);
constexpr auto first_lift = std::chrono::milliseconds(1);

} // namespace

// Reads the clock only where there is something to wait for: it costs as much as the rest of the
// suspend of an idle queue.
class XQueue::Stopwatch {
public:
    void start() {
        if (begin_ == Clock::time_point{})
            begin_ = Clock::now();
    }
    [[nodiscard]] std::uint64_t ns() const {
        if (begin_ == Clock::time_point{})
            return 0;
        return static_cast<std::uint64_t>(
            std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count());
    }

private:
    Clock::time_point begin_{};
};

// Launched commands from that ticket on count as never launched: they come after the resume.
void XQueue::take_back(Ticket from) {
    from = std::max(from, completed_ + 1);
    while (!markers_.empty() && markers_.back().ticket >= from) {
        unmarked_ += markers_.back().count;
        markers_.pop_back();
    }
    std::uint32_t count = 0;
    for (Ticket ticket = launchable_from(from); ticket <= launched_;
         ticket = launchable_from(ticket + 1))
        ++count;
    in_flight_ -= count;
    unmarked_ -= count;
    pending_ += count;
    launched_ = std::min(launched_, from - 1);
    statistics_.relaunched += count;
    count_load();
    complete_if_idle();
}

Result<void> XQueue::deactivate(Lock& lock) {
    // The set of commands to take back is known only while no thread launches more.
    changed_.wait(lock, [this] { return !is_launching(); });
    taking_back_ = true;
    lock.unlock();
    const auto deactivated = hw_->deactivate();
    lock.lock();
    taking_back_ = false;
    announce();
    const auto done = TRY(deactivated);
    if (done.relaunch_from)
        take_back(*done.relaunch_from);
    held_level_ = Level::deactivate;
    held_method_ = done.method;
    return {};
}

// The hardware first: a launch in progress may be slow, and running work should stop now.
Result<void> XQueue::interrupt(Lock& lock) {
    lock.unlock();
    const auto interrupted = hw_->interrupt();
    lock.lock();
    TRY(interrupted);
    held_level_ = Level::interrupt;
    held_method_ = DeactivateMethod::hardware;
    return {};
}

// For the first suspend. errno_value 0: as far as may be; otherwise why not. Exact, or below the
// least level: then nothing is stopped.
Error XQueue::stop_hardware(Lock& lock, const SuspendMode& mode) {
    const Level needed_level = std::max(needed(), mode.least);
    if (needed_level == Level::block)
        return {0, Op::suspend};
    const Level highest = highest_;
    lock.unlock();
    const Level wanted = hw_->best_level(std::min(needed_level, highest)).level;
    lock.lock();
    Error missed{wanted < needed_level ? EOPNOTSUPP : 0, Op::choose_level};
    if ((mode.exact && wanted < needed_level) || wanted < mode.least)
        return missed;
    if (wanted == Level::deactivate && is_launching() && mode.patience == Patience::none)
        return {EAGAIN, Op::suspend};
    Result<void> stopped;
    if (wanted == Level::deactivate)
        stopped = deactivate(lock);
    else if (wanted == Level::interrupt)
        stopped = interrupt(lock);
    if (!stopped) {
        ++statistics_.hw_failures;
        return stopped.error();
    }
    return missed;
}

// The last resume.
void XQueue::start_hardware(Lock& lock) {
    if (held_level_ != Level::block) {
        lock.unlock();
        hw_->start();
        lock.lock();
    }
    held_level_ = Level::block;
    held_method_ = DeactivateMethod::none;
}

// Waits until no launch is in progress. One may wait inside HIP for room in the ring or in the
// memory of kernel arguments, which comes only when the held queue runs: so it is let go from time
// to time, longer each time.
void XQueue::outlast_launch(Lock& lock, const SuspendMode& mode, Error& missed) {
    const auto over = [this] { return !is_launching(); };
    for (auto lift = first_lift; is_launching(); lift *= 2) {
        if (!hardware_held()) {
            changed_.wait(lock, over);
            continue; // it was a marker, and there may be another
        }
        if (changed_.wait_for(lock, usual_launch, over))
            continue;
        start_hardware(lock);
        announce();
        changed_.wait_for(lock, lift, over);
        missed = stop_hardware(lock, mode);
    }
}

void XQueue::drop_hold(Lock& lock) {
    const bool admits = --holds_ == 0 && withholds_direct_;
    withheld_.fetch_sub(1, std::memory_order_relaxed);
    announce();
    end_nap();
    wake_worker();
    report_holds();
    if (!admits)
        return;
    lock.unlock(); // a queue that was stopped for a direct launch is started there
    hw_->withhold_direct(false);
    lock.lock();
}

// The first hold stops the hardware. Returns as stop_hardware() does.
Error XQueue::add_hold(Lock& lock, const SuspendMode& mode, Stopwatch& stopwatch) {
    withheld_.fetch_add(1, std::memory_order_relaxed);
    report_holds();
    pace_.gap();
    leave_turn();
    if (++holds_ > 1)
        return {0, Op::suspend};
    if (highest_ != Level::block)
        stopwatch.start();
    const Error missed = stop_hardware(lock, mode);
    // A held queue runs no direct work, so it needs no withholding.
    withholds_direct_ = !hardware_held();
    if (withholds_direct_)
        hw_->withhold_direct(true);
    return missed;
}

void XQueue::count_suspend(Level level, const Stopwatch& stopwatch) {
    ++(level == Level::block        ? statistics_.suspends_block
       : level == Level::deactivate ? statistics_.suspends_deactivate
                                    : statistics_.suspends_interrupt);
    statistics_.last_suspend_ns = stopwatch.ns();
    statistics_.max_suspend_ns = std::max(statistics_.max_suspend_ns, statistics_.last_suspend_ns);
}

Result<Level> XQueue::suspend(const SuspendMode& mode) {
    if (called_from_launch())
        return fail(EDEADLK, Op::suspend);
    if (mode.finish_submitted)
        TRY(wait_all());
    Stopwatch stopwatch;
    std::unique_lock control(control_mutex_);
    Lock lock(mutex_);
    if (closed_)
        return fail(ESHUTDOWN, Op::suspend);
    Error missed = add_hold(lock, mode, stopwatch);
    if (is_launching()) {
        stopwatch.start();
        outlast_launch(lock, mode, missed);
    }
    if (holds_ > 1 && held_level_ < std::max(needed(), mode.least))
        missed = {EOPNOTSUPP, Op::choose_level};
    // The first hold decides the level, and later ones don't change it. If this is the first hold,
    // it has stopped nothing.
    if (missed.errno_value != 0 && (mode.exact || held_level_ < mode.least)) {
        drop_hold(lock);
        return tl::make_unexpected(missed);
    }
    const Level level = held_level_;
    if (mode.finish_launched) {
        control.unlock();
        if (const auto finished = finish_launched(lock, stopwatch); !finished) {
            if (lock.owns_lock())
                lock.unlock();
            (void)resume();
            return tl::make_unexpected(finished.error());
        }
    }
    count_suspend(level, stopwatch);
    return level;
}

// Nothing that was launched runs when it returns without an error.
Result<void> XQueue::finish_launched(Lock& lock, Stopwatch& stopwatch) {
    try {
        if (!hardware_held()) {
            stopwatch.start();
            return finish_all(lock, launched_, Wake::promptly);
        }
        lock.unlock();
        hw_->finish_stop();
        lock.lock();
        return {};
    } catch (const std::bad_alloc&) { // or the caller would not know of its suspend
        return fail(ENOMEM, Op::allocate);
    }
}

// With control_mutex_.
Result<void> XQueue::release(Stopwatch& stopwatch) {
    Lock lock(mutex_);
    if (holds_ == 0)
        return fail(ENOENT, Op::nothing_held);
    if (holds_ == 1) {
        if (held_level_ != Level::block)
            stopwatch.start();
        start_hardware(lock);
    }
    pace_.gap();
    ++statistics_.resumes;
    statistics_.last_resume_ns = stopwatch.ns();
    drop_hold(lock);
    return {};
}

Result<void> XQueue::resume() {
    if (called_from_launch())
        return fail(EDEADLK, Op::resume);
    Stopwatch stopwatch;
    const std::lock_guard control(control_mutex_);
    return release(stopwatch);
}

std::uint32_t XQueue::holds() const {
    const Lock lock(mutex_);
    return holds_;
}

Result<bool> XQueue::stop(Patience patience) {
    if (patience == Patience::full) {
        TRY(suspend({}));
        return true;
    }
    if (called_from_launch())
        return fail(EAGAIN, Op::suspend);
    Stopwatch stopwatch;
    const std::unique_lock control(control_mutex_, std::try_to_lock);
    if (!control)
        return fail(EAGAIN, Op::suspend);
    Lock lock(mutex_);
    if (closed_)
        return fail(ESHUTDOWN, Op::suspend);
    const Error missed = add_hold(lock, {.patience = Patience::none}, stopwatch);
    if (missed.errno_value == EAGAIN) {
        drop_hold(lock);
        return tl::make_unexpected(missed);
    }
    count_suspend(held_level_, stopwatch);
    return !is_launching();
}

std::vector<QueueName> XQueue::queues() const {
    Lock lock(mutex_);
    const bool stops =
        held_level_ == Level::interrupt || (holds_ == 0 && needed() == Level::interrupt);
    lock.unlock();
    if (!stops || hw_->best_level(Level::interrupt).level != Level::interrupt)
        return {};
    return hw_->queues();
}

void XQueue::outlast() {
    const std::lock_guard control(control_mutex_);
    Lock lock(mutex_);
    Error missed{0, Op::suspend};
    if (holds_ > 0)
        outlast_launch(lock, {}, missed);
}

Result<void> XQueue::start(Patience patience) {
    if (patience == Patience::full)
        return resume();
    Stopwatch stopwatch;
    const std::unique_lock control(control_mutex_, std::try_to_lock);
    if (!control || called_from_launch())
        return fail(EAGAIN, Op::resume);
    return release(stopwatch);
}

} // namespace xpreempt::xqueue
