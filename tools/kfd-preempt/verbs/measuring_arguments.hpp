// SPDX-License-Identifier: MIT
// The command line of the verbs that measure.
#pragma once

#include "verbs/measure.hpp"
#include "verbs/scheduling_arguments.hpp"

#include <cstdint>
#include <string>

namespace cli {

struct MeasuringArguments {
    std::string pid;
    std::uint64_t count = MeasureOptions{}.count;
    std::uint64_t interval_ms = static_cast<std::uint64_t>(MeasureOptions{}.interval.count());
};

// check_pid returns what is wrong with a word that should be a pid, or nothing.
void add_measuring_verbs(const AddVerb& verb, MeasuringArguments& arguments,
                         std::string (*check_pid)(const std::string& word));

} // namespace cli
