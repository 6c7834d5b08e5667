// SPDX-License-Identifier: MIT
// Keeps callers back, and finds out when the work of a stream is over.
#include "backend/direct_calls.hpp"

#include "base/caller_state.hpp"
#include "base/log.hpp"
#include "base/start_thread.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <new>
#include <optional>
#include <thread>

namespace xpreempt::backend {

namespace {

// Where no marker can be placed, as in a captured stream: until it is tried again.
constexpr std::chrono::milliseconds first_pause{1}, longest_pause{64};

// A marker costs the stream a barrier: no more than one in so long, however many calls there are.
constexpr std::chrono::microseconds between_markers{200};

} // namespace

DirectCalls::~DirectCalls() {
    if (interesting_)
        interest_(false);
}

// Called with the lock. Reports changes to the observer, and lets it react if this thread may.
void DirectCalls::report_work(Lock& lock, bool reacts) {
    if (works() == reported_work_)
        return;
    const CallerState caller;
    reported_work_ = works();
    const auto observer = observer_;
    if (observer == nullptr)
        return;
    observer->note(reacts);
    if (!reacts)
        return;
    lock.unlock();
    observer->react();
    lock.lock();
}

// Comes with the lock, and may release it: the last thing that a caller does.
void DirectCalls::show_interest(Lock& lock) {
    const bool now = (withheld_ > 0 || threshold_ > 0 || observer_ != nullptr) && !shut_;
    if (now == interesting_)
        return;
    interesting_ = now;
    lock.unlock();
    interest_(now);
}

void DirectCalls::withhold(Stopper* stopper) {
    Lock lock(mutex_);
    ++withheld_;
    if (stopper != nullptr) {
        stopper_ = stopper;
        warned_ = false;
        withholder_ = std::this_thread::get_id();
    }
    show_interest(lock);
}

void DirectCalls::admit() {
    Lock lock(mutex_);
    changed_.wait(lock, [this] { return !stopping_; });
    if (withheld_ == 1 && stopped_) {
        stopping_ = true;
        lock.unlock();
        stopper_->start();
        lock.lock();
        stopping_ = stopped_ = standing_ = false;
    }
    if (--withheld_ == 0)
        stopper_ = nullptr;
    changed_.notify_all();
    show_interest(lock);
}

// Returns true if the queue is stopped, so that the call may be made. Stops it if the calling
// thread would wait for itself.
bool DirectCalls::stop_instead(Lock& lock) {
    changed_.wait(lock, [this] { return !stopping_; });
    if (stopped_ || stopper_ == nullptr || withholder_ != std::this_thread::get_id())
        return stopped_;
    stopping_ = true;
    standing_ = true; // no marker in it is waited for
    const bool warn = !std::exchange(warned_, true);
    lock.unlock();
    const bool stopped = stopper_->stop();
    if (!stopped && warn)
        log::report(
            log::Level::warning,
            "a thread that suspended a stream waits in its own call into the stream, because "
            "the stream's queue cannot be stopped: resume it in another thread");
    lock.lock();
    stopping_ = false;
    stopped_ = standing_ = stopped;
    changed_.notify_all();
    return stopped;
}

void DirectCalls::pace(std::uint32_t threshold, std::uint32_t batch) {
    std::list<Marked> dropped; // without the lock: HIP is called
    Lock lock(mutex_);
    threshold_ = threshold;
    batch_ = batch;
    if (threshold == 0) {
        dropped.swap(markers_);
        in_flight_ = unmarked_ = 0;
    }
    changed_.notify_all();
    show_interest(lock);
}

void DirectCalls::stands(bool standing) {
    const Lock lock(mutex_);
    standing_ = standing;
    changed_.notify_all();
}

void DirectCalls::observe(std::shared_ptr<xqueue::Observer> observer) {
    Lock lock(mutex_);
    observer_.swap(observer);
    work_ = observer_ != nullptr; // not observed until now
    start_watching();
    reported_work_ = works();
    changed_.notify_all();
    show_interest(lock);
}

void DirectCalls::start_watching() {
    if (observer_ == nullptr || watching_ || gone_ || shut_)
        return;
    auto started = start_thread("xpreempt-direct", [self = shared_from_this()] { self->watch(); });
    if (!started)
        return; // the next call tries again
    watching_ = true;
    started->detach();
}

bool DirectCalls::has_work() const {
    const Lock lock(mutex_);
    return works();
}

std::uint32_t DirectCalls::waiters() const {
    const Lock lock(mutex_);
    return waiters_;
}

// The scheduler may decide here that this stream has to wait; then the call is kept back at once.
bool DirectCalls::before(bool will_wait) {
    Lock lock(mutex_);
    ++calls_;
    report_work(lock, will_wait);
    ++waiters_;
    std::optional<CallerState> caller;
    while (will_wait && !gone_ && !shut_) {
        const bool full = threshold_ > 0 && in_flight_ >= threshold_ && !markers_.empty();
        if ((withheld_ > 0 || full) && !caller)
            caller.emplace();
        if (withheld_ > 0 && stop_instead(lock))
            break;
        if (withheld_ > 0 || (full && standing_))
            changed_.wait(lock);
        else if (full)
            wait_marked(lock);
        else
            break;
    }
    --waiters_;
    return caller.has_value();
}

void DirectCalls::after() {
    Lock lock(mutex_);
    --calls_;
    ++made_;
    work_ = observer_ != nullptr;
    start_watching();
    report_work(lock, false); // reports only if there is no thread
    if (threshold_ > 0) {
        ++in_flight_;
        if (++unmarked_ >= batch_)
            place_marker(lock);
    }
    changed_.notify_all();
}

Result<std::shared_ptr<xqueue::Marker>> DirectCalls::mark(Lock& lock) {
    const CallerState caller;
    ++marking_;
    lock.unlock();
    auto marker = mark_();
    lock.lock();
    --marking_;
    changed_.notify_all();
    return marker;
}

// Where there can be none, or no memory is left, the calls before it count no more.
void DirectCalls::place_marker(Lock& lock) {
    const std::uint32_t calls = std::exchange(unmarked_, 0);
    bool placed = false;
    try {
        if (auto marker = gone_ ? fail(ENOENT, Op::call_hip) : mark(lock)) {
            markers_.push_back({std::move(*marker), calls});
            placed = true;
        }
    } catch (const std::bad_alloc&) {
        placed = false;
    }
    if (!placed)
        in_flight_ -= std::min(calls, in_flight_);
}

void DirectCalls::wait_marked(Lock& lock) {
    auto marker = markers_.front().marker;
    lock.unlock();
    (void)marker->wait(); // an error is the device's: nothing that could be waited for is left
    lock.lock();
    if (!markers_.empty() && markers_.front().marker == marker) { // else another thread was faster
        in_flight_ -= std::min(markers_.front().calls, in_flight_);
        markers_.pop_front();
    }
    lock.unlock();
    marker = nullptr; // HIP is called
    lock.lock();
}

void DirectCalls::begin_destroy() {
    Lock lock(mutex_);
    gone_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return marking_ == 0; });
}

