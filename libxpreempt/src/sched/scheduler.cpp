// SPDX-License-Identifier: MIT
// Snapshot, decision, actions; and again when something happens.
#include "sched/scheduler.hpp"

#include "base/log.hpp"
#include "base/start_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

namespace xpreempt::sched {

using Clock = std::chrono::steady_clock;

namespace {

// Between two attempts at what the hardware refused: each is twice the one before.
constexpr std::chrono::milliseconds first_pause{1}, longest_pause{1000};

// A policy that wants to be called again at once must not occupy a core.
constexpr std::chrono::microseconds shortest_time{50};

// The scheduler whose stop or start the calling thread is in: that one's holds are no news to it.
thread_local const Scheduler* acting_here = nullptr;

} // namespace

Scheduler::Scheduler(Decide decide, xqueue::Together* together)
    : decide_(std::move(decide)), together_(together),
      thread_(must_start_thread("xpreempt-sched", [this] { work(); })) {}

void Scheduler::stop() {
    {
        const std::lock_guard lock(note_mutex_);
        if (stopping_)
            return;
        stopping_ = true;
        noted_.notify_one();
    }
    thread_.join();
    Lock lock(sources_mutex_);
    stopped_ = true;
    while (!entries_.empty()) {
        const auto source = entries_.back().source;
        lock.unlock();
        remove(*source);
        lock.lock();
    }
}

void Scheduler::add(const std::shared_ptr<Source>& source, const SourceName& name) {
    {
        const std::lock_guard lock(sources_mutex_);
        if (stopped_)
            return;
        const std::uint64_t nodes = node_of(name.device); // first: a failed add must add nothing
        const auto behind = std::ranges::upper_bound(
            entries_, name.device, {}, [](const Entry& entry) { return entry.name.device; });
        const auto entry = entries_.insert(behind, Entry{source, name, {}});
        entry->job.id = ++last_id_;
        entry->job.nodes = nodes;
        source->observe(shared_from_this());
    }
    note(false); // it may have work already
}

void Scheduler::remove(const Source& source) {
    Lock lock(sources_mutex_);
    acted_.wait(lock, [&] {
        const Entry* entry = find(&source);
        return entry == nullptr || !entry->acting;
    });
    Entry* entry = find(&source);
    if (entry == nullptr)
        return;
    entry->acting = true; // who else removes it waits until we have let go of it
    const bool suspended = entry->suspended;
    const auto removed = entry->source;
    lock.unlock();
    removed->observe(nullptr);
    if (suspended)
        (void)removed->start(Patience::full); // the hold ends with any answer of the driver
    lock.lock();
    entries_.erase(entries_.begin() + (find(&source) - entries_.data()));
    acted_.notify_all();
    lock.unlock();
    note(false);
}

void Scheduler::note_hold() noexcept {
    if (acting_here != this)
        note(false);
}

void Scheduler::note(bool will_react) noexcept {
    const std::lock_guard lock(note_mutex_);
    if (!pending_)
        event_ = Clock::now();
    pending_ = true;
    if (will_react)
        return;
    wake_ = true;
    noted_.notify_one();
}

// Also while another thread acts on the same decision: it may be delayed.
void Scheduler::react() noexcept {
    Time event;
    {
        const std::lock_guard lock(note_mutex_);
        if (stopping_)
            return;
        event = pending_ ? event_ : Clock::now();
        pending_ = false;
    }
    if (react_at_once(event) > Outcome::done)
        note(false);
}

Scheduler::Entry* Scheduler::find(const Source* source) {
    const auto found = std::ranges::find_if(
        entries_, [&](const Entry& entry) { return entry.source.get() == source; });
    return found == entries_.end() ? nullptr : &*found;
}

void Scheduler::call_again(Time now, Time when) {
    const std::lock_guard lock(note_mutex_);
    const Time next = std::max(when, now + shortest_time);
    const bool earlier = next < next_;
    next_ = next;
    if (earlier)
        noted_.notify_one();
}

// A bit for each device. More devices than bits share the last one.
std::uint64_t Scheduler::node_of(std::uint32_t device) {
    auto found = std::ranges::find(devices_, device);
    if (found == devices_.end() && devices_.size() < max_nodes)
        found = devices_.insert(found, device);
    const auto node = std::min<std::ptrdiff_t>(found - devices_.begin(), max_nodes - 1);
    return std::uint64_t{1} << node;
}

void Scheduler::refresh(Entry& entry, Time now) {
    const std::uint32_t ours = entry.suspended || entry.acting ? 1 : 0;
    JobView& job = entry.job;
    const bool ready = entry.source->has_work();
    if (ready && !job.ready) {
        job.ready_since = now;
        ++job.ready_edges;
    }
    job.ready = ready;
    job.priority = entry.source->priority();
    const xqueue::Attributes attributes = entry.source->attributes();
#define ATTRIBUTE(kind, name, least, most, initial, view, ...) job.view = attributes.view;
#include "base/attributes.def"
    job.held = entry.suspended;
    job.held_by_others = entry.source->holds() > ours;
}

// Returns the suspends before the resumes, so that a source to be suspended doesn't run beside a
// resumed one.
Scheduler::Actions Scheduler::decide() {
    const std::lock_guard lock(sources_mutex_);
    Actions actions;
    if (stopped_)
        return actions;
    std::vector<JobView> jobs;
    std::vector<SourceName> names;
    jobs.reserve(entries_.size());
    names.reserve(entries_.size());
    const Time now = Clock::now();
    for (Entry& entry : entries_) {
        refresh(entry, now);
        jobs.push_back(entry.job);
        names.push_back(entry.name);
    }
    std::vector<Verdict> verdicts(jobs.size(), Verdict::run);
    call_again(now, decide_({now, jobs, cost_.value(now)}, names, verdicts));
    ++statistics_.decisions;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        Entry& entry = entries_[i];
        entry.wanted = verdicts[i];
        entry.skipped |= entry.acting;
        if (!entry.acting && (verdicts[i] == Verdict::hold) != entry.suspended)
            actions.push_back({entry.source.get(), verdicts[i]});
    }
    std::ranges::stable_sort(actions, std::ranges::greater{}, &Action::verdict);
    return actions;
}

