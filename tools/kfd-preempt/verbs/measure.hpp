// SPDX-License-Identifier: MIT
// measure: how long stops and resumes of a program's queues take on this machine.
#pragma once

#include "output/context.hpp"
#include "output/report.hpp"

#include <chrono>
#include <cstdint>
#include <sys/types.h>

namespace cli {

struct MeasureOptions {
    std::uint64_t count = 100;
    std::chrono::milliseconds interval{10}; // in which the program runs, before each stop
};

Report measure(const Context& context, pid_t pid, const MeasureOptions& options);

} // namespace cli
