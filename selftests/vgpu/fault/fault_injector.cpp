// SPDX-License-Identifier: MIT
// The fault knobs at work: decides for the CP which dequeues are held and which fences are lost.
#include "fault/fault_injector.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu::fault {

FaultInjector::FaultInjector(std::vector<Spec> specs, Observer& observer) : observer_(observer) {
    for (Spec& spec : specs) {
        const std::uint64_t count = spec.count;
        armed_.push_back({std::move(spec), count, 0});
    }
}

std::optional<std::uint64_t> FaultInjector::next_deadline_ms() const {
    std::optional<std::uint64_t> next;
    for (const auto& [slot, held] : held_)
        if (held.until_ms && (!next || *held.until_ms < *next))
            next = held.until_ms;
    return next;
}

void FaultInjector::dequeue_begins(unsigned slot) {
    const auto armed = std::find_if(armed_.begin(), armed_.end(), [](const Armed& candidate) {
        return candidate.spec.kind != Kind::drop_fence && candidate.left != 0;
    });
    if (armed == armed_.end())
        return;
    --armed->left;
    Held held;
    if (armed->spec.delay_ms)
        held.until_ms = now_ms_ + *armed->spec.delay_ms;
    held.polls = armed->spec.polls;
    held_[slot] = held;
    observer_.count("faults", 1);
    observer_.event("fault", fmt::format("dequeue of slot {} held", slot));
}

void FaultInjector::active_polled(unsigned slot) {
    const auto found = held_.find(slot);
    if (found != held_.end() && found->second.polls && *found->second.polls != 0)
        --*found->second.polls;
}

bool FaultInjector::dequeue_held(unsigned slot) {
    const auto found = held_.find(slot);
    if (found == held_.end())
        return false;
    const Held& held = found->second;
    const bool over =
        (held.until_ms && now_ms_ >= *held.until_ms) || (held.polls && *held.polls == 0);
    if (!over)
        return true;
    held_.erase(found);
    observer_.event("fault", fmt::format("dequeue of slot {} released", slot));
    return false;
}

bool FaultInjector::drop_fence() {
    bool drop = false;
    for (Armed& armed : armed_) {
        if (armed.spec.kind != Kind::drop_fence || armed.left == 0)
            continue;
        if (++armed.seen < armed.spec.nth)
            continue;
        --armed.left;
        drop = true;
        observer_.count("faults", 1);
    }
    return drop;
}

void FaultInjector::device_reset() {
    held_.clear();
}

} // namespace vgpu::fault
