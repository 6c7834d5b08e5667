// SPDX-License-Identifier: MIT
// A table of figures, printed as Markdown.
#pragma once

#include <string>
#include <vector>

namespace charts {

struct Table {
    std::string title;
    std::vector<std::string> columns; // the first one names the rows
    std::vector<std::vector<std::string>> rows{};
};

std::string markdown(const Table& table);

} // namespace charts
