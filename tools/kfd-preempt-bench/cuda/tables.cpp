// SPDX-License-Identifier: MIT
// Builds the tables from the samples.
#include "tables.hpp"

#include "parts.hpp"
#include "settings.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>

namespace cuda_report {

namespace {

constexpr std::array<unsigned, 1> p50{50};
constexpr std::array<unsigned, 1> p99{99};
constexpr std::array<unsigned, 2> p50_p99{50, 99};
constexpr std::array<unsigned, 3> p50_p99_max{50, 99, 100};
constexpr std::array<unsigned, 4> p50_p90_p99_max{50, 90, 99, 100};

// The name of a system in tables.
std::string label(const std::string& system) {
    return system.starts_with("direct") ? system : "ours " + system;
}

template <std::size_t N>
std::vector<std::string> with_kernel_times(const std::string& first,
                                           const std::array<double, N>& kernels_us) {
    std::vector<std::string> columns{first};
    for (const double kernel_us : kernels_us)
        columns.push_back("T = " + cuda::setting_of(kernel_us));
    return columns;
}

struct Column {
    const char* title;
    const char* quantity;
};

// One value of each repetition; the median of them.
Table by_median(const std::string& title, const std::string& part, const Results& results,
                const std::vector<Column>& columns) {
    Table table{title, {"median of the repetitions"}};
    for (const Column& column : columns)
        table.columns.emplace_back(column.title);
    for (const std::string& system : systems_of(part)) {
        std::vector<std::string> row{label(system)};
        for (const Column& column : columns)
            row.push_back(percentiles(results.medians({part, system, "", column.quantity}), p50));
        table.rows.push_back(std::move(row));
    }
    return table;
}

std::vector<Table> submit_tables(const Results& results) {
    return {by_median("Submit cost of tiny kernels", "submit", results,
                      {{"caller in one stream, ns", "stream_submit_ns"},
                       {"caller in bursts, ns", "burst_submit_ns"},
                       {"wall time of a command, ns", "stream_wall_ns"},
                       {"CPU time of a command, ns", "stream_cpu_ns"},
                       {"voluntary switches per 100k", "switches_per_100k"}})};
}

std::vector<Table> drain_tables(const Results& results) {
    return {by_median("Submits while suspended, and their drain after the resume", "drain", results,
                      {{"caller while suspended, ns", "suspended_submit_ns"},
                       {"drain, wall ns each", "drain_wall_ns"},
                       {"drain, CPU ns each", "drain_cpu_ns"},
                       {"memory of the queue, MiB", "queued_mib"}})};
}

std::vector<Table> wall_tables(const Results& results) {
    Table wall{"Wall time of kernels back to back over direct launches (direct in us)",
               with_kernel_times("T in us", cuda::wall_kernels_us)};
    Table cpu{"CPU time of a command, us (direct waits by spinning)",
              with_kernel_times("T in us", cuda::wall_kernels_us)};
    for (const std::string& system : systems_of("wall")) {
        std::vector<std::string> wall_row{label(system)}, cpu_row{label(system)};
        for (const double kernel_us : cuda::wall_kernels_us) {
            const std::string setting = cuda::setting_of(kernel_us);
            const double time =
                at_percent(results.medians({"wall", system, setting, "wall_us"}), 50);
            const double direct =
                at_percent(results.medians({"wall", "direct", setting, "wall_us"}), 50);
            const double over = (time / direct - 1) * 100;
            wall_row.push_back(system == "direct"    ? number(time)
                               : std::isfinite(over) ? fmt::format("{:+.1f} %", over)
                                                     : number(over));
            cpu_row.push_back(
                percentiles(results.medians({"wall", system, setting, "cpu_us"}), p50));
        }
        wall.rows.push_back(std::move(wall_row));
        cpu.rows.push_back(std::move(cpu_row));
    }
    return {wall, cpu};
}

// " (n = 300)": the samples of a cell, at least.
template <std::size_t N>
std::string count_note(const Results& results, const std::string& part, const char* quantity,
                       const std::array<std::string, N>& settings) {
    std::size_t least = SIZE_MAX;
    for (const std::string& system : systems_of(part))
        for (const std::string& setting : settings)
            least = std::min(least, results.sorted({part, system, setting, quantity}).size());
    return fmt::format(" (n = {})", least);
}

std::string suspend_count_note(const Results& results) {
    std::array<std::string, cuda::suspend_kernels_us.size()> settings;
    std::ranges::transform(cuda::suspend_kernels_us, settings.begin(),
                           [](double kernel_us) { return cuda::setting_of(kernel_us); });
    return count_note(results, "suspend", "return_us", settings);
}

Table suspend_table(const Results& results, const std::string& title, const char* quantity,
                    std::span<const unsigned> percents) {
    Table table{title + suspend_count_note(results),
                with_kernel_times("T in us", cuda::suspend_kernels_us)};
    for (const std::string& system : systems_of("suspend")) {
        std::vector<std::string> row{label(system)};
        for (const double kernel_us : cuda::suspend_kernels_us)
            row.push_back(percentiles(
                results.sorted({"suspend", system, cuda::setting_of(kernel_us), quantity}),
                percents));
        table.rows.push_back(std::move(row));
    }
    return table;
}

Table leak_table(const Results& results) {
    Table table{"Leaks: kernels that ended after the suspend returned, of so many suspends",
                with_kernel_times("T in us", cuda::suspend_kernels_us)};
    for (const std::string& system : systems_of("suspend")) {
        std::vector<std::string> row{label(system)};
        for (const double kernel_us : cuda::suspend_kernels_us) {
            const auto leaks =
                results.sorted({"suspend", system, cuda::setting_of(kernel_us), "leaks"});
            double sum = 0;
            for (const double leaked : leaks)
                sum += leaked;
            row.push_back(leaks.empty() ? number(std::nan(""))
                                        : fmt::format("{:.0f} of {}", sum, leaks.size()));
        }
        table.rows.push_back(std::move(row));
    }
    return table;
}

std::vector<Table> suspend_tables(const Results& results) {
    return {suspend_table(results, "Suspend: call until it returns, us: p50 / p90 / p99 / max",
                          "return_us", p50_p90_p99_max),
            suspend_table(results, "Suspend: call until the last kernel ended, us: p50 / p99 / max",
                          "end_us", p50_p99_max),
            suspend_table(results, "Suspend: return behind that end, us: p50 / p99", "behind_us",
                          p50_p99),
            leak_table(results)};
}

std::vector<Table> idle_tables(const Results& results) {
    Table table{"Idle queue, us: p50 / p99" +
                    count_note(results, "idle", "start_us", std::array<std::string, 1>{}),
                {"", "submit until the GPU starts", "submit until a wait returns"}};
    for (const std::string& system : systems_of("idle"))
        table.rows.push_back(
            {label(system), percentiles(results.sorted({"idle", system, "", "start_us"}), p50_p99),
             percentiles(results.sorted({"idle", system, "", "wait_us"}), p50_p99)});
    return {table};
}

std::vector<std::string> foreground_row(const Results& results, const std::string& system,
                                        const std::string& setting) {
    const Key latency{"foreground", system, setting, "latency_us"};
    const auto sorted = results.sorted(latency);
    const auto medians = results.medians(latency);
    const auto median = [&](const char* quantity) {
        return percentiles(results.medians({"foreground", system, setting, quantity}), p50);
    };
    return {label(system),
            sorted.empty() ? number(std::nan(""))
                           : fmt::format("{} [{}-{}]", number(at_percent(sorted, 50)),
                                         number(medians.front()), number(medians.back())),
            percentiles(sorted, p99),
            percentiles(results.sorted({"foreground", system, setting, "wait_us"}), p50_p99),
            median("background_percent"),
            median("cpu_ms")};
}

std::string words_of(const cuda::Company& company) {
    return company.streams == 0 ? "no background"
                                : fmt::format("{} background stream(s) of {:g} us", company.streams,
                                              company.kernel_us);
}

std::vector<Table> foreground_tables(const Results& results) {
    std::vector<Table> tables;
    for (const cuda::RequestShape& shape : cuda::request_shapes)
        for (const cuda::Company& company : cuda::companies) {
            Table table{
                fmt::format("Foreground latency, arrival until its last kernel ended, us: {}, {}",
                            shape.words, words_of(company)),
                {"", "p50 [lowest-highest repetition]", "p99", "wait returns p50 / p99",
                 "background, % of the GPU", "CPU, ms of 400 ms"}};
            const std::string setting = cuda::setting_of(shape, company);
            for (const std::string& system : systems_of("foreground"))
                table.rows.push_back(foreground_row(results, system, setting));
            tables.push_back(std::move(table));
        }
    return tables;
}

std::vector<Table> marker_tables(const Results& results) {
    Table table{"Marks of a point in a stream: calls, ns (median), and the notice of a kernel's "
                "end, us: p50 / p99",
                {"", "launch before it", "place", "ask, passed", "make and free",
                 "end until noticed, polled", "the same, waited for"}};
    for (const char* mark : {"event", "blocking-event", "written-value"}) {
        std::vector<std::string> row{mark};
        for (const char* quantity : {"launch_ns", "place_ns", "ask_passed_ns", "make_ns"})
            row.push_back(percentiles(results.sorted({"markers", "direct", mark, quantity}), p50));
        for (const char* quantity : {"polled_us", "waited_us"})
            row.push_back(
                percentiles(results.sorted({"markers", "direct", mark, quantity}), p50_p99));
        table.rows.push_back(std::move(row));
    }
    return {table};
}

std::vector<Table> call_tables(const Results& results) {
    std::vector<Table> tables;
    constexpr std::array<Column, 2> settings{
        {{"Driver calls of a command, launched by the caller", "inline"},
         {"Driver calls of a command, launched by the xqueue's thread", "deferred"}}};
    for (const Column& setting : settings) {
        Table table{setting.title,
                    {"", "launches", "event records", "event queries", "event waits",
                     "stream writes", "launched inline"}};
        for (const std::string& system : systems_of("calls")) {
            if (system == "direct" && std::string(setting.quantity) == "deferred")
                continue;
            std::vector<std::string> row{label(system)};
            for (const char* quantity : {"launches", "event_records", "event_queries",
                                         "event_waits", "stream_writes", "inline_share"})
                row.push_back(percentiles(
                    results.medians({"calls", system, setting.quantity, quantity}), p50));
            table.rows.push_back(std::move(row));
        }
        tables.push_back(std::move(table));
    }
    return tables;
}

} // namespace

std::vector<std::string> systems_of(const std::string& part) {
    std::vector<std::string> names;
    const cuda::Part* found = cuda::find_part(part);
    for (const cuda::System& system : cuda::all_systems())
        if (found != nullptr && found->measures(system))
            names.emplace_back(system.name);
    return names;
}

std::vector<Table> tables_of(const std::string& part, const Results& results) {
    if (part == "submit")
        return submit_tables(results);
    if (part == "drain")
        return drain_tables(results);
    if (part == "wall")
        return wall_tables(results);
    if (part == "suspend")
        return suspend_tables(results);
    if (part == "idle")
        return idle_tables(results);
    if (part == "foreground")
        return foreground_tables(results);
    if (part == "markers")
        return marker_tables(results);
    return part == "calls" ? call_tables(results) : std::vector<Table>{};
}

} // namespace cuda_report
