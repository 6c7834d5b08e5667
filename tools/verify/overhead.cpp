// SPDX-License-Identifier: MIT
// Computes with times that were measured; knows no GPU.
#include "overhead.hpp"

#include "kfd-preempt/output/names.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace verify {

namespace {

constexpr double confidence = 0.95;

double median_of(const std::vector<double>& sorted) {
    const std::size_t half = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}

// How many samples to leave out at each end of n sorted ones, so that those between have the median
// with that confidence: fewer than so many of n fair coins show heads with (1 - confidence) / 2.
std::optional<std::size_t> left_out(std::size_t n) {
    double heads = std::pow(0.5, static_cast<double>(n)); // exactly k of them
    double at_most = heads;
    std::optional<std::size_t> most;
    for (std::size_t k = 0; k < n && at_most <= (1 - confidence) / 2; ++k) {
        most = k;
        heads *= static_cast<double>(n - k) / static_cast<double>(k + 1);
        at_most += heads;
    }
    return most;
}

std::string percent(double value) {
    return fmt::format("{:+.1f} %", value);
}

std::chrono::nanoseconds median_of(std::vector<std::chrono::nanoseconds> times) {
    std::ranges::sort(times);
    return times.empty() ? std::chrono::nanoseconds{} : times[times.size() / 2];
}

// Nothing for the first way, the baseline.
std::optional<Cost> cost_of(const std::vector<Runs>& all, std::size_t i) {
    return i == 0 ? std::nullopt : cost(all[i].times, all.front().times);
}

} // namespace

std::optional<Cost> cost(const std::vector<std::chrono::nanoseconds>& times,
                         const std::vector<std::chrono::nanoseconds>& baseline) {
    std::vector<double> costs;
    for (std::size_t i = 0; i < std::min(times.size(), baseline.size()); ++i)
        if (baseline[i].count() > 0)
            costs.push_back(100 * (static_cast<double>(times[i].count()) /
                                       static_cast<double>(baseline[i].count()) -
                                   1));
    if (costs.empty())
        return std::nullopt;
    std::ranges::sort(costs);
    Cost cost{median_of(costs), {}};
    if (const auto out = left_out(costs.size()))
        cost.interval = Cost::Interval{costs[*out], costs[costs.size() - 1 - *out]};
    return cost;
}

std::vector<std::string> table(const std::vector<Runs>& all) {
    std::vector<std::string> lines{
        fmt::format("{:<36}  {:>9}  {:>9}  {}", "", "p50", "cost", "with 95 % confidence")};
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto p50 = static_cast<std::uint64_t>(median_of(all[i].times).count());
        std::string line = fmt::format("{:<36}  {:>9}", all[i].way, cli::duration_text(p50));
        const auto more = cost_of(all, i);
        if (more)
            line +=
                fmt::format("  {:>9}  {}", percent(more->median),
                            more->interval ? fmt::format("{} to {}", percent(more->interval->low),
                                                         percent(more->interval->high))
                                           : "too few runs");
        lines.push_back(std::move(line));
    }
    return lines;
}

Json figures_of(const std::vector<Runs>& all) {
    Json json = Json::object();
    for (std::size_t i = 0; i < all.size(); ++i) {
        Json way{{"way", all[i].way}, {"ns", Json::array()}, {"compared_with", nullptr}};
        for (const auto& time : all[i].times)
            way["ns"].push_back(time.count());
        const auto more = cost_of(all, i);
        if (more) {
            way["compared_with"] = all.front().way;
            way["cost_percent"] = more->median;
            if (more->interval)
                way["interval_percent"] = {more->interval->low, more->interval->high};
        }
        json["ways"].push_back(std::move(way));
    }
    return json;
}

} // namespace verify
