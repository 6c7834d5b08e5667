// SPDX-License-Identifier: MIT
// Tells somebody when work comes and when it is over, for which a thread waits for the GPU.
#include "xqueue/reaction.hpp"

#include <pthread.h>

namespace xpreempt::xqueue {

thread_local XQueue::Reaction* XQueue::Reaction::here = nullptr;

bool XQueue::has_work() const {
    if (hw_->has_direct_work())
        return true;
    const Lock lock(mutex_);
    return works();
}

void XQueue::observe(std::shared_ptr<Observer> observer) {
    hw_->observe_direct(observer);
    const Lock lock(mutex_);
    observer_.swap(observer); // the former one, when this was its last, goes without the lock
    observed_.store(observer_ != nullptr, std::memory_order_relaxed);
    told_of_work_ = works();
    if (observer_ != nullptr && !watcher_.joinable()) {
        watcher_ = std::thread([this] { watch(); });
        pthread_setname_np(watcher_.native_handle(), "xpreempt-watch");
    }
    changed_.notify_all();
}

void XQueue::tell_of_work() {
    const bool work = works();
    if (work == told_of_work_)
        return;
    told_of_work_ = work;
    if (observer_ == nullptr)
        return;
    Reaction* reaction = Reaction::of(*this);
    observer_->note(reaction != nullptr);
    if (reaction != nullptr)
        reaction->tell(observer_);
}

void XQueue::tell_of_holds() {
    if (observer_ != nullptr)
        observer_->note_hold();
}

// Not the worker's business: it must be there to launch while something runs.
void XQueue::watch() {
    Reaction reaction(*this);
    Lock lock(mutex_);
    while (!stopping_) {
        if (!watching() || in_flight_ == 0) {
            changed_.wait(lock);
            continue;
        }
        // The oldest marker is enough, and one of our own only where there is none yet.
        const Ticket next = markers_.empty() ? launched_ : markers_.front().ticket;
        const auto finished = finish(lock, next);
        if (reaction.told()) {
            lock.unlock();
            reaction.react();
            lock.lock();
        } else if (!finished && !stopping_) {
            changed_.wait(lock); // dropped, or not to be had now: the next change may help
        }
    }
}

} // namespace xpreempt::xqueue
