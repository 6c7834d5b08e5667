// SPDX-License-Identifier: MIT
// Columns and their formats.
#include "report.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace sim {

namespace {

std::string ms_text(double value) {
    return value > 0 ? fmt::format("{:.3f}", value) : "-";
}
std::string ratio_text(double value) {
    return value > 0 ? fmt::format("{:.3f}", value) : "-";
}
std::string ratio_text(const std::optional<double>& value) {
    return value ? fmt::format("{:.3f}", *value) : "-";
}

std::string origin_of(const Published& row) {
    return fmt::format("published, {}: {}", row.hardware, row.source);
}

std::vector<std::string> cells_of(const Row& row) {
    const Measures& of = row.measures;
    return {row.policy,
            row.jobs,
            fmt::format("{:.2f}", of.rate),
            row.of == Row::Of::all ? "-" : ms_text(of.p50), // of different jobs
            row.of == Row::Of::all ? "-" : ms_text(of.p99),
            row.of == Row::Of::all ? "-" : ms_text(of.max),
            ratio_text(of.mean_over_alone),
            ratio_text(of.p99_over_alone),
            ratio_text(of.throughput_over_free),
            ratio_text(of.work_over_free),
            fmt::format("{:.3f}", of.share),
            fmt::format("{:.3f}", of.stops),
            fmt::format("{:.3f}", of.preemptions),
            fmt::format("{:.1f}", of.longest_wait),
            std::string(row.origin)};
}

bool is_shown(const Row& row, Detail detail) {
    if (detail == Detail::jobs)
        return row.of != Row::Of::band;
    return row.of != Row::Of::job;
}

const Measures* measures_of(const Comparison& comparison, std::string_view policy,
                            Quantity::Of which) {
    const sched::Band band = which == Quantity::Of::first_band ? comparison.first : comparison.last;
    for (const Row& row : comparison.rows)
        if (row.policy == policy &&
            (which == Quantity::Of::all ? row.of == Row::Of::all
                                        : row.of == Row::Of::band && row.band == band))
            return &row.measures;
    return nullptr;
}

// In the order of the rows.
std::vector<std::string> policies_of(std::span<const Comparison> comparisons) {
    std::vector<std::string> names;
    for (const Comparison& comparison : comparisons)
        for (const Row& row : comparison.rows)
            if (row.policy != alone_name && std::ranges::find(names, row.policy) == names.end())
                names.push_back(row.policy);
    return names;
}

using enum Quantity::Of;
constexpr std::array all_quantities{
    Quantity{"mean", "mean latency over alone, first band", first_band, &Measures::mean_over_alone},
    Quantity{"p99", "p99 latency over alone, first band", first_band, &Measures::p99_over_alone},
    Quantity{"max", "longest latency in ms, first band", first_band, &Measures::max},
    Quantity{"throughput", "requests/s over free sharing, all jobs", all,
             &Measures::throughput_over_free},
    Quantity{"work", "kernel time done over free sharing, all jobs", all,
             &Measures::work_over_free},
    Quantity{"last-throughput", "requests/s over free sharing, last band", last_band,
             &Measures::throughput_over_free},
    Quantity{"last-share", "share of the GPU, last band", last_band, &Measures::share},
    Quantity{"preemptions", "preemptions a request, first band", first_band,
             &Measures::preemptions},
    Quantity{"wait", "longest wait in ms, last band", last_band, &Measures::longest_wait},
    Quantity{"ttft", "time to first token over alone, first band", first_band,
             &Measures::first_token_over_alone},
    Quantity{"tpot", "time per output token over alone, first band", first_band,
             &Measures::token_over_alone},
};

} // namespace

charts::Table table_of(const Comparison& comparison, Detail detail) {
    charts::Table table{comparison.name,
                        {"policy", "jobs", "req/s", "p50 ms", "p99 ms", "max ms", "mean/alone",
                         "p99/alone", "req/s over free", "work over free", "share", "stops/req",
                         "preempt/req", "longest wait ms", "origin"}};
    for (const Row& row : comparison.rows)
        if (is_shown(row, detail))
            table.rows.push_back(cells_of(row));
    for (const Published& row : comparison.published)
        table.rows.push_back({row.system, row.jobs, "-", "-", "-", "-",
                              ratio_text(row.mean_over_alone), ratio_text(row.p99_over_alone),
                              ratio_text(row.throughput_over_free), "-", "-", "-",
                              ratio_text(row.preemptions), "-", origin_of(row)});
    return table;
}

