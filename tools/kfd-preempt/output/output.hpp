// SPDX-License-Identifier: MIT
// Tables for people, JSON for programs, and the one place that writes them.
#pragma once

#include "output/report.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace cli {

class Table {
public:
    explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] std::string text() const;

private:
    std::vector<std::vector<std::string>> rows_;
};

// "schema" first, then what the verb says, then "exit".
std::string json_text(const Report& report);

// Writes the report and answers what the process exits with: the report's own code, or `failed`
// when stdout couldn't take it (a full disk must not look like success).
Exit write_report(const Report& report, bool as_json);

// On standard error, with the name of the command.
void print_message(std::string_view message);

} // namespace cli