// Comes with sources_mutex_; acted_ is to be notified. True: a decision left it alone meanwhile.
bool Scheduler::let_go(Entry& entry) {
    entry.acting = false;
    return std::exchange(entry.skipped, false);
}

Scheduler::Outcome Scheduler::act(const Action& action, Patience patience) {
    const bool suspend = action.verdict == Verdict::hold;
    Lock lock(sources_mutex_);
    Entry* entry = find(action.source);
    if (entry == nullptr || entry->acting || entry->wanted != action.verdict ||
        entry->suspended == suspend)
        return Outcome::nothing; // it is being removed, or another thread was faster
    entry->acting = true;
    // A source that others hold is off the hardware already, and stays off.
    const Outcome done = entry->job.held_by_others ? Outcome::nothing : Outcome::done;
    const auto source = entry->source;
    lock.unlock();
    acting_here = this;
    Result<bool> whole = true;
    try {
        if (suspend)
            whole = source->stop(patience);
        else
            whole = source->start(patience).map([] { return true; });
    } catch (const std::bad_alloc&) {
        whole = fail(ENOMEM, Op::allocate);
    }
    acting_here = nullptr;
    lock.lock();
    entry = find(action.source); // stays: remove() waits for us
    Outcome outcome = done;
    if (whole) {
        entry->suspended = suspend;
        entry->unfinished = suspend && !*whole;
        ++(suspend ? statistics_.suspends : statistics_.resumes);
        if (entry->unfinished)
            outcome = Outcome::takes_patience;
    } else if (whole.error().errno_value == EAGAIN && patience == Patience::none) {
        outcome = Outcome::takes_patience;
    } else {
        ++statistics_.failures;
        outcome = Outcome::refused;
        log::report(log::Level::warning,
                    "the scheduler could not %s a stream (%s failed: %s); it tries again",
                    suspend ? "suspend" : "resume", phrase(whole.error().op),
                    std::strerror(whole.error().errno_value));
    }
    if (let_go(*entry))
        outcome = std::max(outcome, Outcome::again);
    acted_.notify_all();
    return outcome;
}

Scheduler::Outcome Scheduler::act_all(Part actions, Patience patience) {
    Outcome worst = Outcome::nothing;
    for (const Action& action : actions)
        worst = std::max(worst, act(action, patience));
    return worst;
}

std::vector<xqueue::QueueName> Scheduler::queues_of(Part actions) {
    std::vector<xqueue::QueueName> queues;
    for (const Action& action : actions) {
        std::shared_ptr<Source> source;
        {
            const std::lock_guard lock(sources_mutex_);
            if (const Entry* entry = find(action.source))
                source = entry->source;
        }
        if (source != nullptr)
            std::ranges::copy(source->queues(), std::back_inserter(queues));
    }
    return queues;
}

