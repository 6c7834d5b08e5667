// SPDX-License-Identifier: MIT
// Holds that begin and end together.
#include "backend/holds.hpp"

#include <algorithm>
#include <chrono>

namespace xpreempt::backend {

void Holds::keep(const hip::QueueRecord& queue, const Owner& owner) {
    const std::lock_guard lock(mutex_);
    const auto entry = holds_.find(hip::ref_of(queue));
    if (entry != holds_.end() && entry->second.stopped)
        entry->second.owners.push_back(owner);
}

std::vector<hip::QueueRecord> Holds::exchange(std::span<const hip::QueueRecord> to_hold,
                                              std::span<const hip::QueueRecord> to_release,
                                              const Owner& owner) {
    std::vector<hip::QueueRecord> refused;
    {
        const std::lock_guard lock(mutex_);
        if (shut_)
            return refused;
        std::vector<hip::QueueRecord> to_stop, to_start;
        for (const hip::QueueRecord& queue : to_hold) {
            if (dead_.contains(hip::ref_of(queue)))
                continue;
            const Entry entry = entry_of(queue, StopType::save);
            if (entry->second.lifts == 0 && !entry->second.stopped)
                to_stop.push_back(queue);
            entry->second.owners.push_back(owner);
        }
        for (const hip::QueueRecord& queue : to_release) {
            const Entry entry = holds_.find(hip::ref_of(queue));
            if (entry == holds_.end() || std::erase(entry->second.owners, owner) == 0)
                continue;
            if (entry->second.owners.empty() && entry->second.stopped)
                to_start.push_back(queue);
            else
                settle(entry);
        }
        const auto begin = std::chrono::steady_clock::now();
        const auto switched = transport_.switch_all(to_stop, StopType::save, to_start);
        const auto ns = static_cast<std::uint64_t>(
            std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
        for (std::size_t i = 0; i < to_stop.size(); ++i) {
            const Entry entry = holds_.find(hip::ref_of(to_stop[i]));
            entry->second.stopped = switched.stopped[i].has_value();
            if (switched.stopped[i]) {
                count_stop(entry->first, ns);
            } else {
                note_death(to_stop[i], switched.stopped[i].error());
                std::erase(entry->second.owners, owner);
            }
            settle(entry);
        }
        for (std::size_t i = 0; i < to_start.size(); ++i) {
            const Entry entry = holds_.find(hip::ref_of(to_start[i]));
            if (switched.started[i]) {
                count_start(entry->first, ns);
                entry->second.stopped = false;
            } else if (!is_over(to_start[i], switched.started[i].error())) {
                entry->second.owners.push_back(owner);
                refused.push_back(to_start[i]);
            }
            settle(entry);
        }
    }
    notify_changed();
    return refused;
}

} // namespace xpreempt::backend
