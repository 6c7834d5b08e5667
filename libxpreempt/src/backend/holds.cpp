// SPDX-License-Identifier: MIT
// Makes the driver agree with who holds which queue.
#include "backend/holds.hpp"

#include "base/log.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

namespace xpreempt::backend {

namespace {

using Clock = std::chrono::steady_clock;

// Queues come and go in a long-lived process; counters of the oldest go first.
constexpr std::size_t max_counted = 1024;

std::uint64_t ns_since(Clock::time_point begin) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
}

// Returns true if the error means that the queue is lost: EIO (patched driver) or EACCES
// (UPDATE_QUEUE) after a reset, ENODEV if the GPU is gone. The queue must not be touched again.
bool is_death(const Error& error) {
    return error.errno_value == EIO || error.errno_value == EACCES || error.errno_value == ENODEV;
}

bool is_gone(const Error& error) {
    return error.errno_value == ENOENT || error.errno_value == ESTALE;
}

} // namespace

Holds::Entry Holds::entry_of(const hip::QueueRecord& queue, StopType type) {
    return holds_.try_emplace(hip::ref_of(queue), Hold{queue, type, {}, 0, false}).first;
}

Result<void> Holds::stop(const Hold& hold) {
    const auto begin = Clock::now();
    const auto stopped = transport_.stop(hold.queue, hold.type);
    if (stopped)
        count_stop(hip::ref_of(hold.queue), ns_since(begin));
    return stopped;
}