void DirectCalls::end_destroy(bool destroyed) {
    Lock lock(mutex_);
    gone_ = destroyed;
    if (!destroyed)
        return start_watching();
    work_ = false;
    report_work(lock, true);
}

void DirectCalls::shut() {
    const Lock lock(mutex_);
    shut_ = true;
    changed_.notify_all();
}

void DirectCalls::watch() {
    Lock lock(mutex_);
    while (observer_ != nullptr && !gone_ && !shut_) {
        if (work_ && !standing_)
            watch_once(lock);
        else
            changed_.wait(lock);
    }
    watching_ = false;
    changed_.notify_all();
}

void DirectCalls::join() {
    Lock lock(mutex_);
    changed_.wait(lock, [this] { return !watching_; });
}

bool DirectCalls::wait_for_calls(std::chrono::steady_clock::time_point deadline) {
    Lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return calls_ == 0; });
}

// When the work that there is now has ended.
void DirectCalls::watch_once(Lock& lock) {
    const auto ends = [this] { return observer_ == nullptr || gone_ || shut_ || standing_; };
    if (changed_.wait_until(lock, last_marked_ + between_markers, ends))
        return;
    last_marked_ = std::chrono::steady_clock::now();
    const std::uint64_t seen = made_;
    Result<std::shared_ptr<xqueue::Marker>> marker;
    for (auto pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
        marker = mark(lock);
        if (marker)
            break;
        if (marker.error().errno_value == EBUSY) { // a captured stream counts as idle
            work_ = false;
            return report_work(lock, true);
        }
        if (changed_.wait_for(lock, pause, ends))
            return;
    }
    lock.unlock();
    const auto passed = (*marker)->wait();
    marker = nullptr;
    lock.lock();
    // An error is the device's: nothing that could be waited for is left.
    if (made_ != seen && passed)
        return;
    work_ = false;
    report_work(lock, true);
}

