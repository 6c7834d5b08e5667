// SPDX-License-Identifier: MIT
// Counts holds of queues that several owners stop.
#include "backend/holds.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace xpreempt::backend {

namespace {

using Clock = std::chrono::steady_clock;

// Queues come and go in a long-lived process; counters of the oldest go first.
constexpr std::size_t max_counted = 1024;

std::uint64_t ns_since(Clock::time_point begin) {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin).count());
}

bool is_gone(const Error& error) {
    return error.errno_value == ENOENT || error.errno_value == ESTALE;
}

bool has(const std::vector<hip::QueueRecord>& queues, const hip::QueueRecord& queue) {
    return std::ranges::any_of(queues, [&](const hip::QueueRecord& other) {
        return hip::ref_of(other) == hip::ref_of(queue);
    });
}

} // namespace

Result<void> Holds::hold(const hip::QueueRecord& queue, StopType type) {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(hip::ref_of(queue));
    if (found != holds_.end()) {
        ++found->second.count;
        return {};
    }
    const auto begin = Clock::now();
    if (const auto stopped = transport_.stop(queue, type); !stopped)
        return stopped;
    count_stop(hip::ref_of(queue), ns_since(begin));
    holds_.emplace(hip::ref_of(queue), Hold{queue, 1});
    return {};
}

Result<void> Holds::release(const hip::QueueRecord& queue) {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(hip::ref_of(queue));
    if (found == holds_.end())
        return fail(EALREADY, Op::resume_queue, queue.kfd_queue_id);
    if (found->second.count > 1) {
        --found->second.count;
        return {};
    }
    const auto started = start(queue);
    if (!started && !is_gone(started.error()))
        return started;
    holds_.erase(found);
    return {};
}

Result<void> Holds::start(const hip::QueueRecord& queue) {
    const auto begin = Clock::now();
    const auto started = transport_.start(queue);
    if (started)
        count_start(hip::ref_of(queue), ns_since(begin));
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

Result<void> Holds::hold_all(std::span<const hip::QueueRecord> queues, StopType type) {
    const std::lock_guard lock(mutex_);
    std::vector<hip::QueueRecord> to_stop;
    for (const hip::QueueRecord& queue : queues)
        if (!holds_.contains(hip::ref_of(queue)) && !has(to_stop, queue))
            to_stop.push_back(queue);
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
    for (const hip::QueueRecord& queue : to_stop)
        count_stop(hip::ref_of(queue), ns);
    for (const hip::QueueRecord& queue : queues)
        ++holds_.try_emplace(hip::ref_of(queue), Hold{queue, 0}).first->second.count;
    return {};
}

std::vector<Result<void>> Holds::release_each(std::span<const hip::QueueRecord> queues) {
    const std::lock_guard lock(mutex_);
    std::vector<Result<void>> answers(queues.size());
    std::vector<hip::QueueRecord> to_start;
    std::vector<std::size_t> places; // of to_start in queues
    for (std::size_t i = 0; i < queues.size(); ++i) {
        const auto found = holds_.find(hip::ref_of(queues[i]));
        if (found == holds_.end() || found->second.count == 0) {
            answers[i] = fail(EALREADY, Op::resume_queue, queues[i].kfd_queue_id);
        } else if (--found->second.count == 0) {
            to_start.push_back(found->second.queue);
            places.push_back(i);
        }
    }
    const auto begin = Clock::now();
    const auto started = transport_.start_all(to_start);
    const std::uint64_t ns = ns_since(begin);
    for (std::size_t i = 0; i < to_start.size(); ++i) {
        if (started[i])
            count_start(hip::ref_of(to_start[i]), ns);
        if (started[i] || is_gone(started[i].error())) {
            holds_.erase(hip::ref_of(to_start[i]));
        } else {
            ++holds_.at(hip::ref_of(to_start[i])).count;
            answers[places[i]] = started[i];
        }
    }
    return answers;
}

void Holds::release_all() {
    const std::lock_guard lock(mutex_);
    for (const auto& [ref, hold] : holds_)
        (void)transport_.start(hold.queue); // the process ends: nobody is left to tell
    holds_.clear();
}

StopCounters Holds::counters(hip::QueueRef queue) const {
    const std::lock_guard lock(mutex_);
    const auto found = counters_.find(queue);
    return found == counters_.end() ? StopCounters{} : found->second;
}

std::uint32_t Holds::count(hip::QueueRef queue) const {
    const std::lock_guard lock(mutex_);
    const auto found = holds_.find(queue);
    return found == holds_.end() ? 0 : found->second.count;
}

} // namespace xpreempt::backend
