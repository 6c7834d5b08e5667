// SPDX-License-Identifier: MIT
// The tables of each part, and its chart.
#pragma once

#include "charts/table.hpp"
#include "results.hpp"

#include <string>
#include <vector>

namespace cuda_report {

using charts::Table;

std::vector<Table> tables_of(const std::string& part, const Results& results);

// As SVG. fake: measured on the fake driver.
std::string chart_of(const std::string& part, const Results& results, bool fake);

// The systems that the part measures, in order.
std::vector<std::string> systems_of(const std::string& part);

} // namespace cuda_report
