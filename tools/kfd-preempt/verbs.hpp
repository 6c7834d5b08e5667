// SPDX-License-Identifier: MIT
// The verbs of kfd-preempt; each is a file of its own and answers with a report.
#pragma once

#include "context.hpp"
#include "report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cli {

struct QueueSelection {
    pid_t pid;
    std::vector<std::uint32_t> queue_ids; // empty: all compute queues
};

// As the command line has it: the cgroup itself, or the container whose cgroup it is.
struct CgroupName {
    std::string cgroup = {};
    std::string container = {};
};

// With a pid, also what each of its queues can be made to do.
Report doctor(const Context& context, std::optional<pid_t> pid = std::nullopt);
Report list(const Context& context, const std::vector<pid_t>& pids);
// attach: as long as the report lives, else until resume. yield: its VRAM as well.
Report suspend(const Context& context, const QueueSelection& selection, bool attach = false,
               bool yield = false);
Report resume(const Context& context, const QueueSelection& selection, bool force);
Report status(const Context& context, const QueueSelection& selection);
// For a cgroup and all below it. partial: keep what could be held when some couldn't. yield: move
// the VRAM of its processes, too; memory that stays is said, and is no failure.
Report freeze(const Context& context, const CgroupName& name, bool partial, bool yield = false);
Report thaw(const Context& context, const CgroupName& name);
Report version(const Context& context);

} // namespace cli
