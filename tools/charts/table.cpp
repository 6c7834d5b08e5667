// SPDX-License-Identifier: MIT
// Prints a table.
#include "table.hpp"

namespace charts {

std::string markdown(const Table& table) {
    const auto line = [](const std::vector<std::string>& cells) {
        std::string text = "|";
        for (const std::string& cell : cells)
            text += " " + cell + " |";
        return text + "\n";
    };
    std::string text = "### " + table.title + "\n\n" + line(table.columns) + "|";
    for (std::size_t i = 0; i < table.columns.size(); ++i)
        text += "---|";
    text += "\n";
    for (const auto& row : table.rows)
        text += line(row);
    return text;
}

} // namespace charts
