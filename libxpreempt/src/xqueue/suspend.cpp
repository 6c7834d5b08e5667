// SPDX-License-Identifier: MIT
// Suspend and resume of an XQueue: counted, at the best level that the hardware queue reaches.
#include "xqueue/xqueue.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace xpreempt::xqueue {

namespace {

using Clock = std::chrono::steady_clock;

std::uint64_t ns_since(Clock::time_point begin) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
}

} // namespace

LevelChoice XQueue::level() {
    LevelChoice choice = hw_->best_level();
    const Lock lock(mutex_);
    if (choice.level > highest_)
        choice = {highest_, "limited by its owner"};
    return choice;
}

Result<void> XQueue::stop_hardware(Level level) {
    switch (level) {
    case Level::block: return {};
    case Level::deactivate: return hw_->deactivate();
    case Level::interrupt: return hw_->interrupt();
    }
    return {};
}

Result<void> XQueue::start_hardware(Level level) {
    switch (level) {
    case Level::block: return {};
    case Level::deactivate: return hw_->reactivate();
    case Level::interrupt: return hw_->restore();
    }
    return {};
}

Result<Suspension> XQueue::suspend(bool exact) {
    const auto begin = Clock::now();
    {
        const Lock lock(mutex_);
        if (called_from_launch())
            return fail(EDEADLK, Op::suspend);
    }
    const std::lock_guard control(control_mutex_);
    Lock lock(mutex_);
    Suspension suspension{held_level_, {0, Op::suspend}};
    if (++holds_ == 1) {
        const Level highest = highest_;
        lock.unlock();
        // The hardware first: a launch that is going on may be slow, what runs should stop now.
        const Level wanted =
            highest == Level::block ? highest : std::min(hw_->best_level().level, highest);
        const auto stopped = stop_hardware(wanted);
        lock.lock();
        if (!stopped) {
            ++statistics_.hw_failures;
            suspension.hw_error = stopped.error();
        } else if (wanted < highest) {
            suspension.hw_error = {EOPNOTSUPP, Op::choose_level};
        }
        hw_level_ = stopped ? wanted : Level::block;
        held_level_ = hw_level_;
        suspension.level = hw_level_;
    }
    changed_.wait(lock, [this] { return !launching_; });
    if (exact && held_level_ < highest_) {
        const Error error = suspension.hw_error.errno_value != 0
                                ? suspension.hw_error
                                : Error{EOPNOTSUPP, Op::choose_level};
        // Ours is the only hold, or the level is that of who came first and stays.
        if (holds_ == 1 && hw_level_ != Level::block) {
            lock.unlock();
            const auto started = start_hardware(hw_level_);
            lock.lock();
            if (!started)
                ++statistics_.hw_failures;
        }
        if (--holds_ == 0)
            held_level_ = hw_level_ = Level::block;
        changed_.notify_all();
        work_.notify_all();
        return tl::make_unexpected(error);
    }
    ++statistics_.suspends[static_cast<std::size_t>(held_level_)];
    statistics_.last_suspend_ns = ns_since(begin);
    statistics_.max_suspend_ns = std::max(statistics_.max_suspend_ns, statistics_.last_suspend_ns);
    return suspension;
}

Result<void> XQueue::resume() {
    const auto begin = Clock::now();
    {
        const Lock lock(mutex_);
        if (called_from_launch())
            return fail(EDEADLK, Op::resume);
    }
    const std::lock_guard control(control_mutex_);
    Lock lock(mutex_);
    if (holds_ == 0)
        return fail(EALREADY, Op::resume);
    if (holds_ == 1) {
        lock.unlock();
        const auto started = start_hardware(hw_level_);
        lock.lock();
        // Still suspended: what the hardware refused now may work when it is asked again.
        if (!started) {
            ++statistics_.hw_failures;
            return started;
        }
        held_level_ = hw_level_ = Level::block;
    }
    --holds_;
    ++statistics_.resumes;
    statistics_.last_resume_ns = ns_since(begin);
    changed_.notify_all();
    work_.notify_all();
    return {};
}

} // namespace xpreempt::xqueue
