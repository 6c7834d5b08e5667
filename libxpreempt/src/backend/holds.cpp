// SPDX-License-Identifier: MIT
// Makes the driver agree with who holds which queue.
#include "backend/holds.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace xpreempt::backend {

namespace {

using Clock = std::chrono::steady_clock;

// Queues come and go in a long-lived process; counters of the oldest go first.
constexpr std::size_t max_counted = 1024;

// Between two attempts at the end of the process.
constexpr std::chrono::milliseconds pause_at_end{1};

std::uint64_t ns_since(Clock::time_point begin) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
}

int problem_of(const Result<void>& answer) {
    return answer ? 0 : answer.error().errno_value;
}

// Returns true if the error means that the queue is lost: EIO (patched driver) or EACCES
// (UPDATE_QUEUE) after a reset, ENODEV if the GPU is gone. The queue must not be touched again.
bool is_death(const Error& error) {
    return error.errno_value == EIO || error.errno_value == EACCES || error.errno_value == ENODEV;
}

bool is_gone(const Error& error) {
    return error.errno_value == ENOENT || error.errno_value == ESTALE;
}

// Returns true if the driver's last answer about the queue was lost. A refusal after that does not
// report whether the lost call was made.
bool is_unsure(bool was_unsure, int problem) {
    return problem == EFAULT ||
           (was_unsure && problem != 0 && problem != EALREADY && problem != ETIME);
}

} // namespace

Holds::Hold& Holds::entry_of(const hip::QueueRecord& queue, StopType type) {
    const auto [entry, is_new] = holds_.try_emplace(hip::ref_of(queue));
    Hold& hold = entry->second;
    if (is_new)
        hold.lifts = all_lifts_;
    if (hold.owners.empty() && hold.lifts == all_lifts_ && !hold.stopped) {
        hold.queue = queue;
        hold.type = type;
    }
    return hold;
}

// Returns why the queue cannot be held. With the mutex, so that begin_destroy() finds each hold
// that began before the program marked the queue.
Result<void> Holds::check(const hip::QueueRecord& queue) const {
    const hip::QueueRef ref = hip::ref_of(queue);
    const auto entry = holds_.find(ref);
    if (shut_ || (entry != holds_.end() && entry->second.dead))
        return fail(shut_ ? ESHUTDOWN : EIO, Op::preempt_queue, queue.kfd_queue_id);
    return mapping_ != nullptr ? mapping_->check(ref) : Result<void>();
}

// Adds the owner to the queues that aren't dead. Without memory it returns false and adds none.
bool Holds::add(std::span<const hip::QueueRecord> queues, StopType type,
                const Owner& owner) noexcept {
    try {
        for (const hip::QueueRecord& queue : queues) {
            const hip::QueueRef ref = hip::ref_of(queue);
            if (counters_.size() == max_counted && !counters_.contains(ref))
                counters_.erase(std::ranges::min_element(
                    counters_, {}, [](const auto& counted) { return counted.first.generation; }));
            counters_.try_emplace(ref);
            auto& owners = entry_of(queue, type).owners;
            owners.reserve(owners.size() + queues.size());
        }
    } catch (const std::bad_alloc&) {
        return false;
    }
    for (const hip::QueueRecord& queue : queues) {
        Hold& hold = holds_.find(hip::ref_of(queue))->second;
        if (hold.dead)
            continue;
        hold.owners.push_back(owner);
        hold.changed = true;
    }
    return true;
}

// Returns false if that owner has no hold.
bool Holds::drop(hip::QueueRef queue, const Owner& owner) {
    const auto entry = holds_.find(queue);
    if (entry == holds_.end())
        return false;
    auto& owners = entry->second.owners;
    const auto mine = std::ranges::find(owners, owner);
    if (mine == owners.end())
        return false;
    owners.erase(mine);
    return entry->second.changed = true;
}

// One call of the driver for each type of stop, for the entries that have changed; without memory
// one for each entry. Returns the error of the first stop that was refused.
Result<void> Holds::agree() noexcept {
    Result<void> refused;
    const auto note = [&refused](const Result<void>& stopped) {
        if (refused)
            refused = stopped;
    };
    try {
        Queues save, drain, starts;
        for (const auto& [ref, hold] : holds_)
            if (hold.is_to_switch())
                (!hold.wants_stop()            ? starts
                 : hold.type == StopType::save ? save
                                               : drain)
                    .push_back(hold.queue);
        if (!drain.empty())
            note(switch_queues(drain, StopType::drain, {}));
        if (!save.empty() || !starts.empty())
            note(switch_queues(save, StopType::save, starts));
    } catch (const std::bad_alloc&) {
        for (auto& [ref, hold] : holds_)
            if (hold.is_to_switch())
                note(switch_queue(ref, hold));
    }
    for (auto& [ref, hold] : holds_)
        hold.changed = false;
    settle();
    return refused;
}

