// SPDX-License-Identifier: MIT
// Draws grouped bars with an axis of round numbers.
#include "chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace charts {

namespace {

constexpr double width = 960, height = 420, left = 80, right = 20, bottom = 50;
constexpr double legend_top = 32, legend_line = 16, legend_width = 125;
constexpr std::size_t legend_columns = 7;
constexpr std::array<const char*, 18> colours{"#7f7f7f", "#bcbd22", "#1f77b4", "#ff7f0e", "#2ca02c",
                                              "#d62728", "#9467bd", "#8c564b", "#e377c2", "#17becf",
                                              "#393b79", "#637939", "#8c6d31", "#843c39", "#7b4173",
                                              "#3182bd", "#e6550d", "#31a354"};

// The range of an axis, and where a value is on it.
struct Axis {
    double least, most;
    bool logarithmic;
    double top = 70; // below the legend

    [[nodiscard]] double y(double value) const {
        const double part = logarithmic
                                ? std::log(std::max(value, least) / least) / std::log(most / least)
                                : (value - least) / (most - least);
        return height - bottom - std::clamp(part, 0.0, 1.0) * (height - top - bottom);
    }
};

Axis range_of(const Chart& chart) {
    double least = std::numeric_limits<double>::infinity(), most = -least;
    for (const Series& series : chart.series)
        for (const auto* values : {&series.values, &series.marks})
            for (const double value : *values)
                if (std::isfinite(value) && (value > 0 || !chart.logarithmic)) {
                    least = std::min(least, value);
                    most = std::max(most, value);
                }
    if (most < least)
        return {chart.logarithmic ? 1.0 : 0.0, 10, chart.logarithmic};
    if (!chart.logarithmic)
        return {std::min(least, 0.0), std::max(most, least + 1), false};
    return {std::pow(10, std::floor(std::log10(least))),
            std::pow(10, std::floor(std::log10(most)) + 1), true};
}

Axis axis_of(const Chart& chart) {
    Axis axis = range_of(chart);
    const std::size_t lines = chart.series.empty() ? 0 : (chart.series.size() - 1) / legend_columns;
    axis.top += legend_line * static_cast<double>(lines);
    return axis;
}

std::vector<double> ticks_of(const Axis& axis) {
    std::vector<double> ticks;
    const int steps =
        axis.logarithmic ? static_cast<int>(std::lround(std::log10(axis.most / axis.least))) : 5;
    for (int i = 0; i <= steps; ++i)
        ticks.push_back(axis.logarithmic ? axis.least * std::pow(10, i)
                                         : axis.least + (axis.most - axis.least) * i / steps);
    return ticks;
}

std::string text(double x, double y, const char* anchor, const std::string& words) {
    return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>\n", x, y,
                       anchor, words);
}

std::string frame(const Chart& chart, const Axis& axis) {
    std::string out =
        fmt::format("<!-- SPDX-License-Identifier: MIT -->\n<svg "
                    "xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
                    "font-family=\"sans-serif\" font-size=\"12\">\n"
                    "<rect width=\"{0:.0f}\" height=\"{1:.0f}\" fill=\"white\"/>\n",
                    width, height);
    out +=
        fmt::format("<text x=\"{:.0f}\" y=\"20\" font-size=\"15\">{}</text>\n", left, chart.title);
    for (const double tick : ticks_of(axis)) {
        out += fmt::format("<line x1=\"{:.0f}\" x2=\"{:.0f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" "
                           "stroke=\"#dddddd\"/>\n",
                           left, width - right, axis.y(tick), axis.y(tick));
        out += text(left - 6, axis.y(tick) + 4, "end", fmt::format("{:g}", tick));
    }
    return out + text(10, axis.top - 10, "start", chart.unit);
}

std::string bar(const Axis& axis, double x, double bar_width, double value, const char* colour) {
    const double base = axis.y(axis.logarithmic ? axis.least : 0);
    const double end = axis.y(value);
    return fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" "
                       "fill=\"{}\"/>\n",
                       x, std::min(base, end), bar_width, std::fabs(base - end), colour);
}

} // namespace

std::string draw(const Chart& chart) {
    const Axis axis = axis_of(chart);
    std::string out = frame(chart, axis);
    const auto groups = static_cast<double>(std::max<std::size_t>(chart.groups.size(), 1));
    const double group_width = (width - left - right) / groups;
    const double bar_width =
        group_width * 0.8 / static_cast<double>(std::max<std::size_t>(chart.series.size(), 1));
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
        const Series& series = chart.series[s];
        const char* colour = colours[series.colour % colours.size()];
        const double legend = left + static_cast<double>(s % legend_columns) * legend_width;
        const std::size_t row = s / legend_columns;
        const double line = legend_top + static_cast<double>(row) * legend_line;
        out += fmt::format(
            "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n", legend,
            line, colour);
        out += text(legend + 14, line + 10, "start", series.name);
        for (std::size_t g = 0; g < chart.groups.size(); ++g) {
            const double x = left + group_width * (static_cast<double>(g) + 0.1) +
                             bar_width * static_cast<double>(s);
            if (g < series.values.size() && std::isfinite(series.values[g]))
                out += bar(axis, x, bar_width * 0.9, series.values[g], colour);
            if (g < series.marks.size() && std::isfinite(series.marks[g]))
                out += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" "
                                   "stroke=\"black\" stroke-width=\"2\"/>\n",
                                   x, x + bar_width * 0.9, axis.y(series.marks[g]),
                                   axis.y(series.marks[g]));
        }
    }
    for (std::size_t g = 0; g < chart.groups.size(); ++g)
        out += text(left + group_width * (static_cast<double>(g) + 0.5), height - bottom + 20,
                    "middle", chart.groups[g]);
    return out + "</svg>\n";
}

} // namespace charts
