// SPDX-License-Identifier: MIT
// Completion: markers that pass, waits, and commands that are dropped.
#include "xqueue/xqueue.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace xpreempt::xqueue {

namespace {

// Bounds what is remembered for a program that never waits for what it dropped.
constexpr std::size_t max_dropped = 1024;

// Interval between two polls of a marker: nothing notifies wait_until() when a marker passes.
constexpr std::chrono::steady_clock::duration first_pause = std::chrono::microseconds(10),
                                              longest_pause = std::chrono::milliseconds(1);

// An end this close is polled for: to sleep and be woken takes longer.
constexpr std::uint64_t soon_ns = 50'000;

// A brief wait polls this long.
constexpr std::uint64_t brief_ns = 25'000;

// A usual wait polls for soon_ns first if the last one that did so was over by then. Whether it
// would be can't be measured by a thread that is woken late, so it is tried now and then.
constexpr std::uint32_t waits_between_tries = 16;

// A wait that returns this fast has found its marker passed.
constexpr std::uint64_t noticed_at_once_ns = 1000;

} // namespace

// Takes note of markers that have passed, without waiting.
void XQueue::reap(Lock& lock) {
    while (!markers_.empty() && !taking_back_) {
        const std::shared_ptr<Marker> oldest = markers_.front().marker;
        lock.unlock();
        const bool passed = oldest->passed();
        lock.lock();
        if (!passed || taking_back_)
            return;
        complete(*oldest, 0);
    }
}

// A marker that is no longer there was void, or another thread was faster. now_ns: when it passed,
// 0 when that isn't known.
void XQueue::complete(const Marker& marker, std::uint64_t now_ns) {
    const auto found = std::ranges::find_if(
        markers_, [&](const Marked& marked) { return marked.marker.get() == &marker; });
    if (found == markers_.end())
        return;
    const Ticket ticket = found->ticket;
    std::uint32_t count = 0;
    for (auto left = found - markers_.begin(); left >= 0; --left) {
        count += markers_.front().count;
        markers_.pop_front();
    }
    in_flight_ -= count;
    statistics_.completed += count;
    if (now_ns != 0)
        pace_.completed(now_ns, count);
    else if (pace_.adapts())
        pace_.completed_unseen(hw_->now_ns(), count);
    if ((now_ns == 0 && !pace_.adapts()) || in_flight_ == 0)
        pace_.gap();
    count_load();
    complete_until(ticket);
    complete_if_idle();
    report_work();
    announce_progress();
    if (in_flight_ == 0)
        end_nap();
    wake_worker();
}

// No marker completes commands that failed or were dropped behind the last launched one.
void XQueue::complete_if_idle() {
    if (in_flight_ == 0 && completed_ != launched_)
        complete_until(launched_);
}

void XQueue::complete_until(Ticket ticket) {
    for (Ticket next = completed_ + 1; any_over_ && next <= ticket; ++next) {
        if (const Ticket last = dropped_until(next); last != 0)
            next = last; // ended by the drop
        else
            end(ring_[next]);
    }
    completed_ = ticket;
    ring_.release(ticket);
}

void XQueue::end(Command& command) {
    if (auto* const over = std::exchange(command.over, nullptr); over != nullptr)
        over(command.argument);
}

void XQueue::end_from(Ticket ticket) {
    while (any_over_ && (ticket = launchable_from(ticket)) <= submitted_)
        end(ring_[ticket++]);
}

