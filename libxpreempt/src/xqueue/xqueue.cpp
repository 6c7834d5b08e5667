// SPDX-License-Identifier: MIT
// Progressive launching: who launches, who waits, what is in flight.
#include "xqueue/xqueue.hpp"

#include <algorithm>
#include <cerrno>
#include <pthread.h>

namespace xpreempt::xqueue {

namespace {

// Bounds what is remembered for a program that never waits for what it dropped or what failed.
constexpr std::size_t max_remembered = 1024;

} // namespace

Result<void> XQueue::check(const LaunchConfig& config) {
    const bool valid = config.batch > 0 && config.threshold >= config.batch && config.capacity > 0;
    if (!valid)
        return fail(EINVAL, Op::configure);
    return {};
}

XQueue::XQueue(std::unique_ptr<HwQueue> hw, LaunchConfig config, Level highest)
    : hw_(std::move(hw)), config_(config), highest_(highest), worker_([this] { work(); }) {
    pthread_setname_np(worker_.native_handle(), "xpreempt-xqueue");
}

XQueue::~XQueue() {
    // A start that the hardware refuses is final here: the queue is dead or gone.
    while (state().suspends > 0 && resume()) {
    }
    {
        const Lock lock(mutex_);
        if (holds_ > 0)
            broken_ = {EIO, Op::resume};
        holds_ = 0;
        changed_.notify_all();
        work_.notify_all();
    }
    (void)wait_all();
    {
        const Lock lock(mutex_);
        stopping_ = true;
        work_.notify_all();
    }
    worker_.join();
}

bool XQueue::called_from_launch() const {
    return launching_ && launcher_ == std::this_thread::get_id();
}

Result<Ticket> XQueue::submit(Command command) {
    Lock lock(mutex_);
    if (pending_.empty() && may_launch() && in_flight_ >= config_.threshold)
        reap(lock);
    while (pending_.size() >= config_.capacity && broken_.errno_value == 0) {
        // The launch that is going on is this thread's: nobody else could make room.
        if (called_from_launch())
            return fail(EAGAIN, Op::submit);
        changed_.wait(lock);
    }
    if (broken_.errno_value != 0)
        return tl::make_unexpected(broken_);
    const Ticket ticket = ++last_submitted_;
    ++statistics_.submitted;
    if (pending_.empty() && may_launch() && in_flight_ < config_.threshold) {
        if (const auto launched = launch(lock, command, ticket); !launched)
            return tl::make_unexpected(launched.error());
        ++statistics_.launched_inline;
        return ticket;
    }
    pending_.push_back(command);
    work_.notify_one();
    return ticket;
}

// Comes with mutex_ locked, and launching is our turn; leaves it locked.
Result<void> XQueue::launch(Lock& lock, const Command& command, Ticket ticket) {
    launching_ = true;
    launcher_ = std::this_thread::get_id();
    lock.unlock();
    const auto launched = hw_->launch(command);
    lock.lock();
    launching_ = false;
    last_launched_ = ticket;
    if (launched) {
        ++statistics_.launched;
        ++in_flight_;
        // A marker that cannot be placed is tried again with the next launch, and reported by a
        // call that depends on it.
        if (++unmarked_ >= config_.batch && !place_marker(lock))
            ++statistics_.hw_failures;
    } else {
        ++statistics_.launch_failures;
        if (in_flight_ == 0)
            last_completed_ = ticket;
    }
    changed_.notify_all();
    if (!pending_.empty())
        work_.notify_one();
    return launched;
}

// As launch(): the marker must come right behind the commands that it counts.
Result<void> XQueue::place_marker(Lock& lock) {
    launching_ = true;
    launcher_ = std::this_thread::get_id();
    lock.unlock();
    auto marker = hw_->mark();
    lock.lock();
    launching_ = false;
    changed_.notify_all();
    if (!marker)
        return tl::make_unexpected(marker.error());
    markers_.push_back({last_launched_, unmarked_, std::move(*marker)});
    last_marked_ = last_launched_;
    unmarked_ = 0;
    return {};
}

// Takes note of markers that have passed, without waiting.
void XQueue::reap(Lock& lock) {
    while (!markers_.empty()) {
        const Marked oldest = markers_.front();
        lock.unlock();
        const bool passed = oldest.marker->passed();
        lock.lock();
        if (!passed)
            return;
        complete(oldest.ticket);
    }
}

void XQueue::complete(Ticket ticket) {
    while (!markers_.empty() && markers_.front().ticket <= ticket) {
        in_flight_ -= markers_.front().count;
        statistics_.completed += markers_.front().count;
        markers_.pop_front();
    }
    last_completed_ = std::max(last_completed_, ticket);
    // What was dropped behind the last command has nothing that could complete it.
    if (in_flight_ == 0)
        last_completed_ = last_launched_;
    changed_.notify_all();
    work_.notify_one();
}

// Until fewer than threshold commands are in flight, or nothing may be launched any more.
void XQueue::make_room(Lock& lock) {
    if (markers_.empty()) {
        if (const auto placed = place_marker(lock); !placed) {
            broken_ = placed.error();
            changed_.notify_all();
        }
        return;
    }
    const Marked oldest = markers_.front();
    lock.unlock();
    const auto waited = oldest.marker->wait();
    lock.lock();
    if (!waited) {
        broken_ = waited.error();
        changed_.notify_all();
        return;
    }
    complete(oldest.ticket);
}

void XQueue::work() {
    Lock lock(mutex_);
    for (;;) {
        work_.wait(lock, [this] {
            return stopping_ || (!pending_.empty() && may_launch() && broken_.errno_value == 0);
        });
        if (stopping_)
            return;
        if (in_flight_ >= config_.threshold) {
            make_room(lock);
            continue;
        }
        const Command command = pending_.front();
        pending_.pop_front();
        const Ticket ticket = last_launched_ + 1;
        if (const auto launched = launch(lock, command, ticket);
            !launched && failures_.size() < max_remembered)
            failures_.emplace(ticket, launched.error());
    }
}

bool XQueue::was_dropped(Ticket ticket) const {
    const auto after = dropped_.upper_bound(ticket);
    return after != dropped_.begin() && std::prev(after)->second >= ticket;
}

Result<void> XQueue::result_of(Ticket ticket) {
    const auto failure = failures_.find(ticket);
    if (failure == failures_.end())
        return {};
    const Error error = failure->second;
    failures_.erase(failure);
    return tl::make_unexpected(error);
}

Result<void> XQueue::wait(Ticket ticket) {
    Lock lock(mutex_);
    if (ticket == 0 || ticket > last_submitted_)
        return fail(EINVAL, Op::wait);
    if (called_from_launch())
        return fail(EDEADLK, Op::wait);
    for (;;) {
        if (was_dropped(ticket))
            return fail(ECANCELED, Op::wait);
        if (ticket <= last_completed_)
            return result_of(ticket);
        if (broken_.errno_value != 0)
            return tl::make_unexpected(broken_);
        // While the hardware is held, waiting happens here and not inside HIP, which would keep
        // locks of its own until the resume.
        if (ticket > last_launched_ || launching_ || hardware_held()) {
            changed_.wait(lock);
            continue;
        }
        if (last_marked_ < ticket) {
            if (const auto placed = place_marker(lock); !placed)
                return placed;
            continue;
        }
        const Marked behind = *std::ranges::find_if(
            markers_, [&](const Marked& marked) { return marked.ticket >= ticket; });
        lock.unlock();
        const auto waited = behind.marker->wait();
        lock.lock();
        if (!waited)
            return waited;
        complete(behind.ticket);
    }
}

Result<void> XQueue::wait_all() {
    Ticket last = 0;
    {
        const Lock lock(mutex_);
        last = last_submitted_;
    }
    if (last == 0)
        return {};
    auto waited = wait(last);
    // Dropped is as good as done for who waits for everything; failures are those of their tickets.
    if (!waited && waited.error().errno_value == ECANCELED) {
        Lock lock(mutex_);
        while (was_dropped(last) && last > 0)
            last = std::prev(dropped_.upper_bound(last))->first - 1;
        lock.unlock();
        return last == 0 ? Result<void>{} : wait(last);
    }
    return waited;
}

Result<std::uint64_t> XQueue::drop() {
    Lock lock(mutex_);
    if (called_from_launch())
        return fail(EDEADLK, Op::submit);
    changed_.wait(lock, [this] { return !launching_; });
    const std::uint64_t count = pending_.size();
    if (count == 0)
        return count;
    if (dropped_.size() == max_remembered)
        dropped_.erase(dropped_.begin());
    dropped_.emplace(last_launched_ + 1, last_submitted_);
    pending_.clear();
    last_launched_ = last_submitted_;
    statistics_.dropped += count;
    if (in_flight_ == 0)
        last_completed_ = last_launched_;
    changed_.notify_all();
    return count;
}

Result<void> XQueue::configure(const LaunchConfig& config) {
    if (const auto checked = check(config); !checked)
        return checked;
    const Lock lock(mutex_);
    config_ = config;
    changed_.notify_all();
    work_.notify_one();
    return {};
}

LaunchConfig XQueue::config() const {
    const Lock lock(mutex_);
    return config_;
}

void XQueue::limit_level(Level highest) {
    const Lock lock(mutex_);
    highest_ = highest;
}

State XQueue::state() const {
    const Lock lock(mutex_);
    return {holds_, static_cast<std::uint32_t>(pending_.size()), in_flight_, held_level_};
}

Statistics XQueue::statistics() const {
    const Lock lock(mutex_);
    return statistics_;
}

} // namespace xpreempt::xqueue
