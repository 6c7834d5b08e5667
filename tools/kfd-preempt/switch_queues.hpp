// SPDX-License-Identifier: MIT
// Shared by suspend and resume: choose queues, send SWITCH, report each result.
#pragma once

#include "error_messages.hpp"
#include "verbs.hpp"

namespace cli {

struct SwitchPlan {
    Verb verb;
    std::uint16_t op;
    std::uint16_t preempt_type;
    std::uint32_t flags; // of SWITCH; TARGET_PID is added
    bool attach = false; // the driver stays open, and with it what is held, as long as the report
    bool yields = false; // its VRAM as well, once all is held
};

Report switch_queues(const Context& context, const QueueSelection& selection,
                     const SwitchPlan& plan);

} // namespace cli
