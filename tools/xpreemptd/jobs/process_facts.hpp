// SPDX-License-Identifier: MIT
// Facts from /proc about a process that uses the GPU.
#pragma once

#include "base/error.hpp"
#include "kfd/roots.hpp"

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace xpreemptd {

namespace kfd = xpreempt::kfd;

struct ProcessFacts {
    pid_t pid = 0;
    std::uint64_t start_ticks = 0; // since boot: with the pid it names a process for ever
    pid_t parent = 0;
    uid_t uid = 0; // effective
    std::string comm;
    std::string executable; // empty if /proc doesn't show it
    // From the root of its hierarchy, "/" in front; empty if /proc doesn't show it. With version 1
    // the path of the hierarchy in which a container engine or a batch system has put the process,
    // else of systemd's.
    std::string cgroup;
    // As slurmd's prolog wrote it for the job, see deploy/slurm; empty if it didn't.
    std::string slurm_partition = {};
    // Higher ones come first: 100 + its real-time priority, 200 with a deadline, else -nice.
    std::int32_t cpu_priority = 0;
    // The pipes at the descriptors of run_mark.hpp, the innermost run's last.
    std::vector<std::string> run_marks = {};

    bool operator==(const ProcessFacts&) const = default;
};

struct ProcessOrigin {
    pid_t parent = 0;
    std::uint64_t start_ticks = 0;
    std::int32_t cpu_priority = 0; // as that of ProcessFacts

    bool operator==(const ProcessOrigin&) const = default;
};

// ESRCH if there is no such process, or if its files aren't what the kernel writes.
xpreempt::Result<ProcessFacts> facts_of(const kfd::Roots& roots, pid_t pid);
// The same with one file read, for a walk to the ancestors.
xpreempt::Result<ProcessOrigin> origin_of(const kfd::Roots& roots, pid_t pid);

} // namespace xpreemptd