Result<void> XQueue::wait_marked(Lock& lock, const Marked& marked, Wake wake) {
    const std::shared_ptr<Marker> marker = marked.marker;
    std::uint64_t commands = 0;
    for (const Marked& before : markers_) {
        commands += before.count;
        if (before.marker == marker)
            break;
    }
    const std::uint64_t begin_ns = hw_->now_ns();
    const Expected expected = pace_.expect(commands, begin_ns);
    const bool soon = expected.latest_ns != 0 && expected.latest_ns <= soon_ns;
    const bool promptly = wake == Wake::promptly || (wake == Wake::usual && soon);
    const bool tries = wake == Wake::usual && !promptly &&
                       (waits_end_soon_ || ++waits_ % waits_between_tries == 0);
    lock.unlock();
    // A query may take longer than noticed_at_once_ns.
    const bool at_once = wake != Wake::late && marker->passed();
    const bool early = at_once ||
                       (wake == Wake::brief && marker->passes_within(brief_ns, withheld_)) ||
                       (tries && marker->passes_within(soon_ns, withheld_));
    auto waited = early      ? Result<void>{}
                  : promptly ? marker->wait_promptly(expected)
                             : marker->wait();
    std::uint64_t now_ns = hw_->now_ns();
    if (at_once || now_ns - begin_ns < noticed_at_once_ns)
        now_ns = 0; // when it passed is unknown
    lock.lock();
    if (napping_ && !early && !promptly)
        now_ns = 0; // noticed too late for the worker's sleeps to depend on it
    if (wake == Wake::brief)
        refills_early_ = early;
    if (tries)
        waits_end_soon_ = early;
    // Only then it is known whether the marker counts.
    changed_.wait(lock, [this] { return !taking_back_; });
    const bool valid =
        std::ranges::any_of(markers_, [&](const Marked& other) { return other.marker == marker; });
    if (!valid)
        return {};
    if (waited)
        complete(*marker, now_ns);
    return waited;
}

// Until something changes that the end of the command depends on.
void XQueue::await(Lock& lock, Ticket ticket) {
    const auto mine = awaited_.insert(ticket);
    reached_.wait(lock);
    awaited_.erase(mine);
}

// Until that command is complete, whether its launch failed or not. ECANCELED: dropped.
Result<void> XQueue::finish(Lock& lock, Ticket ticket, Wake wake) {
    for (;;) {
        if (dropped_from(ticket) != 0)
            return fail(ECANCELED, Op::wait);
        if (ticket <= completed_)
            return {};
        if (broken_.errno_value != 0)
            return tl::make_unexpected(broken_);
        // While the hardware is held, waiting happens here and not inside HIP, which would keep
        // locks of its own until the resume.
        // Behind the last one there may be captured commands.
        const bool marked =
            !markers_.empty() && (markers_.back().ticket >= ticket || unmarked_ == 0);
        if (ticket > launched_ || taking_back_ || hardware_held() || (!marked && is_launching())) {
            await(lock, ticket);
            continue;
        }
        const auto behind = [&](const Marked& other) {
            return other.ticket >= ticket || &other == &markers_.back();
        };
        TRY(marked ? wait_marked(lock, *std::ranges::find_if(markers_, behind), wake)
                   : place_marker(lock));
    }
}

// A wait for all commands treats dropped commands as complete. Failed launches are reported for
// their own tickets only.
Result<void> XQueue::finish_all(Lock& lock, Ticket last, Wake wake) {
    for (;;) {
        for (Ticket first = dropped_from(last); first != 0; first = dropped_from(last))
            last = first - 1;
        if (last == 0)
            return {};
        const auto finished = finish(lock, last, wake);
        if (finished || finished.error().errno_value != ECANCELED || dropped_from(last) == 0)
            return finished;
    }
}

Result<void> XQueue::wait(Ticket ticket) {
    if (called_from_launch())
        return fail(EDEADLK, Op::wait);
    const bool captured = is_captured();
    Lock lock(mutex_);
    if (ticket == 0 || ticket > submitted_)
        return fail(EINVAL, Op::wait);
    if (captured && ticket > launched_)
        return fail(EBUSY, Op::wait);
    return outcome(lock, ticket);
}

// The result of a launch by the worker is reported once.
Result<void> XQueue::outcome(Lock& lock, Ticket ticket) {
    TRY(finish(lock, ticket));
    const auto failure = failures_.find(ticket);
    if (failure == failures_.end())
        return {};
    const Error error = failure->second;
    failures_.erase(failure);
    return tl::make_unexpected(error);
}

bool XQueue::is_finished(Ticket ticket) const {
    return ticket <= completed_ || dropped_from(ticket) != 0 || broken_.errno_value != 0;
}

// There is no marker behind it yet, and one can be placed.
bool XQueue::may_mark(Ticket ticket) const {
    return unmarked_ > 0 && (markers_.empty() || markers_.back().ticket < ticket) &&
           ticket <= launched_ && !is_launching() && !taking_back_ && !hardware_held();
}

