// SPDX-License-Identifier: MIT
// Percentiles of measured times, and how they are printed.
#pragma once

#include "output/report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cli {

// Nearest rank: each figure is one of the samples.
struct Percentiles {
    std::uint64_t samples = 0;
    std::uint64_t p50 = 0, p90 = 0, p99 = 0, max = 0; // ns
};

// nullopt if there are no samples.
std::optional<Percentiles> percentiles(std::vector<std::uint64_t> samples_ns);

// null if there are no samples.
Json json_of(const std::optional<Percentiles>& times);

// The cells of a table's row: label, p50, p90, p99, max, samples.
std::vector<std::string> row_of(const std::string& label, const std::optional<Percentiles>& times);

} // namespace cli
