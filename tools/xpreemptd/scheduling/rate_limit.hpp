// SPDX-License-Identifier: MIT
// Bounds how often something costly is done for a user or a connection.
#pragma once

#include "driver/provider.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>

namespace xpreemptd {

// Ten times a second for each key, ten of them at once.
template <typename Key> class RateLimit {
public:
    [[nodiscard]] bool admit(const Key& key, Time now) {
        forget_unused(now);
        Time& next = next_[key];
        next = std::max(next, now - at_once * interval);
        if (next > now)
            return false;
        next += interval;
        return true;
    }
    [[nodiscard]] std::size_t size() const { return next_.size(); }

private:
    static constexpr std::chrono::nanoseconds interval = std::chrono::milliseconds{100};
    static constexpr int at_once = 10;
    static constexpr std::size_t kept = 64;

    // A key without a recent call is as good as unknown. All keys are visited, so only when they
    // are twice as many as after the last visit.
    void forget_unused(Time now) {
        if (next_.size() < visit_at_)
            return;
        std::erase_if(next_,
                      [now](const auto& of) { return of.second <= now - at_once * interval; });
        visit_at_ = std::max(kept, 2 * next_.size());
    }

    std::map<Key, Time> next_; // when one more is within the rate
    std::size_t visit_at_ = kept;
};

} // namespace xpreemptd
