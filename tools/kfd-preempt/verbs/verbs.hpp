// SPDX-License-Identifier: MIT
// The verbs of kfd-preempt; each is a file of its own and answers with a report.
#pragma once

#include "output/context.hpp"
#include "output/report.hpp"
#include "processes/selection.hpp"

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

namespace cli {

// With a pid, also what each of its queues can be made to do.
Report doctor(const Context& context, std::optional<pid_t> pid = std::nullopt);
Report list(const Context& context, const std::vector<pid_t>& pids);
struct SuspendOptions {
    bool attach = false;              // as long as the report lives, else until resume
    bool yield = false;               // its VRAM as well
    bool drain = false, kill = false; // running waves end, or are killed; else they are saved
    bool all_or_nothing = false;      // of the queues that there are, on one GPU
    std::uint32_t timeout_ms = 0;     // 0: the driver's
};
Report suspend(const Context& context, const QueueSelection& selection,
               const SuspendOptions& options = {});
Report resume(const Context& context, const QueueSelection& selection, bool force);
Report status(const Context& context, const QueueSelection& selection);
// For a cgroup and all below it. partial: keep what could be held when some couldn't. yield: move
// the VRAM of its processes, too; memory that stays is said, and is no failure.
Report freeze(const Context& context, const CgroupName& name, bool partial, bool yield = false);
Report thaw(const Context& context, const CgroupName& name);
Report version(const Context& context);

} // namespace cli
