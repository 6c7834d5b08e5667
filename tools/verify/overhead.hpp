// SPDX-License-Identifier: MIT
// Figures of stage overhead: what each way of running a program adds to its time.
#pragma once

#include "stage.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace verify {

// Runs of one program in one way; the runs of all ways with the same index were one after another.
struct Runs {
    std::string way;
    std::vector<std::chrono::nanoseconds> times;
};

// In per cent of the baseline's time, from the ratio of each pair of runs. The interval has the
// true median with 95 % confidence or more, whatever the distribution; too few runs have none.
struct Cost {
    double median;
    struct Interval {
        double low, high;
    };
    std::optional<Interval> interval;
};

std::optional<Cost> cost(const std::vector<std::chrono::nanoseconds>& times,
                         const std::vector<std::chrono::nanoseconds>& baseline);

// Its head, and a row of each way. The first way is the baseline of the others.
std::vector<std::string> table(const std::vector<Runs>& all);
Json figures_of(const std::vector<Runs>& all);

} // namespace verify
