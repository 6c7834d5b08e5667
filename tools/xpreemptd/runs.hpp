// SPDX-License-Identifier: MIT
// Processes that `kfd-preempt run` announced: each is a job with all that it starts.
#pragma once

#include "attributes.hpp"
#include "job_identity.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xpreemptd {

struct Run {
    ProcessName process;
    std::string group; // of Placement
    Choices choices;

    bool operator==(const Run&) const = default;
};

class Runs {
public:
    [[nodiscard]] std::span<const ProcessName> processes() const { return processes_; }
    [[nodiscard]] std::span<const Run> all() const { return runs_; }
    [[nodiscard]] const Run* find(std::string_view key) const; // of its job; null: unknown
    // Replaces the run of the same process.
    void add(Run run);
    // Visits a few in turn, each of which costs a file, and forgets those whose process has ended
    // and whose job has, too. Each add() adds one at most, so call it before.
    void forget_ended(const OriginOf& origin_of,
                      const std::function<bool(const std::string& key)>& has_job);

private:
    std::vector<ProcessName> processes_; // parallel to runs_
    std::vector<Run> runs_;
    std::size_t checked_ = 0;
};

} // namespace xpreemptd
