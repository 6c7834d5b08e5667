// SPDX-License-Identifier: MIT
// Whether libxpreempt-hook.so sees the packets of the processes that it is loaded in.
#pragma once

#include "output/context.hpp"

#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cli {

struct HookSight {
    std::string text;
    std::string fix; // empty if nothing is wrong
};

// One for each process with KFD queues that has a control socket or the hook loaded; with a pid,
// of that process alone. None where pids aren't KFD's.
std::vector<HookSight> sight_of_hooks(const Context& context, std::optional<pid_t> pid);

} // namespace cli
