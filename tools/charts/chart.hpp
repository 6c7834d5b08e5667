// SPDX-License-Identifier: MIT
// Charts as SVG, on logarithmic axes where figures differ by orders of magnitude.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace charts {

// A value for each group; NaN is left out. The second value, if any, is drawn as a mark.
struct Series {
    std::string name;
    std::size_t colour = 0;
    std::vector<double> values{};
    std::vector<double> marks{};
};

struct Chart {
    std::string title, unit;
    std::vector<std::string> groups;
    std::vector<Series> series{};
    bool logarithmic = true;
};

// Bars, side by side in each group.
std::string draw(const Chart& chart);

} // namespace charts
