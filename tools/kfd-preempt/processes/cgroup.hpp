// SPDX-License-Identifier: MIT
// From a cgroup on the command line to the processes in it and below it.
#pragma once

#include "output/context.hpp"
#include "output/outcome.hpp"

#include <string>
#include <sys/types.h>
#include <vector>

namespace cli {

// A cgroup of version 2, or on a machine with version 1 in the hierarchy of its freezer.
struct Cgroup {
    std::filesystem::path directory;
    std::string path; // from the root of the hierarchy, "/" in front, as /proc/PID/cgroup has it

    [[nodiscard]] std::string name() const; // "cgroup /system.slice"
};

// word: the directory as it is mounted, or the path in the hierarchy with or without "/" in front.
// Whether there is such a cgroup isn't looked at: it may be gone while its queues are still held.
Outcome<Cgroup> cgroup_of(const Context& context, const std::string& word);

// Pids in the cgroup and all below it, ascending. Skips a cgroup that is removed meanwhile.
Outcome<std::vector<pid_t>> processes_of(const Cgroup& cgroup);

// Returns the path from /proc/PID/cgroup, "/a/b"; empty if there is none.
std::string cgroup_path_of(const Context& context, pid_t pid);

} // namespace cli
