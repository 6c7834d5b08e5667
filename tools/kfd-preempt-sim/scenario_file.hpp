// SPDX-License-Identifier: MIT
// Reads a scenario in TOML.
#pragma once

#include "scenario.hpp"

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

namespace sim {

template <typename T> using Answer = tl::expected<T, std::string>; // or an error message

// "KEY=VALUE" of the command line: the key as in the file with dots between, a job by its name.
// Without a value the key is left out.
struct Setting {
    std::string key, value;
};
[[nodiscard]] Answer<Setting> parse_setting(std::string_view text);

using OptionalPlugin = std::optional<sched::Plugin>;

// The error names each wrong key with FILE:LINE:COLUMN. Paths of traces are relative to the file.
// The plug-in becomes one of the scenario's policies, with the parameters of its table.
[[nodiscard]] Answer<Scenario> parse_scenario(std::string_view text,
                                              const std::filesystem::path& file,
                                              std::span<const Setting> settings = {},
                                              const OptionalPlugin& plugin = {});
[[nodiscard]] Answer<Scenario> read_scenario(const std::filesystem::path& file,
                                             std::span<const Setting> settings = {},
                                             const OptionalPlugin& plugin = {});

// A built-in name, or a path: with a slash or ".toml".
[[nodiscard]] std::filesystem::path scenario_path(const std::string& name);
[[nodiscard]] std::vector<std::string> built_in_scenarios();
// Directory of the built-in scenarios; empty if there is none.
[[nodiscard]] std::filesystem::path scenario_directory();

} // namespace sim
