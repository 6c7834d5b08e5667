// SPDX-License-Identifier: MIT
// Virtual time.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>

namespace sim {

using Time = std::int64_t; // ns since the start of a run; lengths of time too
constexpr Time never = INT64_MAX;
constexpr Time us = 1000, ms = 1000 * us, second = 1000 * ms;

// Rounds up: what ends at a time has ended by then.
inline Time ceil_time(double ns) {
    constexpr double longest = 4e18;
    return ns < longest ? static_cast<Time>(std::ceil(ns)) : never;
}
inline Time round_time(double ns) {
    return static_cast<Time>(std::llround(std::fmin(std::fmax(ns, 0), 4e18)));
}

} // namespace sim
