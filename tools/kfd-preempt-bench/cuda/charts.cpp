// SPDX-License-Identifier: MIT
// The chart of each part.
#include "charts/chart.hpp"
#include "settings.hpp"
#include "system.hpp"
#include "tables.hpp"

#include <cmath>

namespace cuda_report {

namespace {

using charts::Chart;
using charts::Series;

// A system has the same colour in each chart.
std::size_t colour_of(const std::string& system) {
    std::size_t colour = 0;
    for (const cuda::System& other : cuda::all_systems()) {
        if (system == other.name)
            break;
        ++colour;
    }
    return colour;
}

// A bar of the median for each group, and a mark at p99 if wanted.
struct Group {
    std::string name, setting;
    const char* quantity;
};

Chart bars(const std::string& part, const Results& results, const std::string& title,
           const std::string& unit, const std::vector<Group>& groups, bool mark_p99) {
    Chart chart{title + (mark_p99 ? " (bar: p50, mark: p99)" : ""), unit, {}};
    for (const Group& group : groups)
        chart.groups.push_back(group.name);
    for (const std::string& system : systems_of(part)) {
        Series series{system, colour_of(system)};
        for (const Group& group : groups) {
            const auto sorted = results.sorted({part, system, group.setting, group.quantity});
            series.values.push_back(at_percent(sorted, 50));
            if (mark_p99)
                series.marks.push_back(at_percent(sorted, 99));
        }
        chart.series.push_back(std::move(series));
    }
    return chart;
}

template <std::size_t N>
std::vector<Group> by_kernel_time(const std::array<double, N>& kernels_us, const char* quantity) {
    std::vector<Group> groups;
    for (const double kernel_us : kernels_us)
        groups.push_back(
            {"T = " + cuda::setting_of(kernel_us), cuda::setting_of(kernel_us), quantity});
    return groups;
}

// Percent over direct launches.
Chart wall_chart(const Results& results) {
    Chart chart = bars("wall", results, "Wall time of kernels back to back over direct launches",
                       "%", by_kernel_time(cuda::wall_kernels_us, "wall_us"), false);
    chart.logarithmic = false;
    if (chart.series.empty())
        return chart;
    const std::vector<double> direct = chart.series.front().values;
    chart.series.erase(chart.series.begin());
    for (Series& series : chart.series)
        for (std::size_t i = 0; i < series.values.size(); ++i)
            series.values[i] = (series.values[i] / direct[i] - 1) * 100;
    return chart;
}

std::vector<Group> foreground_groups() {
    std::vector<Group> groups;
    for (const cuda::RequestShape& shape : cuda::request_shapes)
        for (const cuda::Company& company : cuda::companies) {
            const std::string setting = cuda::setting_of(shape, company);
            groups.push_back({setting, setting, "latency_us"});
        }
    return groups;
}

Chart plain_chart_of(const std::string& part, const Results& results) {
    if (part == "submit")
        return bars(part, results, "Submit cost of tiny kernels", "ns",
                    {{"caller, one stream", "", "stream_submit_ns"},
                     {"caller, bursts", "", "burst_submit_ns"},
                     {"wall", "", "stream_wall_ns"},
                     {"CPU", "", "stream_cpu_ns"}},
                    false);
    if (part == "drain")
        return bars(part, results, "Submits while suspended, and their drain", "ns",
                    {{"caller", "", "suspended_submit_ns"},
                     {"drain, wall", "", "drain_wall_ns"},
                     {"drain, CPU", "", "drain_cpu_ns"}},
                    false);
    if (part == "wall")
        return wall_chart(results);
    if (part == "suspend")
        return bars(part, results, "Suspend: call until it returns", "us",
                    by_kernel_time(cuda::suspend_kernels_us, "return_us"), true);
    if (part == "idle")
        return bars(part, results, "Idle queue", "us",
                    {{"submit until the GPU starts", "", "start_us"},
                     {"submit until a wait returns", "", "wait_us"}},
                    true);
    if (part == "foreground")
        return bars(part, results, "Foreground latency: kernels + background streams", "us",
                    foreground_groups(), true);
    if (part == "markers")
        return bars(part, results, "End of a kernel until it is noticed", "us",
                    {{"event", "event", "polled_us"},
                     {"blocking event", "blocking-event", "polled_us"},
                     {"written value", "written-value", "polled_us"},
                     {"event, waited for", "event", "waited_us"},
                     {"blocking event, waited for", "blocking-event", "waited_us"}},
                    true);
    return bars(part, results, "Driver calls of a command", "calls",
                {{"records, inline", "inline", "event_records"},
                 {"waits, inline", "inline", "event_waits"},
                 {"records, deferred", "deferred", "event_records"},
                 {"waits, deferred", "deferred", "event_waits"}},
                false);
}

} // namespace

std::string chart_of(const std::string& part, const Results& results, bool fake) {
    Chart chart = plain_chart_of(part, results);
    chart.title += fake ? "; fake driver, not a GPU" : "; portable Lv1 engine, NVIDIA, not AMD";
    return draw(chart);
}

} // namespace cuda_report
