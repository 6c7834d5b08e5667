// SPDX-License-Identifier: MIT
// Result of one queue of a SWITCH: a line for people, an object for programs.
#pragma once

#include "output/report.hpp"

#include <cstdint>
#include <kfd_preempt.h>
#include <string>

namespace cli {

enum class QueueOutcome : std::uint8_t {
    untried, // no call has answered for the queue yet
    suspended,
    resumed,
    frozen,
    thawed,
    undone,
    already,
    pending,
    skipped,
    kept,
    gone,
    failed,
};

// The stable word of the JSON.
const char* word_of(QueueOutcome outcome);

// The process or the queue has gone since it was scanned: nothing is left to stop or to start.
bool is_gone(int errno_value);

// Classifies the errno of an entry; done: the outcome of success.
QueueOutcome outcome_of(int errno_value, QueueOutcome done);

struct QueueAnswer {
    std::uint32_t gpu_id = 0;
    std::string type;
    QueueOutcome outcome = QueueOutcome::untried;
    int errno_value = 0;
    bool failed = false;
    bool answered = false; // entry has state and holds as the driver said them
    kfd_preempt_switch_entry entry{};
    std::string text{};
};

// The queue is off the hardware; done: "suspended".
std::string stopped_text(const std::string& name, const char* done,
                         const kfd_preempt_switch_entry& entry);

// Our hold is gone; done: "resumed", released: the word when others still hold it.
std::string started_text(const std::string& name, const char* done, const char* released,
                         const kfd_preempt_switch_entry& entry);

// Adds it to `queues` of the JSON, behind what item has already; its text to stdout, or to the
// messages when it failed. exit becomes failed, or permission while nothing else went wrong.
void append_to_report(Report& report, Json item, const QueueAnswer& answer);

} // namespace cli
