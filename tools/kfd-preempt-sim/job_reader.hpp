// SPDX-License-Identifier: MIT
// Reads the tables of jobs in a scenario.
#pragma once

#include "constants.hpp"
#include "scenario_file.hpp"
#include "xpreemptd/toml/toml_table.hpp"

namespace sim {

[[nodiscard]] JobSpec read_job(xpreemptd::TomlTable table, const std::filesystem::path& file,
                               const GpuModel& gpu);

// Any string that isn't empty.
[[nodiscard]] xpreemptd::Format<std::string> text_format();
// Leaves `value` as it is if the key is missing or wrong. Returns whether the key is there.
bool read_time(xpreemptd::TomlTable& table, std::string_view key, std::chrono::nanoseconds least,
               std::chrono::nanoseconds most, Time& value);

} // namespace sim