Result<void> Holds::start(const Hold& hold) {
    const auto begin = Clock::now();
    const auto started = transport_.start(hold.queue);
    if (started)
        count_start(hip::ref_of(hold.queue), ns_since(begin));
    return started;
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

void Holds::count_start(hip::QueueRef queue, std::uint64_t ns) {
    if (const auto counted = counters_.find(queue); counted != counters_.end())
        counted->second.last_start_ns = ns;
}

void Holds::on_death(Died died) {
    const std::lock_guard lock(mutex_);
    died_ = std::move(died);
}

void Holds::note_death(const hip::QueueRecord& queue, const Error& error) {
    if (!is_death(error) || !dead_.insert(hip::ref_of(queue)).second)
        return;
    log::report(log::Level::error,
                "KFD queue %u of GPU %u is lost (%s failed: %s): its work never completes",
                queue.kfd_queue_id, queue.gpu_id, phrase(error.op),
                std::strerror(error.errno_value));
    if (died_)
        died_(queue, error);
}

// Nothing is left to be started.
bool Holds::is_over(const hip::QueueRecord& queue, const Error& error) {
    note_death(queue, error);
    return is_death(error) || is_gone(error);
}

// After an error the driver is as it was.
Result<void> Holds::apply(Entry entry) {
    Hold& hold = entry->second;
    const bool to_stop = !hold.owners.empty() && hold.lifts == 0;
    if (to_stop == hold.stopped || dead_.contains(entry->first))
        return {};
    const auto done = to_stop ? stop(hold) : start(hold);
    if (done)
        hold.stopped = to_stop;
    else
        note_death(hold.queue, done.error());
    return done;
}

// Forgets what isn't needed any more, and counts.
void Holds::settle(Entry entry) {
    if (dead_.contains(entry->first))
        entry->second.owners.clear();
    if (entry->second.owners.empty() && entry->second.lifts == 0)
        holds_.erase(entry);
    num_held_.store(static_cast<std::uint32_t>(std::ranges::count_if(
                        holds_, [](const auto& hold) { return !hold.second.owners.empty(); })),
                    std::memory_order_relaxed);
}

void Holds::notify_changed() const {
    if (changed_)
        changed_();
}

Result<void> Holds::hold(const hip::QueueRecord& queue, StopType type, const Owner& owner) {
    {
        const std::lock_guard lock(mutex_);
        if (shut_)
            return fail(ESHUTDOWN, Op::preempt_queue, queue.kfd_queue_id);
        if (dead_.contains(hip::ref_of(queue)))
            return fail(EIO, Op::preempt_queue, queue.kfd_queue_id);
        const Entry entry = entry_of(queue, type);
        entry->second.owners.push_back(owner);
        const auto held = apply(entry);
        if (!held)
            entry->second.owners.pop_back();
        settle(entry);
        if (!held)
            return held;
    }
    notify_changed();
    return {};
}

Result<void> Holds::release(const hip::QueueRecord& queue, const Owner& owner) {
    {
        const std::lock_guard lock(mutex_);
        const Entry entry = holds_.find(hip::ref_of(queue));
        if (entry == holds_.end())
            return {};
        auto& owners = entry->second.owners;
        const auto mine = std::ranges::find(owners, owner);
        if (mine == owners.end())
            return {};
        owners.erase(mine);
        const auto released = apply(entry);
        if (!released && !is_gone(released.error()) && !is_death(released.error())) {
            owners.push_back(owner);
            return released;
        }
        settle(entry);
    }
    notify_changed();
    return {};
}

Result<void> Holds::hold_all(std::span<const hip::QueueRecord> queues, StopType type) {
    {
        const std::lock_guard lock(mutex_);
        std::vector<hip::QueueRecord> to_stop;
        for (const hip::QueueRecord& queue : queues) {
            const hip::QueueRef ref = hip::ref_of(queue);
            if (shut_ || dead_.contains(ref))
                return fail(shut_ ? ESHUTDOWN : EIO, Op::preempt_queue, queue.kfd_queue_id);
            const auto known = holds_.find(ref);
            const bool runs =
                known == holds_.end() || (!known->second.stopped && known->second.lifts == 0);
            if (runs && std::ranges::find(to_stop, ref, hip::ref_of) == to_stop.end())
                to_stop.push_back(queue);
        }
        const auto begin = Clock::now();
        const auto stopped = transport_.stop_all(to_stop, type);
        const std::uint64_t ns = ns_since(begin); // of all: they stopped together
        const auto failed = std::ranges::find_if(stopped, [](const auto& one) { return !one; });
        if (failed != stopped.end()) {
            std::vector<hip::QueueRecord> to_start;
            for (std::size_t i = 0; i < to_stop.size(); ++i)
                if (stopped[i])
                    to_start.push_back(to_stop[i]);
            (void)transport_.start_all(to_start); // refused only by a dead queue
            return *failed;
        }
        for (const hip::QueueRecord& queue : to_stop) {
            count_stop(hip::ref_of(queue), ns);
            entry_of(queue, type)->second.stopped = true;
        }
        for (const hip::QueueRecord& queue : queues) {
            const Entry entry = entry_of(queue, type);
            entry->second.owners.emplace_back();
            settle(entry);
        }
    }
    notify_changed();
    return {};
}

std::vector<Result<void>> Holds::release_each(std::span<const hip::QueueRecord> queues) {
    std::vector<Result<void>> answers(queues.size());
    {
        const std::lock_guard lock(mutex_);
        std::vector<hip::QueueRecord> to_start;
        std::vector<std::size_t> places; // of to_start in queues
        for (std::size_t i = 0; i < queues.size(); ++i) {
            const Entry entry = holds_.find(hip::ref_of(queues[i]));
            if (entry == holds_.end())
                continue;
            auto& owners = entry->second.owners;
            const auto mine = std::ranges::find(owners, Owner{});
            if (mine == owners.end())
                continue;
            owners.erase(mine);
            if (owners.empty() && entry->second.stopped) {
                to_start.push_back(entry->second.queue);
                places.push_back(i);
            } else {
                settle(entry);
            }
        }
        const auto begin = Clock::now();
        const auto started = transport_.start_all(to_start);
        const std::uint64_t ns = ns_since(begin);
        for (std::size_t i = 0; i < to_start.size(); ++i) {
            const Entry entry = holds_.find(hip::ref_of(to_start[i]));
            if (started[i]) {
                count_start(entry->first, ns);
                entry->second.stopped = false;
            } else if (!is_over(to_start[i], started[i].error())) {
                entry->second.owners.emplace_back();
                answers[places[i]] = started[i];
            }
            settle(entry);
        }
    }
    notify_changed();
    return answers;
}

void Holds::forget(hip::QueueRef queue, const void* stream) {
    {
        const std::lock_guard lock(mutex_);
        const Entry entry = holds_.find(queue);
        if (entry == holds_.end() || std::erase_if(entry->second.owners, [=](const Owner& owner) {
                                         return owner.stream == stream;
                                     }) == 0)
            return;
        (void)apply(entry);
        settle(entry);
    }
    notify_changed();
}

void Holds::forget(hip::QueueRef queue) {
    {
        const std::lock_guard lock(mutex_);
        const Entry entry = holds_.find(queue);
        if (entry == holds_.end())
            return;
        entry->second.owners.clear();
        (void)apply(entry);
        settle(entry);
    }
    notify_changed();
}

void Holds::lift(const hip::QueueRecord& queue) {
    const std::lock_guard lock(mutex_);
    if (shut_)
        return;
    const Entry entry = entry_of(queue, StopType::save);
    ++entry->second.lifts;
    (void)apply(entry); // refused only by a queue that is gone or dead
    settle(entry);
}

void Holds::drop_lift(hip::QueueRef queue) {
    const std::lock_guard lock(mutex_);
    const Entry entry = holds_.find(queue);
    if (entry == holds_.end() || entry->second.lifts == 0)
        return;
    --entry->second.lifts;
    (void)apply(entry); // as above; its owners learn it when they release it: with success
    settle(entry);
}

void Holds::release_all() {
    {
        const std::lock_guard lock(mutex_);
        shut_ = true;
        for (const auto& [ref, hold] : holds_)
            if (hold.stopped)
                (void)transport_.start(hold.queue); // the process ends: no caller is left
        holds_.clear();
        num_held_.store(0, std::memory_order_relaxed);
    }
    notify_changed();
}

StopCounters Holds::counters(hip::QueueRef queue) const {
    const std::lock_guard lock(mutex_);
    const auto found = counters_.find(queue);
    return found == counters_.end() ? StopCounters{} : found->second;
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
        if (!hold.owners.empty())
            held.push_back(
                {hold.queue, static_cast<std::uint32_t>(hold.owners.size()), hold.lifts});
    return held;
}

} // namespace xpreempt::backend
