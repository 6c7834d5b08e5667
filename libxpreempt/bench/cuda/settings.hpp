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
constexpr double foreground_load = 0.2; // of the GPU

// The background: streams beside the foreground, with kernels of one length.
struct Company {
    unsigned streams;
    double kernel_us;
};
constexpr std::array<Company, 5> companies{{{0, 0}, {1, 500}, {4, 500}, {1, 150}, {4, 150}}};

inline std::string setting_of(const RequestShape& shape, const Company& company) {
    return shape.name + ("-" + std::to_string(company.streams)) +
           (company.streams > 0 ? "-" + setting_of(company.kernel_us) : "");
}

} // namespace cuda
