// SPDX-License-Identifier: MIT
// The fitted line and its picture.
#include "samples.hpp"

#include "kfd-preempt/output/latency.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace verify {

Fit fit(const std::vector<SizeSamples>& sizes) {
    double n = 0, x_sum = 0, y_sum = 0, xx_sum = 0, xy_sum = 0;
    for (const SizeSamples& size : sizes) {
        const auto times = cli::percentiles(size.stop_ns);
        if (!times)
            continue;
        const auto x = static_cast<double>(size.bytes);
        const auto y = static_cast<double>(times->p50);
        n += 1;
        x_sum += x;
        y_sum += y;
        xx_sum += x * x;
        xy_sum += x * y;
    }
    const double spread = n * xx_sum - x_sum * x_sum;
    if (n < 2 || spread <= 0)
        return {};
    const double slope = (n * xy_sum - x_sum * y_sum) / spread;
    if (slope <= 0)
        return {};
    return {true, (y_sum - slope * x_sum) / n, 1 / slope};
}

namespace {

constexpr double width = 640, height = 400, left = 70, right = 20, top = 30, bottom = 50;

struct Scale {
    double bytes_max, ns_max;
    [[nodiscard]] double x(double bytes) const {
        return left + bytes / bytes_max * (width - left - right);
    }
    [[nodiscard]] double y(double ns) const {
        return height - bottom - ns / ns_max * (height - top - bottom);
    }
};

// 1, 2 or 5 times a power of ten: at most ten of them up to the end.
double tick(double end) {
    const double power = std::pow(10, std::floor(std::log10(end)));
    for (const double step : {0.1, 0.2, 0.5, 1.0})
        if (end / (step * power) <= 10)
            return step * power;
    return power;
}

std::string axes(const Scale& scale) {
    std::string svg;
    const double mib = 1 << 20, us = 1000;
    const double x_step = tick(scale.bytes_max / mib), y_step = tick(scale.ns_max / us);
    for (int i = 0; i * x_step <= scale.bytes_max / mib; ++i)
        svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{:g}</text>\n",
                           scale.x(i * x_step * mib), height - bottom + 18, i * x_step);
    for (int i = 0; i * y_step <= scale.ns_max / us; ++i)
        svg +=
            fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>{:g}</text>\n"
                        "<line x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}' stroke='#ddd'/>\n",
                        left - 6, scale.y(i * y_step * us) + 4, i * y_step, left, width - right,
                        scale.y(i * y_step * us), scale.y(i * y_step * us));
    svg += fmt::format("<text x='{:.0f}' y='{:.0f}' text-anchor='middle'>MiB to save</text>\n",
                       width / 2, height - 12);
    svg += fmt::format("<text x='{:.0f}' y='{:.0f}'>stop, µs</text>\n", 10.0, 18.0);
    return svg;
}

std::string line(const Scale& scale, double fixed_ns, double bytes_per_ns, const char* style) {
    // Cut where it leaves the picture.
    const double end = std::min(scale.bytes_max, (scale.ns_max - fixed_ns) * bytes_per_ns);
    return fmt::format("<line x1='{:.1f}' y1='{:.1f}' x2='{:.1f}' y2='{:.1f}' {}/>\n", scale.x(0),
                       scale.y(std::max(fixed_ns, 0.0)), scale.x(end),
                       scale.y(fixed_ns + end / bytes_per_ns), style);
}

} // namespace

std::string plot(const std::vector<SizeSamples>& sizes, const Fit& fitted,
                 double predicted_bytes_per_ns) {
    Scale scale{1, 1};
    for (const SizeSamples& size : sizes) {
        scale.bytes_max = std::max(scale.bytes_max, static_cast<double>(size.bytes) * 1.05);
        for (const std::uint64_t ns : size.stop_ns)
            scale.ns_max = std::max(scale.ns_max, static_cast<double>(ns) * 1.05);
    }
    std::string svg =
        fmt::format("<svg xmlns='http://www.w3.org/2000/svg' width='{0:.0f}' height='{1:.0f}' "
                    "viewBox='0 0 {0:.0f} {1:.0f}' font-family='sans-serif' font-size='12'>\n"
                    "<rect width='100%' height='100%' fill='white'/>\n",
                    width, height);
    svg += axes(scale);
    if (predicted_bytes_per_ns > 0)
        svg += line(scale, 0, predicted_bytes_per_ns, "stroke='#888' stroke-dasharray='6 4'");
    if (fitted.valid)
        svg += line(scale, fitted.fixed_ns, fitted.bytes_per_ns, "stroke='#c22'");
    for (const SizeSamples& size : sizes)
        for (const std::uint64_t ns : size.stop_ns)
            svg += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='2' fill='#247' "
                               "fill-opacity='0.4'/>\n",
                               scale.x(static_cast<double>(size.bytes)),
                               scale.y(static_cast<double>(ns)));
    return svg + "</svg>\n";
}

} // namespace verify
