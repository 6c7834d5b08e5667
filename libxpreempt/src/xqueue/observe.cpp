// SPDX-License-Identifier: MIT
// Notifies observers when work comes and ends, and delivers notices of completed commands. A thread
// waits for the GPU for both.
#include "base/start_thread.hpp"
#include "xqueue/reaction.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

namespace xpreempt::xqueue {

thread_local XQueue::Reaction* XQueue::Reaction::here = nullptr;

// Without the thread nothing would find out that launched work has ended.
bool XQueue::has_work() const {
    if (hw_->has_direct_work())
        return true;
    const Lock lock(mutex_);
    const bool watched = observer_ == nullptr || watcher_.joinable();
    return watched ? works() : pending_ > 0 || launches_work();
}

void XQueue::observe(std::shared_ptr<Observer> observer) {
    hw_->observe_direct(observer);
    const Lock lock(mutex_);
    leave_turn();
    observer_.swap(observer); // the former one, when this was its last, goes without the lock
    observed_.store(observer_ != nullptr, std::memory_order_relaxed);
    reported_work_ = works();
    if (observer_ != nullptr)
        (void)start_watcher(); // else at the next work
    changed_.notify_all();
}

Result<void> XQueue::start_watcher() {
    if (watcher_.joinable())
        return {};
    watcher_ = TRY(start_thread("xpreempt-watch", [this] { watch(); }));
    return {};
}

// Calls a notice without the lock.
class XQueue::Telling {
public:
    Telling(XQueue& queue, Lock& lock) : queue_(queue), lock_(lock), outer_(here) {
        ++queue_.telling_;
        here = this;
        lock_.unlock();
    }
    ~Telling() {
        lock_.lock();
        here = outer_;
        --queue_.telling_;
        queue_.changed_.notify_all();
    }
    Telling(const Telling&) = delete;
    Telling& operator=(const Telling&) = delete;

    static bool is_in_notice_of(const XQueue& queue) {
        const Telling* telling = here;
        while (telling != nullptr && &telling->queue_ != &queue)
            telling = telling->outer_;
        return telling != nullptr;
    }

private:
    static thread_local const Telling* here;

    XQueue& queue_;
    Lock& lock_;
    const Telling* const outer_;
};

thread_local const XQueue::Telling* XQueue::Telling::here = nullptr;

bool XQueue::called_from_within() const {
    return called_from_launch() || Telling::is_in_notice_of(*this);
}

void XQueue::deliver(Lock& lock, Ticket ticket, const Notice& notice) {
    const auto answer = outcome(lock, ticket); // doesn't wait
    const Telling telling(*this, lock);
    notice(answer);
}

Result<void> XQueue::notify(Ticket ticket, Notice notice) {
    if (called_from_launch())
        return fail(EDEADLK, Op::wait);
    Lock lock(mutex_);
    if (ticket == 0 || ticket > submitted_)
        return fail(EINVAL, Op::wait);
    // A marker now, so that the notice doesn't wait for what comes behind. If it can't be placed,
    // the watcher tries again.
    if (!is_finished(ticket) && may_mark(ticket))
        (void)place_marker(lock);
    if (!hardware_held())
        reap(lock);
    if (is_finished(ticket)) {
        deliver(lock, ticket, notice);
    } else {
        TRY(start_watcher());
        notices_.emplace(ticket, std::move(notice));
        changed_.notify_all();
    }
    return {};
}

// Calls the first notice from that ticket on, if it is due.
bool XQueue::deliver(Lock& lock, Ticket from) {
    const auto first = notices_.lower_bound(from);
    if (first == notices_.end() || !is_finished(first->first))
        return false;
    const auto node = notices_.extract(first);
    deliver(lock, node.key(), node.mapped());
    return true;
}

// The end of these commands can't be waited for.
void XQueue::fail_notices(Lock& lock, Ticket until, const Error& error) {
    while (!notices_.empty() && notices_.begin()->first <= until) {
        const auto node = notices_.extract(notices_.begin());
        const Telling telling(*this, lock);
        node.mapped()(tl::make_unexpected(error));
    }
}

void XQueue::report_work() {
    const bool work = works();
    if (work && observer_ != nullptr)
        (void)start_watcher(); // retries a failed start
    if (work == reported_work_)
        return;
    reported_work_ = work;
    if (observer_ == nullptr)
        return;
    Reaction* reaction = Reaction::of(*this);
    observer_->note(reaction != nullptr);
    if (reaction != nullptr)
        reaction->schedule(observer_);
}

void XQueue::report_holds() {
    if (observer_ != nullptr)
        observer_->note_hold();
}

// Not the worker's business: it must be there to launch while something runs.
void XQueue::watch() {
    Reaction reaction(*this);
    Lock lock(mutex_);
    bool lasts = true;
    while (lasts) {
        try {
            lasts = watch_once(lock, reaction);
        } catch (const std::bad_alloc&) {
            changed_.wait_for(lock, retry);
        }
    }
}

// Returns false when the xqueue ends.
bool XQueue::watch_once(Lock& lock, Reaction& reaction) {
    if (reaction.is_due()) {
        lock.unlock();
        reaction.react();
        lock.lock();
    }
    while (deliver(lock, 0)) {
    }
    if (stopping_)
        return false;
    if (!watching() || in_flight_ == 0) {
        changed_.wait(lock);
        return true;
    }
    // The oldest marker is enough, and one of our own only where there is none yet.
    const Ticket next = markers_.empty() ? launched_ : markers_.front().ticket;
    const auto finished = finish(lock, next);
    if (reaction.is_due())
        return true;
    if (!finished && is_momentary(finished.error())) {
        changed_.wait_for(lock, retry);
    } else if (!finished && finished.error().errno_value != ECANCELED && !notices_.empty() &&
               notices_.begin()->first <= next) {
        fail_notices(lock, next, finished.error());
    } else if (!finished && !stopping_) {
        changed_.wait(lock); // dropped, or not to be had now: the next change may help
    }
    return true;
}

} // namespace xpreempt::xqueue
