// SPDX-License-Identifier: MIT
// A finding of doctor, as lines of a terminal and as JSON.
#pragma once

#include "output/report.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

enum class Verdict : std::uint8_t { ok, warn, fail };

// Commands, and a text for what no command can do. A command that is too long for a terminal has
// lines that end in a backslash. Both are empty where nothing is wrong.
struct Fix {
    std::vector<std::string> commands;
    std::string text = {};
};

struct Finding {
    const char* name;
    Verdict verdict;
    std::string text;
    Fix fix = {};
    Exit exit = Exit::ok; // exit status of the command if no earlier finding failed
};

// A line of doctor, wrapped to 80 columns; words that are longer stay whole.
std::string finding_line(std::string_view verdict, std::string_view name, std::string_view text);

Report report_of_findings(const std::vector<Finding>& findings);

} // namespace cli
