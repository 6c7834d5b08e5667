// SPDX-License-Identifier: MIT
// Suspends at random moments of a busy queue on the virtual-time device.
#pragma once

#include "virtual_device.hpp"

#include <cstdint>
#include <vector>

namespace bench {

struct PreemptionRun {
    std::vector<std::uint64_t> latencies_ns; // of suspends that wait for what was launched
    double overhead; // time of undisturbed commands, over that when all are launched at once
    double wakes;    // of threads that slept, for each undisturbed command
    double polled;   // time that threads polled, over that of the undisturbed commands
    std::uint64_t warm_up_ns; // until the first hundred had been launched
    std::uint32_t threshold;  // at the end
    std::uint64_t command_ns; // as the XQueue measured it, 0: it didn't
};

PreemptionRun run_preemptions(const DeviceCosts& costs,
                              const xpreempt::xqueue::LaunchConfig& config, std::uint64_t seed,
                              std::size_t samples);

} // namespace bench
