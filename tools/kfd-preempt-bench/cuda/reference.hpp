// SPDX-License-Identifier: MIT
// Published figures of XSched, beside which ours are printed. Nothing of it runs here.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace cuda_report {

// The cells of a row, in the order of the table's settings.
struct ReferenceRow {
    const char* label;
    std::vector<std::string> cells;
};

// Returns the rows of the table with that name; empty if there are none.
std::span<const ReferenceRow> references(const std::string& table);

extern const char* const reference_source;

} // namespace cuda_report
