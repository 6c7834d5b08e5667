// SPDX-License-Identifier: MIT
// Result of one queue of a SWITCH: a line for people, an object for programs.
#pragma once

#include "target.hpp"

#include <kfd_preempt.h>

namespace cli {

struct QueueAnswer {
    std::uint32_t gpu_id = 0;
    std::string type;
    const char* outcome = ""; // stable word of the JSON; empty: still to be tried
    int errno_value = 0;
    bool failed = false;
    bool answered = false; // entry has state and holds as the driver said them
    kfd_preempt_switch_entry entry{};
    std::string text{};
};

// "queue 3 of pid 12 (demo)"
std::string queue_name(std::uint32_t queue_id, const Target& target);

// The queue is off the hardware; done: "suspended".
std::string stopped_text(const std::string& name, const char* done,
                         const kfd_preempt_switch_entry& entry);

// Our hold is gone; done: "resumed", released: the word when others still hold it.
std::string started_text(const std::string& name, const char* done, const char* released,
                         const kfd_preempt_switch_entry& entry);

// Adds it to `queues` of the JSON, behind what item has already; its text to stdout, or to the
// messages when it failed. exit becomes failed, or permission while nothing else went wrong.
void tell(Report& report, Json item, const QueueAnswer& answer);

} // namespace cli
