// SPDX-License-Identifier: MIT
// A thread that reports work decides itself which XQueues run, without waking another thread.
#pragma once

#include "xqueue/xqueue.hpp"

#include <memory>
#include <utility>

namespace xpreempt::xqueue {

// While one lives, its thread reacts to what it reports of that XQueue, at the latest when it ends.
// Made and ended without mutex_.
class XQueue::Reaction {
public:
    explicit Reaction(XQueue& queue) : queue_(queue), outer_(here) { here = this; }
    ~Reaction() {
        here = outer_;
        react();
    }
    Reaction(const Reaction&) = delete;
    Reaction& operator=(const Reaction&) = delete;

    // Returns the calling thread's reaction for that queue, or null. They nest: a launch function
    // may submit to another XQueue.
    static Reaction* of(const XQueue& queue) {
        Reaction* reaction = here;
        while (reaction != nullptr && &reaction->queue_ != &queue)
            reaction = reaction->outer_;
        return reaction;
    }

    void schedule(std::shared_ptr<Observer> observer) { due_ = std::move(observer); }
    [[nodiscard]] bool is_due() const { return due_ != nullptr; }

    // Without mutex_.
    void react() {
        if (const auto observer = std::exchange(due_, nullptr))
            observer->react();
    }

private:
    static thread_local Reaction* here;

    XQueue& queue_;
    Reaction* const outer_;
    std::shared_ptr<Observer> due_;
};

} // namespace xpreempt::xqueue