Result<void> Holds::switch_queues(const Queues& stops, StopType type, const Queues& starts) {
    const auto begin = Clock::now();
    const auto [stopped, started] = transport_.switch_all(stops, type, starts);
    const std::uint64_t ns = ns_since(begin); // of all: they changed together
    Result<void> refused;
    for (std::size_t i = 0; i < stops.size(); ++i)
        if (const auto answer = note_stop(hip::ref_of(stops[i]), stopped[i], ns); refused)
            refused = answer;
    for (std::size_t i = 0; i < starts.size(); ++i)
        note_start(hip::ref_of(starts[i]), started[i], ns);
    return refused;
}

// The driver's answer about the queue may have found no memory.
Result<void> Holds::switch_queue(hip::QueueRef queue, Hold& hold) {
    const auto begin = Clock::now();
    hold.unsure = true;
    if (hold.wants_stop()) {
        const auto stopped = transport_.stop(hold.queue, hold.type);
        return note_stop(queue, stopped, ns_since(begin));
    }
    const auto started = transport_.start(hold.queue);
    note_start(queue, started, ns_since(begin));
    return {};
}

// Returns the error if the queue may run on. After EFAULT the queue may be stopped all the same.
Result<void> Holds::note_stop(hip::QueueRef queue, const Result<void>& answer, std::uint64_t ns) {
    Hold& hold = holds_.at(queue);
    const int problem = problem_of(answer);
    // After ETIME the driver holds the queue, and stops it as soon as it can.
    hold.late = problem == ETIME;
    hold.unsure = is_unsure(hold.unsure, problem);
    hold.stopped = problem == 0 || problem == EALREADY || hold.late || hold.unsure;
    if (problem == 0)
        count_stop(queue, ns);
    if (hold.stopped && !hold.unsure)
        return {};
    note_end(hold, answer.error());
    return answer;
}

void Holds::note_start(hip::QueueRef queue, const Result<void>& answer, std::uint64_t ns) {
    Hold& hold = holds_.at(queue);
    const int problem = problem_of(answer);
    hold.stopped = problem != 0 && problem != EALREADY;
    hold.unsure = is_unsure(hold.unsure, problem);
    if (!hold.stopped) {
        hold.reported = false;
        if (const auto counted = counters_.find(queue); counted != counters_.end())
            counted->second.last_start_ns = ns;
        return;
    }
    note_end(hold, answer.error());
    if (hold.stopped && !std::exchange(hold.reported, true))
        log::report(
            log::Level::warning,
            "KFD queue %u of GPU %u stays stopped for now (%s failed: %s); it is tried again",
            hold.queue.kfd_queue_id, hold.queue.gpu_id, phrase(answer.error().op),
            std::strerror(problem));
}

// If the error means that there is no such queue any more, there is nothing to hold.
void Holds::note_end(Hold& hold, const Error& error) {
    if (!is_gone(error) && !is_death(error))
        return;
    hold.owners.clear();
    hold.stopped = hold.unsure = false;
    if (is_death(error) && !std::exchange(hold.dead, true))
        hold.death = error;
}

// A dead entry stays in the map, so the loop continues behind it.
void Holds::report_deaths() noexcept {
    const std::lock_guard reporting(died_mutex_);
    std::unique_lock lock(mutex_);
    for (auto& [ref, hold] : holds_) {
        const Error error = std::exchange(hold.death, {});
        if (error.errno_value == 0)
            continue;
        const hip::QueueRecord queue = hold.queue;
        lock.unlock();
        log::report(log::Level::error,
                    "KFD queue %u of GPU %u is lost (%s failed: %s): its work never completes",
                    queue.kfd_queue_id, queue.gpu_id, phrase(error.op),
                    std::strerror(error.errno_value));
        if (died_)
            died_(queue, error);
        lock.lock();
    }
}

void Holds::count_stop(hip::QueueRef queue, std::uint64_t ns) {
    const auto counted = counters_.find(queue);
    if (counted == counters_.end())
        return;
    StopCounters& counters = counted->second;
    ++counters.stops;
    counters.last_stop_ns = ns;
    counters.max_stop_ns = std::max(counters.max_stop_ns, ns);
}

