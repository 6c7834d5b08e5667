// SPDX-License-Identifier: MIT
// How far a queue can be stopped on this machine, by whom, and why not further.
#pragma once

#include "kfd/module.hpp"
#include "kfd/sysfs.hpp"
#include "output/context.hpp"
#include "output/report.hpp"

#include <kfd_preempt.h>
#include <optional>
#include <string>

namespace cli {

// XSched's levels; nothing of an SDMA queue or of the driver's own can be held.
enum class Level : std::uint8_t { none = 0, block = 1, deactivate = 2, interrupt = 3 };

struct QueueLevel {
    Level level = Level::none;
    const char* by = "-"; // who can: this command, or the program itself with libxpreempt
    std::string reason;   // why not further; empty for the best
};

const char* level_name(Level level);

// query: of the queue's GPU, when the driver has preemption.
QueueLevel level_of(kfd::QueueType type, const kfd::LoadedModule& module,
                    const std::optional<kfd_ioctl_preempt_query_args>& query);

// One sentence, and the same for programs. Predicted: nothing is stopped to find out.
struct CostReport {
    std::string text;
    Json json;
};
CostReport predicted_cost(const Context& context, std::uint32_t gpu_id);

} // namespace cli
