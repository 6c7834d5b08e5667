// SPDX-License-Identifier: MIT
// Progressive launching: who launches, and what is in flight.
#include "base/caller_state.hpp"
#include "xqueue/reaction.hpp"

#include <algorithm>
#include <cerrno>
#include <new>
#include <optional>
#include <utility>

namespace xpreempt::xqueue {

namespace {

// Commands that are launched between two looks at the state.
constexpr std::size_t max_run = 16;

// Failed launches whose error is kept, the newest: a program may never wait for them.
constexpr std::size_t max_failures = 1024;

// A submit that finds no room polls this long for it: to wake the worker costs as much, and then
// the two threads get in each other's way.
constexpr std::uint64_t room_poll_ns = 10'000;

} // namespace

// The time in which this thread launches. Comes with mutex_ locked and leaves it locked.
class XQueue::Turn {
public:
    Turn(XQueue& queue, Lock& lock) : queue_(queue), lock_(lock) {
        queue_.launcher_.store(std::this_thread::get_id(), std::memory_order_relaxed);
        lock_.unlock();
    }
    ~Turn() {
        lock_.lock();
        queue_.launcher_.store({}, std::memory_order_relaxed);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

private:
    XQueue& queue_;
    Lock& lock_;
};

Result<Ticket> XQueue::submit(const Command& command) {
    if (is_captured()) [[unlikely]]
        if (auto launched = launch_captured(command); !launched || *launched != 0)
            return launched;
    std::optional<Reaction> reaction;
    if (observed_.load(std::memory_order_relaxed))
        reaction.emplace(*this);
    Lock lock(mutex_);
    // A command that is put behind others waits for nothing and calls no other code.
    std::optional<CallerState> caller;
    if (!pace_.config().deferred || reaction || pending_ == 0 ||
        pending_ >= pace_.config().capacity)
        caller.emplace();
    if (pending_ == 0 && may_launch() && in_flight_ >= pace_.threshold())
        find_room(lock);
    while (pending_ >= pace_.config().capacity && broken_.errno_value == 0 && !closed_) {
        // The launch in progress is this thread's: no other thread could make room.
        if (called_from_launch())
            return fail(EAGAIN, Op::submit);
        changed_.wait(lock);
    }
    if (closed_)
        return fail(ESHUTDOWN, Op::submit);
    if (broken_.errno_value != 0)
        return tl::make_unexpected(broken_);
    const Ticket ticket = submitted_ + 1;
    ring_.push(ticket, command);
    any_over_ = any_over_ || command.over != nullptr;
    submitted_ = ticket;
    ++pending_;
    ++statistics_.submitted;
    report_work();
    if (reaction && reaction->is_due()) {
        lock.unlock();
        reaction->react();
        lock.lock();
        if (launchable_from(launched_ + 1) != ticket)
            return ticket; // launched or dropped by another thread meanwhile, or behind others
    }
    // On an idle xqueue the launch is worth more to the caller than the time that it takes: to wake
    // the worker takes several times as long.
    const bool defers = pace_.config().deferred && in_flight_ > 0;
    if (defers || pending_ > 1 || !may_launch() || in_flight_ >= pace_.threshold() ||
        (pace_.adapts() && !may_launch_inline())) {
        wake_worker();
        return ticket;
    }
    Attempt attempt{{command, ticket, completed_}, {0, Op::launch}};
    if (launch(lock, {&attempt, 1}) == 0)
        return ticket; // a suspend came first
    if (attempt.error.errno_value != 0)
        return tl::make_unexpected(attempt.error);
    ++statistics_.launched_inline;
    return ticket;
}

// It needs no room and no resume, and is complete with what was submitted before it. 0: the capture
// was that of a launch function, and is over with it.
Result<Ticket> XQueue::launch_captured(const Command& command) {
    const CallerState caller;
    if (called_from_launch())
        return fail(EAGAIN, Op::submit);
    Lock lock(mutex_);
    changed_.wait(lock, [this] { return !is_launching() && !taking_back_; });
    if (closed_)
        return fail(ESHUTDOWN, Op::submit);
    if (!is_captured())
        return 0;
    const Ticket ticket = submitted_ + 1;
    ring_.push(ticket, {nullptr, command.argument, 0, command.over}); // first: it needs memory
    submitted_ = ticket;
    ++statistics_.submitted;
    const Launch launch{command, ticket, completed_, true};
    Error error{0, Op::launch};
    into_graph_ = true;
    {
        const Turn turn(*this, lock);
        if (const auto launched = launch_one(launch); !launched)
            error = launched.error();
    }
    into_graph_ = false;
    if (error.errno_value == 0) {
        any_over_ = any_over_ || command.over != nullptr;
        ++statistics_.launched;
        ++statistics_.launched_inline;
    } else {
        ring_[ticket].over = nullptr; // else the submit returns the error
        ++statistics_.launch_failures;
    }
    if (pending_ == 0)
        launched_ = submitted_;
    complete_if_idle();
    announce();
    wake_worker();
    return error.errno_value == 0 ? Result<Ticket>(ticket) : tl::make_unexpected(error);
}

// Completes what has passed. If nothing has, polls for a moment, unless that was in vain before.
void XQueue::find_room(Lock& lock) {
    reap(lock);
    if (in_flight_ < pace_.threshold()) {
        room_is_near_ = true;
        return;
    }
    if (!room_is_near_ || pace_.config().deferred || markers_.empty())
        return;
    const std::shared_ptr<Marker> oldest = markers_.front().marker;
    lock.unlock();
    const bool passed = oldest->passes_within(room_poll_ns, withheld_);
    lock.lock();
    room_is_near_ = passed;
    if (passed && !taking_back_)
        complete(*oldest, 0);
}

// The first from that ticket on which is neither dropped nor failed, if it was submitted.
Ticket XQueue::launchable_from(Ticket ticket) {
    while (ticket <= submitted_) {
        if (const Ticket last = dropped_until(ticket); last != 0)
            ticket = last + 1;
        else if (ring_[ticket].launch == nullptr)
            ++ticket;
        else
            break;
    }
    return ticket;
}

// Commands that can be launched before a marker is due.
std::uint32_t XQueue::until_marker() const {
    const std::uint32_t batch = pace_.batch();
    return batch > unmarked_ ? batch - unmarked_ : 1;
}

// A launch function is the program's code.
Result<void> XQueue::launch_one(const Launch& launch) {
    try {
        return hw_->launch(launch);
    } catch (...) {
        return fail(EIO, Op::launch_function);
    }
}

// Comes with mutex_ locked, and launching is our turn; leaves it locked. Launches the commands in
// order until a suspend comes, and returns how many it tried. The others are pending as before.
std::size_t XQueue::launch(Lock& lock, std::span<Attempt> attempts) {
    const auto count = static_cast<std::uint32_t>(attempts.size());
    const std::uint32_t before_marker = until_marker();
    pending_ -= count;
    std::uint32_t tried = 0, launched = 0;
    Result<std::shared_ptr<Marker>> marker;
    bool mark = false;
    {
        const Turn turn(*this, lock);
        // The begin of a capture waits for those that find none here.
        while (tried < count && withheld_.load(std::memory_order_relaxed) == 0 &&
               stays_out_of_graphs()) {
            Attempt& attempt = attempts[tried++];
            if (const auto answer = launch_one(attempt.launch); answer)
                ++launched;
            else
                attempt.error = answer.error();
        }
        // Right behind the commands that it counts. One that can't be placed is tried again with
        // the next launch, and reported by a call that depends on it.
        mark = launched >= before_marker;
        if (mark)
            marker = hw_->mark();
    }
    pending_ += count - tried;
    for (const Attempt& attempt : attempts.first(tried))
        account(attempt);
    // Nothing that could be launched is left: what is behind failed before or was dropped.
    if (pending_ == 0) {
        launched_ = submitted_;
        leave_turn();
    }
    if (mark && !add_marker(std::move(marker)))
        ++statistics_.hw_failures;
    complete_if_idle();
    count_load();
    report_work();
    announce_progress();
    wake_worker();
    return tried;
}

void XQueue::account(const Attempt& attempt) {
    launched_ = attempt.launch.ticket;
    if (attempt.error.errno_value != 0) {
        Command& failed = ring_[launched_];
        failed.launch = nullptr;
        if (attempt.by_worker)
            end(failed);
        failed.over = nullptr; // else the submit returns the error
        ++statistics_.launch_failures;
        return;
    }
    ++statistics_.launched;
    if (in_flight_ == 0)
        pace_.started(hw_->now_ns(), !has_company());
    else if (markers_.empty())
        pace_.gap(); // what is in flight may have ended long ago
    ++in_flight_;
    ++unmarked_;
}

Result<void> XQueue::add_marker(Result<std::shared_ptr<Marker>> marker) try {
    markers_.push_back({launched_, unmarked_, TRY(std::move(marker))});
    unmarked_ = 0;
    return {};
} catch (const std::bad_alloc&) {
    return fail(ENOMEM, Op::allocate);
}

// As launch(): the marker must come right behind the commands that it counts.
Result<void> XQueue::place_marker(Lock& lock) {
    Result<std::shared_ptr<Marker>> marker;
    {
        const Turn turn(*this, lock);
        marker = hw_->mark();
    }
    report_work();
    announce_progress();
    wake_worker();
    return add_marker(std::move(marker));
}

// Whether other xqueues keep the device busy.
bool XQueue::has_company() const {
    return load_ != nullptr && load_->busy.load(std::memory_order_relaxed) > (counted_ ? 1U : 0U);
}

// Call it after in_flight_ has changed.
void XQueue::count_load() {
    const bool counts = in_flight_ > 0;
    if (load_ == nullptr || counts == counted_)
        return;
    counted_ = counts;
    load_->busy.fetch_add(counts ? 1U : UINT32_MAX, std::memory_order_relaxed);
}

// With a budget: now, as far as time and the other xqueues are concerned.
bool XQueue::may_launch_inline() {
    return launch_delay_ns() == 0 && (!shares_budget() || load_->turns.take(seat_, as_launcher()));
}

// Call it before there is nothing to launch, or no budget to share.
void XQueue::leave_turn() {
    if (shares_budget())
        load_->turns.leave(seat_);
}

// Wakes threads that wait for room or for the end of a launch; of those that wait for a command
// only the ones whose command has been launched.
void XQueue::announce_progress() {
    changed_.notify_all();
    if (!awaited_.empty() && *awaited_.begin() <= launched_)
        reached_.notify_all();
}

void XQueue::announce() {
    changed_.notify_all();
    reached_.notify_all();
}

// Call it after a change that may make launching possible. A worker that is awake checks by itself.
void XQueue::wake_worker() {
    if (!worker_sleeps_ || pending_ == 0 || !may_launch())
        return;
    worker_sleeps_ = false;
    work_.notify_one();
}

// The same for one that sleeps although there may be more to launch.
void XQueue::end_nap() {
    if (std::exchange(napping_, false))
        work_.notify_one();
}

void XQueue::launch_pending(Lock& lock) {
    std::array<Attempt, max_run> attempts;
    const std::size_t room =
        std::min<std::size_t>({pace_.room(in_flight_), until_marker(), pending_, max_run});
    std::size_t count = 0;
    for (Ticket ticket = launched_; count < room; ++count) {
        ticket = launchable_from(ticket + 1);
        attempts[count] = {{ring_[ticket], ticket, completed_}, {0, Op::launch}, true};
    }
    const std::size_t tried = launch(lock, {attempts.data(), count});
    for (std::size_t i = 0; i < tried; ++i) {
        if (attempts[i].error.errno_value == 0)
            continue;
        try {
            failures_.emplace(attempts[i].launch.ticket, attempts[i].error);
        } catch (const std::bad_alloc&) {
            broken_ = attempts[i].error; // each wait returns it: none may take the command for done
            announce();
        }
        if (failures_.size() > max_failures)
            failures_.erase(failures_.begin());
    }
}

} // namespace xpreempt::xqueue
