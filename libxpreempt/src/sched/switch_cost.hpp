// SPDX-License-Identifier: MIT
// Measures what a stop and a resume cost here, by the calls of the driver that did them.
#pragma once

#include "sched/snapshot.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>

namespace xpreempt::sched {

// The cheapest of the last calls that stopped something, and of those that only resumed: a call is
// also long because the host was busy, or because there were many waves to save, and no policy may
// become slow for that. A call that does both, as in each turn of RR, counts as the whole.
class SwitchCost {
public:
    // A machine with more than this has other troubles than the length of turns.
    static constexpr Duration most = std::chrono::milliseconds{50};

    void note(bool stops, Duration took) {
        Calls& calls = stops ? stops_ : resumes_;
        calls.took[calls.count++ % calls.took.size()] = std::max(took, Duration{0});
    }
    [[nodiscard]] Duration value() const {
        return std::min(most, stops_.cheapest() + resumes_.cheapest());
    }

private:
    struct Calls {
        std::array<Duration, 16> took{};
        std::size_t count = 0;

        [[nodiscard]] Duration cheapest() const {
            if (count == 0)
                return Duration{0};
            return *std::min_element(took.begin(), took.begin() + std::min(count, took.size()));
        }
    };
    Calls stops_, resumes_;
};

} // namespace xpreempt::sched
