// SPDX-License-Identifier: MIT
// The commands, each with its arguments.
#pragma once

#include "scenario_file.hpp"

#include <string>
#include <vector>

namespace sim {

struct Common {
    std::vector<std::string> policies; // empty: all
    std::optional<std::uint32_t> seed;
    std::vector<std::string> settings; // KEY=VALUE
    std::string csv, svg, quantity = "mean";
    unsigned threads = 2;
    bool switches = false; // of a replay: the calls of the driver, recorded and simulated
    bool jobs = false;     // a row for each job, and not for each band
    bool progress = false; // also if standard error is no terminal
    std::string plugin;    // a file; empty: none
};

// Text for standard output, or an error message.
[[nodiscard]] Answer<std::string> run_command(const std::string& scenario, const Common& common);
[[nodiscard]] Answer<std::string> compare_command(const std::vector<std::string>& scenarios,
                                                  const Common& common);
[[nodiscard]] Answer<std::string> sweep_command(const std::string& scenario,
                                                const std::string& vary, const Common& common);
[[nodiscard]] Answer<std::string> replay_command(const std::string& recording,
                                                 const Common& common);
[[nodiscard]] Answer<std::string> list_command(const Common& common);
[[nodiscard]] Answer<std::string> bench_command();

// Scenarios of `compare --suite papers`, in order.
[[nodiscard]] const std::vector<std::string>& papers();

// The policies that were asked for, or all with the plug-in, if there is one.
struct Chosen {
    std::vector<std::string> policies;
    OptionalPlugin plugin;
};
[[nodiscard]] Answer<Chosen> chosen_policies(const Common& common);
[[nodiscard]] Answer<std::vector<Setting>> parsed_settings(const Common& common);

} // namespace sim
