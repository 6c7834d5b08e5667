// SPDX-License-Identifier: MIT
// Keeps runs, choices, the focus, and the jobs of processes for the next daemon.
#pragma once

#include "jobs/job_table.hpp"
#include "scheduling/runs.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace xpreemptd {

// One line of text each. A choice of an owner and a focus name their user; those of jobs in older
// files, which name none, are left out. A process is named by its pid and its start, so what a file
// has of processes that have ended is ignored.
struct KeptState {
    struct KeptJob {
        Choices choices;
        std::optional<uid_t> focus_of = {};
        bool operator==(const KeptJob&) const = default;
    };
    std::vector<Run> runs;
    std::map<std::string, KeptJob, std::less<>> jobs; // by key; those that differ from the rules
    // Those of runs and sessions: their ancestors may have ended. Cgroups name their own jobs.
    std::map<ProcessName, std::string> members; // to the key of the job

    bool operator==(const KeptState&) const = default;
};

[[nodiscard]] KeptState state_of(const Runs& runs, const JobTable& table);
[[nodiscard]] std::string text_of(const KeptState& state);
// Leaves out lines that aren't as text_of() writes them.
[[nodiscard]] KeptState parse_state(std::string_view text);
// Returns an empty state if there is no file, and why not if it cannot be used or is not ours.
[[nodiscard]] tl::expected<KeptState, std::string> read_state(const std::filesystem::path& file);

} // namespace xpreemptd
