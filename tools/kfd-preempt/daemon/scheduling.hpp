// SPDX-License-Identifier: MIT
// The verbs that ask xpreemptd.
#pragma once

#include "output/context.hpp"
#include "output/report.hpp"
#include "xpreemptd/protocol/control.hpp"
#include "xpreemptd/protocol/replies.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

// Doesn't return if the command could be executed. if_possible: execute it also without a daemon,
// or against its refusal.
Report run_command_as_job(const Context& context, const xpreemptd::AttributeChange& change,
                          bool if_possible, const std::vector<std::string>& command);
Report jobs(const Context& context);
Report renice(const Context& context, const xpreemptd::JobSelector& job,
              const xpreemptd::AttributeChange& change);
// The job of that process has the focus of its user from now on; without a pid no job of the caller
// has it, and for root no job at all.
Report focus(const Context& context, std::optional<pid_t> pid);
// To standard output if there is no path.
Report metrics(const Context& context, const std::string& output);
// For so many seconds, 0: until a signal.
Report trace(const Context& context, const std::string& output, double seconds);
// An empty name changes nothing.
Report policy(const Context& context, const std::string& name);

// Says why no job is stopped for another; empty: jobs are.
std::string why_all_run(std::string_view policy, const std::vector<xpreemptd::ListedJob>& jobs);

// -255 to 255; nothing for other texts.
std::optional<std::int32_t> parse_priority(std::string_view text);
// "20ms", "250us", "1s", up to an hour; nothing for other texts.
std::optional<std::chrono::microseconds> parse_deadline(std::string_view text);

} // namespace cli
