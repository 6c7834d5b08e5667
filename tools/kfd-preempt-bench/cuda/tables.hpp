// SPDX-License-Identifier: MIT
// The tables of each part, and its chart.
#pragma once

#include "results.hpp"
#include "table.hpp"

#include <string>
#include <vector>

namespace cuda_report {

std::vector<Table> tables_of(const std::string& part, const Results& results);

// As SVG. fake: measured on the fake driver.
std::string chart_of(const std::string& part, const Results& results, bool fake);

// The systems that the part measures, in order.
std::vector<std::string> systems_of(const std::string& part);

} // namespace cuda_report
