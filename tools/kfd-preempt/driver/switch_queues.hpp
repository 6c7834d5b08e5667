// SPDX-License-Identifier: MIT
// Shared by suspend and resume: choose queues, send SWITCH, report each result.
#pragma once

#include "processes/error_messages.hpp"
#include "processes/selection.hpp"

namespace cli {

struct SwitchPlan {
    Verb verb = Verb::suspend;
    std::uint16_t op = 0;
    std::uint16_t preempt_type = 0;
    std::uint32_t flags = 0; // of SWITCH; TARGET_PID is added
    bool attach = false; // the driver stays open, and with it what is held, as long as the report
    bool yields = false; // its VRAM as well, once all is held
    std::uint32_t timeout_ms = 0; // of each call, 0: the driver's

    [[nodiscard]] bool is_all_or_nothing() const {
        return (flags & KFD_PREEMPT_SWITCH_ALL_OR_NOTHING) != 0;
    }
};

Report switch_queues(const Context& context, const QueueSelection& selection,
                     const SwitchPlan& plan);

} // namespace cli