// Forgets what isn't needed any more, and counts.
void Holds::settle() {
    std::uint32_t held = 0, due = 0;
    std::erase_if(holds_, [&](const auto& entry) {
        const Hold& hold = entry.second;
        held += !hold.owners.empty() || hold.stopped ? 1U : 0U;
        due += hold.is_due() ? 1U : 0U;
        return hold.owners.empty() && hold.lifts == 0 && !hold.stopped && !hold.dead;
    });
    num_held_.store(held, std::memory_order_relaxed);
    num_due_.store(due, std::memory_order_relaxed);
}

void Holds::on_death(Died died) {
    const std::lock_guard lock(died_mutex_);
    died_ = std::move(died);
}

// Must not throw: the hold has already begun or ended.
void Holds::notify_changed() const noexcept {
    try {
        if (changed_)
            changed_();
    } catch (...) {
        log::report(log::Level::error,
                    "out of memory after a hold changed; HIP calls that wait for "
                    "a held queue may block inside HIP");
    }
}

Result<void> Holds::hold(std::span<const hip::QueueRecord> queues, StopType type,
                         const Owner& owner) {
    Result<void> held;
    {
        const std::lock_guard lock(mutex_);
        for (const hip::QueueRecord& queue : queues)
            TRY(check(queue));
        if (!add(queues, type, owner)) {
            settle();
            return fail(ENOMEM, Op::allocate);
        }
        held = agree();
        if (!held) {
            for (const hip::QueueRecord& queue : queues)
                drop(hip::ref_of(queue), owner);
            (void)agree();
        }
    }
    notify_changed();
    return held;
}

// The first hold of a queue is a call of its own: no other queue has its options.
Result<void> Holds::hold_with(const hip::QueueRecord& queue, StopType type,
                              const StopOptions& options, const Owner& owner) {
    const hip::QueueRef ref = hip::ref_of(queue);
    Result<void> held;
    {
        const std::lock_guard lock(mutex_);
        TRY(check(queue));
        if (!add({&queue, 1}, type, owner)) {
            settle();
            return fail(ENOMEM, Op::allocate);
        }
        Hold& hold = holds_.find(ref)->second;
        if (hold.is_to_switch()) {
            const auto begin = Clock::now();
            held = note_stop(ref, transport_.stop_with(queue, type, options), ns_since(begin));
            hold.changed = false;
        }
        if (!held)
            drop(ref, owner);
        (void)agree();
    }
    notify_changed();
    return held;
}

bool Holds::release_if_held(hip::QueueRef queue, const Owner& owner) {
    {
        const std::lock_guard lock(mutex_);
        if (!drop(queue, owner))
            return false;
        (void)agree();
    }
    notify_changed();
    return true;
}

void Holds::keep(const hip::QueueRecord& queue, const Owner& owner) {
    const std::lock_guard lock(mutex_);
    const auto entry = holds_.find(hip::ref_of(queue));
    if (entry != holds_.end() && entry->second.stopped)
        entry->second.owners.push_back(owner);
}

void Holds::exchange(std::span<const hip::QueueRecord> to_hold,
                     std::span<const hip::QueueRecord> to_release, const Owner& owner) {
    {
        const std::lock_guard lock(mutex_);
        const bool added = !shut_ && add(to_hold, StopType::save, owner);
        for (const hip::QueueRecord& queue : to_hold)
            if (added && !check(queue))
                drop(hip::ref_of(queue), owner);
        for (const hip::QueueRecord& queue : to_release)
            drop(hip::ref_of(queue), owner);
        if (!agree() && added) {
            for (const hip::QueueRecord& queue : to_hold)
                if (const auto entry = holds_.find(hip::ref_of(queue));
                    entry != holds_.end() && entry->second.wants_stop() && entry->second.is_due())
                    drop(entry->first, owner);
            (void)agree();
        }
    }
    notify_changed();
}

// ends(queue, owner) says which.
template <typename Ends> void Holds::end_holds(Ends ends) {
    {
        const std::lock_guard lock(mutex_);
        bool any = false;
        for (auto& [ref, hold] : holds_) {
            const hip::QueueRef& queue = ref;
            if (std::erase_if(hold.owners,
                              [&](const Owner& owner) { return ends(queue, owner); }) != 0)
                any = hold.changed = true;
        }
        if (!any)
            return;
        (void)agree();
    }
    notify_changed();
}

void Holds::forget_stream(const void* stream) {
    end_holds([=](hip::QueueRef, const Owner& owner) { return owner.stream == stream; });
}

void Holds::forget_streams(hip::QueueRef queue) {
    end_holds([=](hip::QueueRef held, const Owner& owner) {
        return held == queue && owner != Owner::of_queue();
    });
}

void Holds::forget(const Owner& owner) {
    end_holds([&](hip::QueueRef, const Owner& holder) { return holder == owner; });
}

