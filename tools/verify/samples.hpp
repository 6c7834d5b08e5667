// SPDX-License-Identifier: MIT
// Measured stops and resumes at one size, and the line through all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace verify {

// Samples of one queue whose waves take `bytes` bytes, control stack included.
struct SizeSamples {
    std::uint32_t workgroups = 0;
    std::uint64_t bytes = 0;
    std::vector<std::uint64_t> stop_ns;   // the driver's time to the confirmed stop
    std::vector<std::uint64_t> resume_ns; // of the call; the waves are restored after it
};

// time = fixed_ns + bytes / bytes_per_ns, through the medians, by least squares.
struct Fit {
    bool valid = false; // two sizes or more, and time grows with size
    double fixed_ns = 0;
    double bytes_per_ns = 0; // GB/s
};
Fit fit(const std::vector<SizeSamples>& sizes);

// A plot of all stops: bytes against time, the fitted line, and the predicted one if
// predicted_bytes_per_ns isn't 0. Standalone SVG.
std::string plot(const std::vector<SizeSamples>& sizes, const Fit& fitted,
                 double predicted_bytes_per_ns);

} // namespace verify
