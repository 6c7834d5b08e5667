// SPDX-License-Identifier: MIT
// Arrivals in a CSV file, as the Azure LLM inference traces or one time a line.
#pragma once

#include "scenario_file.hpp"

namespace sim {

// The header names the columns: TIMESTAMP ("2023-11-16 18:17:03.979", or seconds), and, where they
// are known, ContextTokens, GeneratedTokens, and Work in seconds of the GPU. Other columns are
// ignored. The first arrival is at 0.
[[nodiscard]] Answer<std::vector<TraceEntry>> parse_trace(std::string_view text,
                                                          const std::string& file);
[[nodiscard]] Answer<std::vector<TraceEntry>> read_trace(const std::filesystem::path& file);

} // namespace sim
