// SPDX-License-Identifier: MIT
// Tells somebody when work comes and when it is over, for which a thread waits for the GPU.
#include "xqueue/xqueue.hpp"

#include <pthread.h>

namespace xpreempt::xqueue {

void XQueue::observe(Observer* observer) {
    const Lock lock(mutex_);
    observer_ = observer;
    told_of_work_ = has_work();
    if (observer_ != nullptr && !watcher_.joinable()) {
        watcher_ = std::thread([this] { watch(); });
        pthread_setname_np(watcher_.native_handle(), "xpreempt-watch");
    }
    changed_.notify_all();
}

void XQueue::tell_of_work() {
    const bool work = has_work();
    if (work == told_of_work_)
        return;
    told_of_work_ = work;
    if (observer_ != nullptr)
        observer_->note();
}

void XQueue::tell_of_holds() {
    if (observer_ != nullptr)
        observer_->note();
}

// Not the worker's business: it must be there to launch while something runs.
void XQueue::watch() {
    Lock lock(mutex_);
    while (!stopping_) {
        if (!watching() || in_flight_ == 0) {
            changed_.wait(lock);
            continue;
        }
        // The oldest marker is enough, and one of our own only where there is none yet.
        const Ticket next = markers_.empty() ? launched_ : markers_.front().ticket;
        if (const auto finished = finish(lock, next); !finished && !stopping_)
            changed_.wait(lock); // dropped, or not to be had now: the next change may help
    }
}

} // namespace xpreempt::xqueue
