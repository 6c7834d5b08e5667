// SPDX-License-Identifier: MIT
// Reaction times: percentiles of the last ones, count and sum of all.
#pragma once

#include "protocol/control.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace xpreemptd {

class Reactions {
public:
    using Duration = std::chrono::nanoseconds;

    void add(Duration reaction) {
        ++count_;
        sum_ += reaction;
        if (samples_.size() < ReactionTimes::most_samples) {
            samples_.push_back(reaction);
        } else {
            samples_[oldest_] = reaction;
            oldest_ = (oldest_ + 1) % samples_.size();
        }
    }
    [[nodiscard]] ReactionTimes times() const {
        return {count_, sum_, percentile(50), percentile(99), percentile(100)};
    }

private:
    // 0 without samples.
    [[nodiscard]] Duration percentile(unsigned percent) const {
        if (samples_.empty())
            return Duration{0};
        std::vector<Duration> sorted = samples_;
        const auto at =
            sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) * percent / 100);
        std::ranges::nth_element(sorted, at);
        return *at;
    }

    std::vector<Duration> samples_;
    std::size_t oldest_ = 0;
    std::uint64_t count_ = 0;
    Duration sum_{0};
};

} // namespace xpreemptd
