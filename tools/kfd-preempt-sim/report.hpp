// SPDX-License-Identifier: MIT
// Comparisons as tables, CSV and a chart.
#pragma once

#include "charts/chart.hpp"
#include "charts/table.hpp"
#include "comparison.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sim {

// Every row of ours says that it is simulated; published figures name their hardware.
enum class Detail : std::uint8_t { jobs, bands };
[[nodiscard]] charts::Table table_of(const Comparison& comparison, Detail detail);
// Tokens of language model servers.
[[nodiscard]] charts::Table token_table_of(const Comparison& comparison);
// A line for each value of a sweep and policy, with the first and the last band side by side.
[[nodiscard]] charts::Table sweep_table_of(std::span<const Comparison> comparisons,
                                           const std::string& key);
// Cells padded to the width of their column: Markdown that can be read on a terminal.
[[nodiscard]] std::string aligned(const charts::Table& table);

[[nodiscard]] std::string csv_of(std::span<const Comparison> comparisons);

// A column of the tables, of one row of each run.
struct Quantity {
    std::string_view name, title;
    enum class Of : std::uint8_t { first_band, last_band, all } of;
    double Measures::* field;
};
[[nodiscard]] std::span<const Quantity> quantities();
[[nodiscard]] const Quantity* quantity_named(std::string_view name);
// Groups are the comparisons, series the policies.
[[nodiscard]] charts::Chart chart_of(std::span<const Comparison> comparisons,
                                     const Quantity& quantity, std::string title);

} // namespace sim
