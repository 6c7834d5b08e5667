// SPDX-License-Identifier: MIT
// The whole report: facts, caveats, tables; and its files.
#pragma once

#include "results.hpp"

#include <string>
#include <vector>

namespace cuda_report {

// The parts that are in the results, in order.
std::vector<std::string> parts_in(const Results& results);

// As Markdown.
std::string report_of(const Results& results, const RunFacts& facts);

// Writes report.md, and samples-PART.csv and PART.svg for each part. Returns an error message, or
// "".
std::string write_files(const std::string& directory, const Results& results,
                        const RunFacts& facts);

// Reads each samples-*.csv of the directory. Returns an error message, or "".
std::string read_files(const std::string& directory, Results& results, RunFacts& facts);

} // namespace cuda_report