charts::Table token_table_of(const Comparison& comparison) {
    charts::Table table{comparison.name + ": tokens",
                        {"policy", "job", "TTFT mean ms", "TTFT p99 ms", "TTFT/alone",
                         "TPOT mean ms", "TPOT p99 ms", "TPOT/alone", "preempt/req", "origin"}};
    for (const Row& row : comparison.rows) {
        const Measures& of = row.measures;
        if (row.of != Row::Of::job || of.first_token_mean <= 0)
            continue;
        table.rows.push_back(
            {row.policy, row.jobs, ms_text(of.first_token_mean), ms_text(of.first_token_p99),
             ratio_text(of.first_token_over_alone), ms_text(of.token_mean), ms_text(of.token_p99),
             ratio_text(of.token_over_alone), fmt::format("{:.3f}", of.preemptions), "simulated"});
    }
    for (const Published& row : comparison.published)
        if (row.first_token_over_alone || row.token_over_alone)
            table.rows.push_back(
                {row.system, row.jobs, "-", "-", ratio_text(row.first_token_over_alone), "-", "-",
                 ratio_text(row.token_over_alone), ratio_text(row.preemptions), origin_of(row)});
    return table;
}

charts::Table sweep_table_of(std::span<const Comparison> comparisons, const std::string& key) {
    charts::Table table{key,
                        {key, "policy", "mean/alone", "p99/alone", "preempt/req",
                         "req/s over free, all", "work over free, all",
                         "req/s over free, last band", "share, last band",
                         "longest wait ms, last band", "origin"}};
    for (const Comparison& comparison : comparisons)
        for (const std::string& policy : policies_of({&comparison, 1})) {
            const Measures* first = measures_of(comparison, policy, first_band);
            const Measures* last = measures_of(comparison, policy, last_band);
            const Measures* sum = measures_of(comparison, policy, all);
            if (first == nullptr || last == nullptr || sum == nullptr)
                continue;
            table.rows.push_back(
                {comparison.name, policy, ratio_text(first->mean_over_alone),
                 ratio_text(first->p99_over_alone), fmt::format("{:.3f}", first->preemptions),
                 ratio_text(sum->throughput_over_free), ratio_text(sum->work_over_free),
                 ratio_text(last->throughput_over_free), fmt::format("{:.3f}", last->share),
                 fmt::format("{:.1f}", last->longest_wait), "simulated"});
        }
    return table;
}

std::string aligned(const charts::Table& table) {
    std::vector<std::size_t> widths;
    for (std::size_t column = 0; column < table.columns.size(); ++column) {
        std::size_t width = std::max<std::size_t>(table.columns[column].size(), 3);
        for (const auto& row : table.rows)
            width = std::max(width, row[column].size());
        widths.push_back(width);
    }
    const auto line = [&](const std::vector<std::string>& cells) {
        std::string text = "|";
        for (std::size_t column = 0; column < cells.size(); ++column)
            text += fmt::format(" {:<{}} |", cells[column], widths[column]);
        return text + "\n";
    };
    std::string text = "### " + table.title + "\n\n" + line(table.columns) + "|";
    for (const std::size_t width : widths)
        text += std::string(width + 2, '-') + "|";
    text += "\n";
    for (const auto& row : table.rows)
        text += line(row);
    return text;
}

std::span<const Quantity> quantities() {
    return all_quantities;
}

const Quantity* quantity_named(std::string_view name) {
    const auto* found = std::ranges::find(all_quantities, name, &Quantity::name);
    return found != all_quantities.end() ? found : nullptr;
}

charts::Chart chart_of(std::span<const Comparison> comparisons, const Quantity& quantity,
                       std::string title) {
    charts::Chart chart{
        std::move(title) + " (simulated)", std::string(quantity.title), {}, {}, false};
    double least = std::numeric_limits<double>::infinity(), most = 0;
    for (const Comparison& comparison : comparisons)
        chart.groups.push_back(comparison.name);
    for (const std::string& policy : policies_of(comparisons)) {
        charts::Series series{policy, chart.series.size(), {}, {}};
        for (const Comparison& comparison : comparisons) {
            const Measures* of = measures_of(comparison, policy, quantity.of);
            const double value =
                of != nullptr ? of->*quantity.field : std::numeric_limits<double>::quiet_NaN();
            if (value > 0) {
                least = std::min(least, value);
                most = std::max(most, value);
            }
            series.values.push_back(value);
        }
        chart.series.push_back(std::move(series));
    }
    constexpr double far_apart = 20;
    chart.logarithmic = most > far_apart * least;
    return chart;
}

} // namespace sim
