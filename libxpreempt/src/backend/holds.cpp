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
    Hold& hold = holds_[hip::ref_of(queue)];
    if (hold.owners.empty() && hold.lifts == 0 && !hold.stopped) {
        hold.queue = queue;
        hold.type = type;
    }
    return hold;
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
    return true;
}

// One call of the driver for each type of stop. Returns the error of the first stop that was
// refused.
Result<void> Holds::agree(const Refs& queues) {
    Refs save, drain, starts;
    for (const hip::QueueRef queue : queues) {
        const auto entry = holds_.find(queue);
        if (entry == holds_.end() || !entry->second.is_due() || dead_.contains(queue))
            continue;
        const Hold& hold = entry->second;
        Refs& change = !hold.wants_stop() ? starts : hold.type == StopType::save ? save : drain;
        if (std::ranges::find(change, queue) == change.end())
            change.push_back(queue);
    }
    Result<void> refused;
    if (!drain.empty())
        refused = switch_queues(drain, StopType::drain, {});
    if (!save.empty() || !starts.empty())
        if (const auto second = switch_queues(save, StopType::save, starts); refused)
            refused = second;
    settle();
    return refused;
}

Result<void> Holds::switch_queues(const Refs& stops, StopType type, const Refs& starts) {
    std::vector<hip::QueueRecord> to_stop, to_start;
    for (const hip::QueueRef queue : stops)
        to_stop.push_back(holds_.at(queue).queue);
    for (const hip::QueueRef queue : starts)
        to_start.push_back(holds_.at(queue).queue);
    const auto begin = Clock::now();
    const auto switched = transport_.switch_all(to_stop, type, to_start);
    const std::uint64_t ns = ns_since(begin); // of all: they changed together
    Result<void> refused;
    for (std::size_t i = 0; i < stops.size(); ++i)
        if (const auto stopped = note_stop(stops[i], switched.stopped[i], ns); refused)
            refused = stopped;
    for (std::size_t i = 0; i < starts.size(); ++i)
        note_start(starts[i], switched.started[i], ns);
    return refused;
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
    if (!is_death(error) || !dead_.insert(hip::ref_of(hold.queue)).second)
        return;
    log::report(log::Level::error,
                "KFD queue %u of GPU %u is lost (%s failed: %s): its work never completes",
                hold.queue.kfd_queue_id, hold.queue.gpu_id, phrase(error.op),
                std::strerror(error.errno_value));
    if (died_)
        died_(hold.queue, error);
}

void Holds::count_stop(hip::QueueRef queue, std::uint64_t ns) {
    if (counters_.size() == max_counted && !counters_.contains(queue))
        counters_.erase(std::ranges::min_element(
            counters_, {}, [](const auto& counted) { return counted.first.generation; }));
    StopCounters& counters = counters_[queue];
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
        return hold.owners.empty() && hold.lifts == 0 && !hold.stopped;
    });
    num_held_.store(held, std::memory_order_relaxed);
    num_due_.store(due, std::memory_order_relaxed);
}

void Holds::on_death(Died died) {
    const std::lock_guard lock(mutex_);
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
        Refs refs;
        for (const hip::QueueRecord& queue : queues) {
            refs.push_back(hip::ref_of(queue));
            if (shut_ || dead_.contains(refs.back()))
                return fail(shut_ ? ESHUTDOWN : EIO, Op::preempt_queue, queue.kfd_queue_id);
        }
        for (const hip::QueueRecord& queue : queues)
            entry_of(queue, type).owners.push_back(owner);
        held = agree(refs);
        if (!held) {
            for (const hip::QueueRef ref : refs)
                (void)drop(ref, owner);
            (void)agree(refs);
        }
    }
    notify_changed();
    return held;
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
        Refs refs;
        for (const hip::QueueRecord& queue : to_hold) {
            if (shut_ || dead_.contains(hip::ref_of(queue)))
                continue;
            entry_of(queue, StopType::save).owners.push_back(owner);
            refs.push_back(hip::ref_of(queue));
        }
        const std::size_t held = refs.size();
        for (const hip::QueueRecord& queue : to_release)
            if (drop(hip::ref_of(queue), owner))
                refs.push_back(hip::ref_of(queue));
        if (!agree(refs)) {
            for (std::size_t i = 0; i < held; ++i)
                if (const auto entry = holds_.find(refs[i]);
                    entry != holds_.end() && entry->second.wants_stop() && entry->second.is_due())
                    (void)drop(refs[i], owner);
            (void)agree(refs);
        }
    }
    notify_changed();
}

void Holds::forget(hip::QueueRef queue, std::optional<const void*> stream) {
    {
        const std::lock_guard lock(mutex_);
        const auto entry = holds_.find(queue);
        if (entry == holds_.end() || std::erase_if(entry->second.owners, [=](const Owner& owner) {
                                         return !stream || owner.stream == *stream;
                                     }) == 0)
            return;
        (void)agree({queue});
    }
    notify_changed();
}

void Holds::lift(const hip::QueueRecord& queue) {
    const std::lock_guard lock(mutex_);
    if (shut_)
        return;
    ++entry_of(queue, StopType::save).lifts;
    (void)agree({hip::ref_of(queue)});
}

void Holds::drop_lift(hip::QueueRef queue) {
    const std::lock_guard lock(mutex_);
    const auto entry = holds_.find(queue);
    if (entry == holds_.end() || entry->second.lifts == 0)
        return;
    --entry->second.lifts;
    (void)agree({queue});
}

bool Holds::retry() {
    const std::uint32_t before = num_due_;
    {
        const std::lock_guard lock(mutex_);
        Refs all;
        for (const auto& [queue, hold] : holds_)
            all.push_back(queue);
        (void)agree(all);
    }
    if (num_due_ != before)
        notify_changed();
    return !is_due();
}

void Holds::release_all(Clock::time_point deadline) {
    {
        const std::lock_guard lock(mutex_);
        shut_ = true;
        Refs all;
        for (auto& [queue, hold] : holds_) {
            hold.owners.clear();
            hold.lifts = 0;
            all.push_back(queue);
        }
        (void)agree(all);
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
    (void)note_stop(queue, transport_.confirm(hold.queue, hold.type), 0);
    const bool is_late = hold.stopped && hold.late;
    settle(); // it may be dead
    return is_late;
}

std::uint32_t Holds::count(hip::QueueRef queue) const {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(queue);
    return found == holds_.end() ? 0 : static_cast<std::uint32_t>(found->second.owners.size());
}

std::vector<HeldQueue> Holds::held() const {
    const std::lock_guard lock(mutex_);
    std::vector<HeldQueue> held;
    for (const auto& [ref, hold] : holds_)
        if (!hold.owners.empty() || hold.stopped)
            held.push_back(
                {hold.queue, static_cast<std::uint32_t>(hold.owners.size()), hold.lifts});
    return held;
}

} // namespace xpreempt::backend
