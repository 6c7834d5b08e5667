// SPDX-License-Identifier: MIT
// The last reaction times, and their percentiles.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace xpreemptd {

class Reactions {
public:
    using Duration = std::chrono::nanoseconds;

    void add(Duration reaction) {
        if (samples_.size() < most) {
            samples_.push_back(reaction);
        } else {
            samples_[oldest_] = reaction;
            oldest_ = (oldest_ + 1) % most;
        }
    }
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

private:
    static constexpr std::size_t most = 1024;
    std::vector<Duration> samples_;
    std::size_t oldest_ = 0;
};

} // namespace xpreemptd
