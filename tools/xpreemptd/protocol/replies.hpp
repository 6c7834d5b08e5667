// SPDX-License-Identifier: MIT
// Replies of the daemon's socket: written by the daemon, read by its clients (see requests.hpp).
#pragma once

#include "protocol/control.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace xpreemptd {

// Every text fits into one message.
[[nodiscard]] std::string done_reply();
[[nodiscard]] std::string refusal_reply(const Refusal& refusal);
[[nodiscard]] std::string status_reply(const StatusReport& status);
// Jobs with ids from `from` on, as many as fit.
[[nodiscard]] std::string jobs_reply(std::vector<JobReport> jobs, std::uint64_t from);

// As many of its records as fit; "next" is changed to what doesn't.
[[nodiscard]] std::string trace_reply(const TracePage& page);

struct ListedJob {
    JobReport report;            // with the first of its pids
    std::uint64_t processes = 0; // all of them
};
struct JobPage {
    std::vector<ListedJob> jobs;
    std::optional<std::uint64_t> next; // where the next page begins
};

// The refusal is the daemon's, or EPROTO for a reply that is none.
[[nodiscard]] Answer<void> parse_done(std::string_view message);
[[nodiscard]] Answer<StatusReport> parse_status_reply(std::string_view message);
[[nodiscard]] Answer<JobPage> parse_jobs_reply(std::string_view message);
[[nodiscard]] Answer<TracePage> parse_trace_reply(std::string_view message);

[[nodiscard]] nlohmann::ordered_json json_of(const ListedJob& job);
[[nodiscard]] nlohmann::ordered_json json_of(const StatusReport& status);

// "idle", "running", "held", "held_by_others", "not_schedulable".
[[nodiscard]] std::string_view name_of(JobState state);

} // namespace xpreemptd
