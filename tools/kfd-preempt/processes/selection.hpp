// SPDX-License-Identifier: MIT
// Names that the command line gives: queues of a process, a cgroup or its container.
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cli {

struct QueueSelection {
    pid_t pid;
    std::vector<std::uint32_t> queue_ids; // empty: all compute queues
};

// The cgroup itself, or the container whose cgroup it is.
struct CgroupName {
    std::string cgroup = {};
    std::string container = {};
};

} // namespace cli
