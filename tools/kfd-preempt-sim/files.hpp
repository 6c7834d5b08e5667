// SPDX-License-Identifier: MIT
// Reads and writes whole files.
#pragma once

#include "scenario_file.hpp"

namespace sim {

// The error names the file and the reason.
[[nodiscard]] Answer<std::string> read_file(const std::filesystem::path& file,
                                            std::size_t most_bytes);
[[nodiscard]] Answer<void> write_file(const std::filesystem::path& file, std::string_view text);

} // namespace sim
