// SPDX-License-Identifier: MIT
// Bounds how often something costly is done for a connection or a user.
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
    void forget(const Key& key) { next_.erase(key); }

private:
    static constexpr std::chrono::nanoseconds interval = std::chrono::milliseconds{100};
    static constexpr int at_once = 10;
    static constexpr std::size_t kept = 64;

    // Those that were not admitted lately are as good as unknown.
    void forget_unused(Time now) {
        if (next_.size() < kept)
            return;
        std::erase_if(next_,
                      [now](const auto& of) { return of.second <= now - at_once * interval; });
    }

    std::map<Key, Time> next_; // when one more is within the rate
};

} // namespace xpreemptd