std::shared_ptr<DirectCalls> DirectStreams::of(hip::Stream key, DirectCalls::Mark mark) {
    const std::lock_guard lock(mutex_);
    std::erase_if(known_, [](const Known& known) { return known.calls.expired(); });
    for (const Known& known : known_)
        if (known.key == key)
            if (auto calls = known.calls.lock())
                return calls;
    auto made = std::make_shared<DirectCalls>(std::move(mark), [this](bool interesting) {
        if (interesting ? interesting_++ == 0 : --interesting_ == 0)
            if (changed_)
                changed_();
    });
    known_.push_back({key, made});
    ++generation_;
    return made;
}

std::shared_ptr<DirectCalls> DirectStreams::find(const void* key) const {
    const std::lock_guard lock(mutex_);
    for (const Known& known : known_)
        if (known.key == key)
            return known.calls.lock();
    return nullptr;
}

void DirectStreams::forget(const void* key) {
    const std::lock_guard lock(mutex_);
    for (Known& known : known_)
        if (known.key == key)
            known.key = nullptr; // join() waits for its thread
    ++generation_;
}

std::vector<DirectStreams::Known> DirectStreams::begin_reset(const AskKey& may_be_destroyed) {
    std::vector<Known> streams;
    {
        const std::lock_guard lock(mutex_);
        streams = known_;
    }
    std::erase_if(streams, [&](const Known& known) {
        return known.key == nullptr || !may_be_destroyed(known.key);
    });
    for (const Known& known : streams)
        if (const auto calls = known.calls.lock())
            calls->begin_destroy();
    return streams;
}

void DirectStreams::end_reset(const std::vector<Known>& streams, const AskKey& is_destroyed) {
    for (const Known& known : streams) {
        const bool destroyed = is_destroyed(known.key);
        if (const auto calls = known.calls.lock())
            calls->end_destroy(destroyed);
        if (destroyed)
            forget(known.key);
    }
    ++generation_;
}

std::vector<std::shared_ptr<DirectCalls>> DirectStreams::all() const {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<DirectCalls>> all;
    for (const Known& known : known_)
        if (auto calls = known.calls.lock())
            all.push_back(std::move(calls));
    return all;
}

void DirectStreams::shut() {
    for (const auto& calls : all())
        calls->shut();
}

void DirectStreams::join() {
    for (const auto& calls : all())
        calls->join();
}

bool DirectStreams::wait_for_calls(std::chrono::steady_clock::time_point deadline) {
    return std::ranges::all_of(all(),
                               [=](const auto& calls) { return calls->wait_for_calls(deadline); });
}

} // namespace xpreempt::backend
