// SPDX-License-Identifier: MIT
// Snapshot, decision, actions; and again when something happens.
#include "sched/scheduler.hpp"

#include <algorithm>
#include <cerrno>
#include <pthread.h>

namespace xpreempt::sched {

using Clock = std::chrono::steady_clock;

namespace {

// Between two attempts at what the hardware refused: each is twice the one before.
constexpr std::chrono::milliseconds first_pause{1}, longest_pause{1000};

} // namespace

Scheduler::Scheduler(Policy& policy) : policy_(policy), thread_([this] { work(); }) {
    pthread_setname_np(thread_.native_handle(), "xpreempt-sched");
}

void Scheduler::stop() {
    {
        const std::lock_guard lock(note_mutex_);
        if (stopping_)
            return;
        stopping_ = true;
        noted_.notify_one();
    }
    thread_.join();
    Lock lock(queues_mutex_);
    stopped_ = true;
    while (!entries_.empty()) {
        const auto queue = entries_.back().queue;
        lock.unlock();
        remove(*queue);
        lock.lock();
    }
}

void Scheduler::add(const std::shared_ptr<xqueue::XQueue>& queue, std::uint32_t device) {
    {
        const std::lock_guard lock(queues_mutex_);
        if (stopped_)
            return;
        const auto behind = std::ranges::upper_bound(entries_, device, {}, &Entry::device);
        entries_.insert(behind, Entry{queue, device});
        queue->observe(this);
    }
    note(); // it may have work already
}

void Scheduler::remove(const xqueue::XQueue& queue) {
    Lock lock(queues_mutex_);
    acted_.wait(lock, [&] {
        const Entry* entry = find(&queue);
        return entry == nullptr || !entry->acting;
    });
    Entry* entry = find(&queue);
    if (entry == nullptr)
        return;
    entry->acting = true; // who else removes it waits until we have let go of it
    const bool suspended = entry->suspended;
    xqueue::XQueue& removed = *entry->queue;
    lock.unlock();
    removed.observe(nullptr);
    if (suspended)
        (void)removed.resume(); // refused only by a dead queue
    lock.lock();
    entries_.erase(entries_.begin() + (find(&queue) - entries_.data()));
    acted_.notify_all();
    lock.unlock();
    note();
}

void Scheduler::note() noexcept {
    const std::lock_guard lock(note_mutex_);
    if (pending_)
        return;
    pending_ = true;
    event_ = Clock::now();
    noted_.notify_one();
}

Scheduler::Entry* Scheduler::find(const xqueue::XQueue* queue) {
    const auto found = std::ranges::find_if(
        entries_, [&](const Entry& entry) { return entry.queue.get() == queue; });
    return found == entries_.end() ? nullptr : &*found;
}

// What is to be suspended comes first, so that nothing runs beside what is resumed.
std::vector<Scheduler::Action> Scheduler::decide() {
    const std::lock_guard lock(queues_mutex_);
    std::vector<QueueView> views;
    views.reserve(entries_.size());
    for (const Entry& entry : entries_) {
        const xqueue::State state = entry.queue->state();
        const std::uint32_t ours = entry.suspended ? 1 : 0;
        views.push_back(
            {entry.device, entry.queue->priority(), state.has_work && state.suspends == ours});
    }
    std::vector<Verdict> verdicts(views.size(), Verdict::run);
    policy_(views, Clock::now(), verdicts);
    ++statistics_.decisions;
    std::vector<Action> actions;
    for (std::size_t i = 0; i < entries_.size(); ++i)
        if ((verdicts[i] == Verdict::suspend) != entries_[i].suspended)
            actions.push_back({entries_[i].queue.get(), verdicts[i]});
    std::ranges::stable_sort(actions, std::ranges::greater{}, &Action::verdict);
    return actions;
}

// False: the hardware refused.
bool Scheduler::act(const Action& action) {
    const bool suspend = action.verdict == Verdict::suspend;
    Lock lock(queues_mutex_);
    Entry* entry = find(action.queue);
    if (entry == nullptr || entry->acting || entry->suspended == suspend)
        return true; // it is being removed, or was since the decision
    entry->acting = true;
    xqueue::XQueue& queue = *entry->queue; // stays: remove() waits for us
    lock.unlock();
    const bool done = suspend ? queue.suspend({}).has_value() : queue.resume().has_value();
    lock.lock();
    entry = find(action.queue);
    entry->acting = false;
    if (done)
        entry->suspended = suspend;
    ++(!done ? statistics_.failures : suspend ? statistics_.suspends : statistics_.resumes);
    acted_.notify_all();
    return done;
}

// Returns whether all of it was done.
bool Scheduler::react(Time event) {
    const std::vector<Action> actions = decide();
    bool done = true;
    auto action = actions.begin();
    for (; action != actions.end() && action->verdict == Verdict::suspend; ++action)
        done &= act(*action);
    if (action != actions.begin()) {
        const auto reaction =
            std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - event);
        const std::lock_guard lock(queues_mutex_);
        statistics_.last_reaction_ns = static_cast<std::uint64_t>(reaction.count());
        statistics_.max_reaction_ns =
            std::max(statistics_.max_reaction_ns, statistics_.last_reaction_ns);
    }
    for (; action != actions.end(); ++action)
        done &= act(*action);
    return done;
}

// What was refused is tried again at the next event, and when none comes: the rest may be idle.
void Scheduler::work() {
    auto pause = first_pause;
    bool done = true;
    Lock lock(note_mutex_);
    for (;;) {
        const auto noted = [this] { return pending_ || stopping_; };
        if (done)
            noted_.wait(lock, noted);
        else if (noted_.wait_for(lock, pause, noted))
            pause = first_pause;
        else
            pause = std::min(2 * pause, longest_pause);
        if (stopping_)
            return;
        const Time event = pending_ ? event_ : Clock::now();
        pending_ = false;
        lock.unlock();
        done = react(event);
        if (done)
            pause = first_pause;
        lock.lock();
    }
}

std::size_t Scheduler::size() const {
    const std::lock_guard lock(queues_mutex_);
    return entries_.size();
}

Statistics Scheduler::statistics() const {
    const std::lock_guard lock(queues_mutex_);
    return statistics_;
}

} // namespace xpreempt::sched
