// SPDX-License-Identifier: MIT
// The settings of the parts, and their names in samples and tables.
#pragma once

#include <array>
#include <string>

namespace cuda {

// Times of a kernel.
constexpr std::array<double, 6> wall_kernels_us{5, 10, 20, 50, 100, 1000};
constexpr std::array<double, 6> suspend_kernels_us{20, 50, 100, 500, 1000, 2000};

inline std::string setting_of(double kernel_us) {
    return std::to_string(static_cast<int>(kernel_us));
}

// A foreground request: so many kernels, each of a random time.
struct RequestShape {
    const char* name;
    const char* words;
    unsigned kernels;
    double least_us, most_us;
};
constexpr std::array<RequestShape, 2> request_shapes{{
    {"one", "one kernel of 100-200 us a request", 1, 100, 200},
    {"ten", "ten kernels of 10-20 us a request", 10, 10, 20},
}};
constexpr std::array<unsigned, 3> background_streams{0, 1, 4};
constexpr double background_kernel_us = 150;
constexpr double foreground_load = 0.2; // of the GPU

inline std::string setting_of(const RequestShape& shape, unsigned backgrounds) {
    return shape.name + ("-" + std::to_string(backgrounds));
}

} // namespace cuda
