// SPDX-License-Identifier: MIT
// Life of an XQueue, its settings, and what it reports.
#include "xqueue/xqueue.hpp"

#include "base/start_thread.hpp"

#include <cerrno>

namespace xpreempt::xqueue {

Result<void> XQueue::check(const LaunchConfig& config) {
    const bool valid = config.batch > 0 && config.threshold >= config.batch && config.capacity > 0;
    if (!valid)
        return fail(EINVAL, Op::configure);
    return {};
}

XQueue::XQueue(std::unique_ptr<HwQueue> hw, LaunchConfig config, Level highest)
    : hw_(std::move(hw)), load_(hw_->load()), pace_(config), highest_(highest),
      worker_(must_start_thread("xpreempt-xqueue", [this] { work(); })) {
    pace_direct();
}

// Where a suspend stops nothing that was launched, little may be.
void XQueue::pace_direct() {
    if (highest_ == Level::block)
        hw_->pace_direct(pace_.config().threshold, pace_.config().batch);
    else
        hw_->pace_direct(0, 0);
}

Result<void> XQueue::may_close() const {
    if (called_from_within())
        return fail(EDEADLK, Op::destroy);
    const bool captured = is_captured();
    const Lock lock(mutex_);
    return captured && in_flight_ + pending_ > 0 ? fail(EBUSY, Op::destroy) : Result<void>();
}

Result<void> XQueue::close() {
    if (called_from_within())
        return fail(EDEADLK, Op::destroy);
    const std::lock_guard closing(close_mutex_); // who comes second waits for the first
    {
        const Lock lock(mutex_);
        if (stopping_)
            return {};
        closed_ = true;
        announce();
    }
    while (state().suspends > 0 && resume()) {
    }
    for (auto ended = wait_all(); !ended && is_momentary(ended.error()); ended = wait_all())
        std::this_thread::sleep_for(retry);
    observe(nullptr);
    {
        const Lock lock(mutex_);
        stopping_ = true;
        napping_ = false;
        work_.notify_one();
        announce();
    }
    worker_.join();
    if (watcher_.joinable())
        watcher_.join();
    Lock lock(mutex_);
    changed_.wait(lock, [this] { return telling_ == 0; }); // one that drop() calls
    // A broken queue could not wait for these.
    end_from(completed_ + 1);
    in_flight_ = 0;
    count_load();
    return {};
}

Result<void> XQueue::configure(const LaunchConfig& config) {
    TRY(check(config));
    const Lock lock(mutex_);
    leave_turn();
    pace_.configure(config);
    pace_direct();
    announce();
    wake_worker();
    return {};
}

LaunchConfig XQueue::config() const {
    const Lock lock(mutex_);
    return pace_.config();
}

void XQueue::limit_level(Level highest) {
    const Lock lock(mutex_);
    highest_ = highest;
    pace_direct();
}

State XQueue::state() const {
    const Lock lock(mutex_);
    return {holds_,       pending_,          in_flight_,    held_level_,
            held_method_, pace_.threshold(), pace_.batch(), pace_.command_ns()};
}

struct xp_xqueue_stats XQueue::statistics() const {
    const Lock lock(mutex_);
    return statistics_;
}

} // namespace xpreempt::xqueue
