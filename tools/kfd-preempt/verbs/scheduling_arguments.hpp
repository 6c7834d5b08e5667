// SPDX-License-Identifier: MIT
// The command line of the verbs that ask xpreemptd.
#pragma once

#include "daemon/scheduling.hpp"

#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

struct SchedulingArguments {
    std::map<std::string_view, std::string> attributes; // words of the options that set them
    std::string job;                                    // PID or NAME
    std::string policy;                                 // empty: show it
    std::string focus;                                  // PID or "none"
    std::string output;                                 // a file; empty: standard output
    double seconds = 0;                                 // 0: until a signal
    bool if_possible = false;
    std::vector<std::string> command; // all behind --
};

// Cuts the words behind `run ... --` off, which aren't for the parser, and returns how many stay.
int take_command(int argc, char** argv, SchedulingArguments& arguments);

using AddVerb = std::function<CLI::App*(const char* name, const char* what,
                                        std::function<Report(const Context&)> body)>;
void add_scheduling_verbs(const AddVerb& verb, SchedulingArguments& arguments);

// Checks that need several arguments. Throws CLI::ValidationError.
void check_scheduling(const CLI::App& app, const SchedulingArguments& arguments);

} // namespace cli
