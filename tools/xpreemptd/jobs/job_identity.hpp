// SPDX-License-Identifier: MIT
// Decides which job a process belongs to.
#pragma once

#include "jobs/process_facts.hpp"

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace xpreemptd {

// Names a process for ever; a pid alone is given to another process one day.
struct ProcessName {
    pid_t pid = 0;
    std::uint64_t start_ticks = 0;

    auto operator<=>(const ProcessName&) const = default;
};

struct JobIdentity {
    std::string key;  // equal for processes of one job; differs between jobs, in time too
    std::string name; // for people: the cgroup, "run PID" or "process PID"

    bool operator==(const JobIdentity&) const = default;
};

// Nothing if there is no such process any more.
using OriginOf = std::function<std::optional<ProcessOrigin>(pid_t)>;
// Whether it is still the process with this pid.
[[nodiscard]] bool lives(const ProcessName& process, const OriginOf& origin_of);
// The process with this pid that uses the GPU, or null.
using GpuUserOf = std::function<const ProcessFacts*(pid_t)>;

// The first that holds counts:
// 1. The process, or an ancestor, was announced by `kfd-preempt run`, or the process has inherited
//    the mark of such a run, whose processes may have ended: the job is that run, the youngest one,
//    whatever the cgroup. Both pid and start time must match.
// 2. The process lives in a cgroup that is a job: see job_cgroup_of(). A cgroup that is made again
//    under its path, as that of a service that restarts, is the same job.
// 3. In a login session the job is a process with its descendants. Its root is the topmost ancestor
//    that uses the GPU, lives in the same cgroup and runs as the same user; else it is the process
//    itself. A parent that doesn't use the GPU joins nothing, or all programs of a shell would be
//    one job; so ranks that mpirun or torchrun starts in a session are jobs of their own, and
//    `kfd-preempt run -- mpirun ...` makes them one. Another user's processes (sudo) are another
//    job, for the owner of a job may change it.
//
// gpu_user_of may know the process itself.
// An orphan has lost its ancestors: its parent is init or a subreaper. So ask once, when the
// process is first seen, and keep the answer for its life.
[[nodiscard]] JobIdentity identity_of(const ProcessFacts& facts, const GpuUserOf& gpu_user_of,
                                      std::span<const ProcessName> runs, const OriginOf& origin_of,
                                      const std::optional<ProcessName>& marked_by = {});

// The key of the job that the cgroup is; empty if it is none, as in a login session.
[[nodiscard]] std::string key_of_cgroup(std::string_view cgroup);
// The key of the job with this name that rules join processes to.
[[nodiscard]] std::string key_of_joined(std::string_view name);
// The identity for the key of a run or of a process; nothing for other keys.
[[nodiscard]] std::optional<JobIdentity> identity_of_key(std::string_view key);
// The key of the job of a run.
[[nodiscard]] std::string key_of_run(const ProcessName& run);

} // namespace xpreemptd
