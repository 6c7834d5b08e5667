// SPDX-License-Identifier: MIT
// Processes that `kfd-preempt run` announced: each is a job with all that it starts.
#pragma once

#include "jobs/job_identity.hpp"
#include "protocol/attributes.hpp"

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xpreemptd {

struct Run {
    ProcessName process;
    Choices choices;
    uid_t uid = 0;
    std::string mark = {}; // the pipe that everything inherits that it starts; empty: none

    bool operator==(const Run&) const = default;
};

class Runs {
public:
    static constexpr std::size_t most_of_user = 256, most = 4096;

    [[nodiscard]] std::span<const ProcessName> processes() const { return processes_; }
    [[nodiscard]] std::span<const Run> all() const { return runs_; }
    [[nodiscard]] const Run* find(std::string_view key) const; // of its job; null: unknown
    // The run whose mark the process has inherited, the innermost one; null: none. Users may make
    // a pipe with the number of another one, so only those of their own count.
    [[nodiscard]] const Run* find_marked(const ProcessFacts& facts) const;
    // Whether the mark of this run is that of another process.
    [[nodiscard]] bool has_mark_of_other(const Run& run) const;
    // Whether a further run of this user would be added.
    [[nodiscard]] bool has_room(uid_t uid) const;
    // Replaces the run of the same process. Returns false if this user, or all of them, have too
    // many. A tenant may have many uids, so the bound of all is none for root.
    [[nodiscard]] bool add(Run run);
    // Visits a few in turn, each of which costs a file, and forgets those whose process has ended
    // and whose job has, too. Each add() adds one at most, so call it before. Where processes may
    // still have the mark of a run, it is forgotten only to make room for another one of `uid`:
    // then all runs of this user are visited, and the oldest one that has ended is forgotten.
    void forget_ended(uid_t uid, const OriginOf& origin_of,
                      const std::function<bool(const std::string& key)>& has_job);

private:
    [[nodiscard]] bool has_own_room(uid_t uid) const;
    void remove(std::size_t at);

    std::vector<ProcessName> processes_; // parallel to runs_
    std::vector<Run> runs_;              // the oldest first
    std::size_t checked_ = 0;
};

} // namespace xpreemptd
