// SPDX-License-Identifier: MIT
// Percentiles of measured times, and how they are printed.
#include "output/latency.hpp"

#include "output/names.hpp"

#include <algorithm>

namespace cli {

std::optional<Percentiles> percentiles(std::vector<std::uint64_t> samples_ns) {
    if (samples_ns.empty())
        return std::nullopt;
    std::ranges::sort(samples_ns);
    const auto rank = [&](std::size_t percent) {
        return samples_ns[(samples_ns.size() * percent + 99) / 100 - 1];
    };
    return Percentiles{samples_ns.size(), rank(50), rank(90), rank(99), samples_ns.back()};
}

Json json_of(const std::optional<Percentiles>& times) {
    if (!times)
        return nullptr;
    return {{"samples", times->samples},
            {"p50_ns", times->p50},
            {"p90_ns", times->p90},
            {"p99_ns", times->p99},
            {"max_ns", times->max}};
}

std::vector<std::string> row_of(const std::string& label, const std::optional<Percentiles>& times) {
    if (!times)
        return {label, "-", "-", "-", "-", "0"};
    return {label,
            duration_text(times->p50),
            duration_text(times->p90),
            duration_text(times->p99),
            duration_text(times->max),
            std::to_string(times->samples)};
}

} // namespace cli
