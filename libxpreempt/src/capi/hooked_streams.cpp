// SPDX-License-Identifier: MIT
// Looks hooked streams up, and forgets those whose stream was destroyed.
#include "capi/hooked_streams.hpp"

#include <vector>

namespace xpreempt::capi {

void HookedStreams::forget_dead() {
    std::vector<Pointer> dead;
    {
        const std::lock_guard lock(mutex_);
        std::erase_if(known_, [&](const auto& entry) {
            const auto& [key, known] = entry;
            const bool lives = known.birth == mapping_.birth_of(key);
            if (!lives)
                dead.push_back(known.stream);
            return !lives;
        });
    }
    for (const Pointer& stream : dead)
        gone_(stream);
}

HookedStreams::Pointer HookedStreams::find(hip::Stream key) {
    forget_dead();
    const std::lock_guard lock(mutex_);
    const auto found = known_.find(key);
    return found == known_.end() ? nullptr : found->second.stream;
}

HookedStreams::Pointer HookedStreams::insert(hip::Stream key, Pointer made) {
    const std::lock_guard lock(mutex_);
    return known_.try_emplace(key, Known{mapping_.birth_of(key), std::move(made)})
        .first->second.stream;
}

HookedStreams::Pointer HookedStreams::remove(hip::Stream key) {
    forget_dead();
    Pointer removed;
    {
        const std::lock_guard lock(mutex_);
        if (const auto known = known_.extract(key))
            removed = known.mapped().stream;
    }
    if (removed != nullptr)
        gone_(removed);
    return removed;
}

} // namespace xpreempt::capi