Result<void> XQueue::reach(Lock& lock, Ticket ticket,
                           std::chrono::steady_clock::time_point deadline) {
    for (auto pause = first_pause; !is_finished(ticket);
         pause = std::min(2 * pause, longest_pause)) {
        if (may_mark(ticket))
            TRY(place_marker(lock));
        if (!hardware_held())
            reap(lock);
        if (is_finished(ticket))
            return {};
        const auto now = std::chrono::steady_clock::now();
        if (now >= deadline)
            return fail(ETIMEDOUT, Op::wait);
        changed_.wait_until(lock, std::min(deadline, now + pause));
    }
    return {};
}

Result<void> XQueue::wait_until(Ticket ticket, std::chrono::steady_clock::time_point deadline) {
    if (called_from_launch())
        return fail(EDEADLK, Op::wait);
    Lock lock(mutex_);
    if (ticket == 0 || ticket > submitted_)
        return fail(EINVAL, Op::wait);
    TRY(reach(lock, ticket, deadline));
    return outcome(lock, ticket); // doesn't wait any more
}

Result<void> XQueue::finish_until(std::chrono::steady_clock::time_point deadline) {
    if (called_from_launch())
        return {};
    Lock lock(mutex_);
    return reach(lock, submitted_, deadline);
}

bool XQueue::outlast_launch_until(std::chrono::steady_clock::time_point deadline) {
    if (called_from_launch())
        return true;
    Lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return !is_launching(); });
}

Result<void> XQueue::wait_all() {
    if (called_from_launch())
        return fail(EDEADLK, Op::wait);
    const bool captured = is_captured();
    Lock lock(mutex_);
    return captured && pending_ > 0 ? fail(EBUSY, Op::wait) : finish_all(lock, submitted_);
}

XQueue::Dropped::const_iterator XQueue::dropped_range(Ticket ticket) const {
    // The usual command is newer than anything that was ever dropped.
    if (dropped_.empty() || dropped_.rbegin()->second < ticket)
        return dropped_.end();
    const auto after = dropped_.upper_bound(ticket);
    if (after == dropped_.begin() || std::prev(after)->second < ticket)
        return dropped_.end();
    return std::prev(after);
}

Ticket XQueue::dropped_from(Ticket ticket) const {
    const auto range = dropped_range(ticket);
    return range == dropped_.end() ? 0 : range->first;
}

Ticket XQueue::dropped_until(Ticket ticket) const {
    const auto range = dropped_range(ticket);
    return range == dropped_.end() ? 0 : range->second;
}

Result<std::uint64_t> XQueue::drop() {
    if (called_from_launch())
        return fail(EDEADLK, Op::submit);
    Lock lock(mutex_);
    withheld_.fetch_add(1, std::memory_order_relaxed); // else a busy worker never stops launching
    changed_.wait(lock, [this] { return !is_launching() && !taking_back_; });
    withheld_.fetch_sub(1, std::memory_order_relaxed);
    const std::uint64_t count = pending_;
    if (count == 0)
        return count;
    const Ticket first = launched_ + 1;
    drop_pending();
    launched_ = submitted_;
    statistics_.dropped += count;
    complete_if_idle();
    report_work();
    announce();
    while (deliver(lock, first)) { // the watcher may be waiting for what was launched
    }
    return count;
}

// Leaves commands whose launch failed or that were launched into a capture.
void XQueue::drop_pending() {
    end_from(launched_ + 1);
    for (Ticket first = launchable_from(launched_ + 1); first <= submitted_;) {
        Ticket last = first, next = launchable_from(first + 1);
        for (; next == last + 1 && next <= submitted_; next = launchable_from(next + 1))
            last = next;
        remember_dropped(first, last);
        first = next;
    }
    pending_ = 0;
}

void XQueue::remember_dropped(Ticket first, Ticket last) {
    if (const Ticket joined = dropped_from(first - 1); joined != 0)
        first = joined;
    dropped_[first] = last;
    ring_.forget(std::max(first, completed_ + 1), last);
    // Keep a range that isn't complete: its commands must be skipped if those before it are taken
    // back.
    if (dropped_.size() > max_dropped && dropped_.begin()->second <= completed_)
        dropped_.erase(dropped_.begin());
}

} // namespace xpreempt::xqueue