void Holds::begin_destroy(hip::QueueRef queue) {
    {
        const std::lock_guard lock(mutex_);
        const auto entry = holds_.find(queue);
        if (entry == holds_.end())
            return;
        Hold& hold = entry->second;
        ++hold.lifts; // keeps the entry in agree()
        hold.changed = true;
        (void)agree();
        --hold.lifts;
        hold.ending = true;
        settle();
    }
    notify_changed();
}

// Another thread may have destroyed the queue although this destruction failed.
void Holds::end_destroy(hip::QueueRef queue, bool destroyed) {
    {
        const std::lock_guard lock(mutex_);
        const auto entry = holds_.find(queue);
        if (entry == holds_.end())
            return;
        const auto there = mapping_ != nullptr ? mapping_->check(queue) : Result<void>();
        if (destroyed || (!there && there.error().errno_value == ESTALE)) {
            holds_.erase(entry);
            settle();
        } else {
            entry->second.ending = false;
            entry->second.changed = true;
            (void)agree();
        }
    }
    notify_changed();
}

bool Holds::lift(const hip::QueueRecord& queue) {
    const std::lock_guard lock(mutex_);
    if (shut_)
        return false;
    try {
        Hold& hold = entry_of(queue, StopType::save);
        ++hold.lifts;
        hold.changed = true;
    } catch (const std::bad_alloc&) {
        return false;
    }
    (void)agree();
    return true;
}

void Holds::drop_lift(hip::QueueRef queue) {
    const std::lock_guard lock(mutex_);
    const auto entry = holds_.find(queue);
    if (entry == holds_.end() || entry->second.lifts == 0)
        return;
    --entry->second.lifts;
    entry->second.changed = true;
    (void)agree();
}

void Holds::lift_all(bool lifted) {
    const std::lock_guard lock(mutex_);
    all_lifts_ = lifted ? all_lifts_ + 1 : all_lifts_ - 1;
    for (auto& [queue, hold] : holds_) {
        hold.lifts = lifted ? hold.lifts + 1 : hold.lifts - std::min(hold.lifts, 1U);
        hold.changed = true;
    }
    (void)agree();
}

bool Holds::retry() {
    const std::uint32_t before = num_due_;
    {
        const std::lock_guard lock(mutex_);
        for (auto& [queue, hold] : holds_)
            hold.changed = true;
        (void)agree();
    }
    if (num_due_ != before)
        notify_changed();
    return !is_due();
}

void Holds::release_all(Clock::time_point deadline) {
    {
        const std::lock_guard lock(mutex_);
        shut_ = true;
        for (auto& [queue, hold] : holds_) {
            hold.owners.clear();
            hold.lifts = 0;
            hold.changed = true;
        }
        (void)agree();
    }
    notify_changed();
    while (is_due() && Clock::now() < deadline) {
        std::this_thread::sleep_for(pause_at_end);
        (void)retry();
    }
}

StopCounters Holds::counters(hip::QueueRef queue) const {
    const std::lock_guard lock(mutex_);
    const auto found = counters_.find(queue);
    return found == counters_.end() ? StopCounters{} : found->second;
}

bool Holds::is_late(hip::QueueRef queue) {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(queue);
    if (found == holds_.end())
        return false;
    Hold& hold = found->second;
    if (!hold.stopped || !hold.late || !hold.wants_stop())
        return false;
    const auto answer = transport_.confirm(hold.queue, hold.type);
    const int problem = problem_of(answer);
    hold.late = problem != 0 && problem != EALREADY;
    if (hold.late)
        note_end(hold, answer.error());
    const bool is_late = hold.stopped && hold.late;
    settle(); // it may be dead
    return is_late;
}

Holds::Progress Holds::progress(hip::QueueRef queue) {
    if (is_late(queue))
        return Progress::running;
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(queue);
    if (found == holds_.end())
        return Progress::none;
    const Hold& hold = found->second;
    if (hold.owners.empty())
        return hold.dead ? Progress::dead : Progress::none;
    const bool is_stopped = hold.wants_stop() && hold.stopped && !hold.late && !hold.unsure;
    return is_stopped ? Progress::stopped : Progress::running;
}

std::uint32_t Holds::count(hip::QueueRef queue) const {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(queue);
    return found == holds_.end() ? 0 : static_cast<std::uint32_t>(found->second.owners.size());
}

std::set<hip::QueueRef> Holds::held() const {
    const std::lock_guard lock(mutex_);
    std::set<hip::QueueRef> held;
    for (const auto& [ref, hold] : holds_)
        if (!hold.owners.empty() || hold.stopped)
            held.insert(ref);
    return held;
}

} // namespace xpreempt::backend
