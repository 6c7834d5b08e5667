// SPDX-License-Identifier: MIT
// When the next thing happens: one time for each thing that can happen.
#pragma once

#include "time.hpp"

#include <cstddef>
#include <vector>

namespace sim {

// A scan of some dozen times costs less than a heap with entries that are withdrawn. At equal
// times the lower slot comes first, so the order doesn't depend on how they were set.
class Agenda {
public:
    explicit Agenda(std::size_t slots) : times_(slots, never) {}

    void set(std::size_t slot, Time time) {
        times_[slot] = time;
        if (slot == first_)
            first_ = unknown;
        else if (first_ != unknown &&
                 (time < times_[first_] || (time == times_[first_] && slot < first_)))
            first_ = slot;
    }
    [[nodiscard]] Time time_of(std::size_t slot) const { return times_[slot]; }
    [[nodiscard]] std::size_t first() {
        if (first_ == unknown) {
            first_ = 0;
            for (std::size_t slot = 1; slot < times_.size(); ++slot)
                if (times_[slot] < times_[first_])
                    first_ = slot;
        }
        return first_;
    }

private:
    static constexpr std::size_t unknown = static_cast<std::size_t>(-1);
    std::vector<Time> times_;
    std::size_t first_ = unknown;
};

} // namespace sim