void Scheduler::note_reaction(Time event) {
    const auto reaction =
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - event);
    const std::lock_guard lock(sources_mutex_);
    statistics_.last_reaction_ns = static_cast<std::uint64_t>(reaction.count());
    statistics_.max_reaction_ns =
        std::max(statistics_.max_reaction_ns, statistics_.last_reaction_ns);
}

void Scheduler::note_cost(bool stops, Time called) {
    const auto took = Clock::now() - called;
    const std::lock_guard lock(sources_mutex_);
    cost_.note(stops, called, took);
}

Scheduler::Outcome Scheduler::react_to(Time event, Patience patience) try {
    const Actions actions = decide();
    const auto middle = std::ranges::find(actions, Verdict::run, &Action::verdict);
    const Part to_stop(actions.begin(), middle), to_start(middle, actions.end());
    Outcome stopped = Outcome::nothing, started = Outcome::nothing;
    const Time called = Clock::now();
    if (together_ == nullptr || actions.size() < 2) {
        stopped = act_all(to_stop, patience);
        if (!to_stop.empty())
            note_reaction(event);
        started = act_all(to_start, patience);
    } else {
        const auto stops = queues_of(to_stop), starts = queues_of(to_start);
        together_->keep(&actions, starts);
        started = act_all(to_start, patience);
        together_->exchange(&actions, stops, starts);
        stopped = act_all(to_stop, patience);
        together_->end(&actions);
        if (!to_stop.empty())
            note_reaction(event);
    }
    // Patience waits for more than the hardware, and a refused call does less.
    const Outcome worst = std::max(stopped, started);
    if (worst == Outcome::done && patience == Patience::none)
        note_cost(!to_stop.empty(), called);
    return worst;
} catch (const std::bad_alloc&) { // before anything was done
    return Outcome::refused;
}

// Does all that needs no patience, what is decided meanwhile included. Never returns
// Outcome::again.
Scheduler::Outcome Scheduler::react_at_once(Time event) {
    Outcome outcome = Outcome::again;
    while (outcome == Outcome::again)
        outcome = react_to(event, Patience::none);
    return outcome;
}

void Scheduler::outlast_all() {
    Lock lock(sources_mutex_);
    for (;;) {
        const auto found = std::ranges::find_if(
            entries_, [](const Entry& entry) { return entry.unfinished && !entry.acting; });
        if (found == entries_.end())
            return;
        found->unfinished = false;
        found->acting = true;
        const auto source = found->source;
        lock.unlock();
        source->outlast();
        lock.lock();
        const bool skipped = let_go(*find(source.get()));
        acted_.notify_all();
        if (skipped)
            note(false);
    }
}

// Blocks until there is news, or the time comes that the policy has asked for. False: the attempt
// is due. Comes with note_mutex_.
bool Scheduler::await_news(Lock& lock, Time attempt) {
    while (!wake_ && !stopping_) {
        const Time now = Clock::now();
        if (now >= next_) {
            next_ = at_next_event; // the policy is asked again
            return true;
        }
        if (now >= attempt)
            return false;
        if (const Time until = std::min(next_, attempt); until == at_next_event)
            noted_.wait(lock);
        else
            noted_.wait_until(lock, until);
    }
    return true;
}

// Retries refused actions at the next event, or after a pause if none comes: the rest may be idle.
void Scheduler::work() {
    auto pause = first_pause;
    bool refused = false;
    Lock lock(note_mutex_);
    for (;;) {
        const bool news = await_news(lock, refused ? Clock::now() + pause : at_next_event);
        pause = news ? first_pause : std::min(2 * pause, longest_pause);
        if (stopping_)
            return;
        const Time event = pending_ ? event_ : Clock::now();
        pending_ = wake_ = false;
        lock.unlock();
        // First what is done at once, for patience may last.
        Outcome outcome = react_at_once(event);
        if (outcome == Outcome::takes_patience)
            outcome = react_to(event, Patience::full);
        if (outcome == Outcome::again)
            note(false);
        outlast_all();
        refused = outcome == Outcome::refused;
        if (!refused)
            pause = first_pause;
        lock.lock();
    }
}

std::size_t Scheduler::size() const {
    const std::lock_guard lock(sources_mutex_);
    return entries_.size();
}

Statistics Scheduler::statistics() const {
    const std::lock_guard lock(sources_mutex_);
    return statistics_;
}

} // namespace xpreempt::sched
