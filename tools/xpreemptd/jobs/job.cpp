// SPDX-License-Identifier: MIT
// Derives the state of a job from that of its queues.
#include "jobs/job.hpp"

#include <algorithm>

namespace xpreemptd {

namespace {

template <typename Test> bool any_queue(const Job& job, Test test) {
    return std::ranges::any_of(job.processes, [&](const auto& process) {
        return std::ranges::any_of(process->queues, test);
    });
}

} // namespace

bool Process::busy() const {
    return std::ranges::any_of(queues, &Queue::busy);
}

bool Process::away() const {
    return std::ranges::any_of(vram, [](const VramUse& use) { return use.away != 0; }) ||
           std::ranges::any_of(queues, &Queue::away);
}

std::int32_t Job::cpu_priority() const {
    std::optional<std::int32_t> priority_of_all;
    for (const auto& process : processes)
        priority_of_all = std::max(priority_of_all, std::optional(process->facts.cpu_priority));
    return priority_of_all.value_or(0);
}

bool Job::announced(Time now) const {
    return std::ranges::any_of(hints.by_user,
                               [&](const auto& of) { return announced(of.second, now); });
}

bool Job::busy() const {
    return any_queue(*this, [](const Queue& queue) { return queue.busy; });
}

bool Job::held() const {
    return any_queue(*this, [](const Queue& queue) { return queue.held; });
}

bool Job::held_by_others() const {
    const auto busy_and = [this](bool held) {
        return any_queue(*this, [held](const Queue& queue) {
            return queue.compute && queue.busy && queue.held_by_others == held;
        });
    };
    return busy_and(true) && !busy_and(false);
}

bool Job::moving() const {
    return std::ranges::any_of(processes, &Process::moving);
}

bool Job::away() const {
    return std::ranges::any_of(processes, &Process::away);
}

std::uint64_t Job::vram(std::uint64_t VramUse::* which) const {
    std::uint64_t bytes = 0;
    for (const auto& process : processes)
        for (const VramUse& use : process->vram)
            bytes += use.*which;
    return bytes;
}

bool Job::wants() const {
    return std::ranges::any_of(processes,
                               [](const auto& process) { return process->wants_bytes != 0; });
}

std::string Job::refusal() const {
    std::string reason;
    for (const auto& process : processes)
        for (const Queue& queue : process->queues) {
            if (!queue.compute)
                continue;
            if (queue.refusal.empty())
                return {};
            reason = queue.refusal;
        }
    return reason;
}

} // namespace xpreemptd
