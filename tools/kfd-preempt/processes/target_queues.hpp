// SPDX-License-Identifier: MIT
// From a pid on the command line to the queues that are meant.
#pragma once

#include "kfd/sysfs.hpp"
#include "output/outcome.hpp"
#include "processes/target.hpp"

#include <cstdint>
#include <vector>

namespace cli {

struct TargetQueues {
    Target target;
    std::vector<kfd::Queue> queues;
};

// All queues of a process that uses KFD.
Outcome<TargetQueues> queues_of(const Context& context, pid_t pid);

// Those of queue_ids in the order given, or all when none is given.
Outcome<TargetQueues> queues_of(const Context& context, pid_t pid,
                                const std::vector<std::uint32_t>& queue_ids);

} // namespace cli
