// SPDX-License-Identifier: MIT
// The three places that figures come from.
#pragma once

#include "figures.hpp"

#include <optional>
#include <time.h>

namespace bench {

struct Options {
    std::uint64_t seed = 1;
    std::size_t samples = 300;
    std::uint64_t marker_ns = 100;                  // of the virtual-time device
    std::size_t fill_bytes = std::size_t{64} << 20; // a command of the hip suite
};

// Each appends its figures. Otherwise: why it couldn't.
using Failure = std::optional<std::string>;

Failure run_null(const Options& options, Run& run);    // the library on a HIP that does nothing
Failure run_virtual(const Options& options, Run& run); // the engine on the virtual-time device
Failure run_hip(const Options& options, Run& run);     // the library on this machine's GPU

void reactions(const Options& options, Run& run); // of the null suite

inline double clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}
inline double wall_ns() {
    return clock_ns(CLOCK_MONOTONIC);
}
inline double cpu_ns() { // of all threads
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

} // namespace bench
