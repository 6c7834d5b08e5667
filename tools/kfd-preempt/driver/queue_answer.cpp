// SPDX-License-Identifier: MIT
// Result of one queue of a SWITCH: a line for people, an object for programs.
#include "driver/queue_answer.hpp"

#include "output/names.hpp"
#include "processes/error_messages.hpp"

#include <cerrno>
#include <fmt/format.h>

namespace cli {

const char* word_of(QueueOutcome outcome) {
    switch (outcome) {
    case QueueOutcome::untried: return "";
    case QueueOutcome::suspended: return "suspended";
    case QueueOutcome::resumed: return "resumed";
    case QueueOutcome::frozen: return "frozen";
    case QueueOutcome::thawed: return "thawed";
    case QueueOutcome::undone: return "undone";
    case QueueOutcome::already: return "already";
    case QueueOutcome::pending: return "pending";
    case QueueOutcome::skipped: return "skipped";
    case QueueOutcome::kept: return "kept";
    case QueueOutcome::gone: return "gone";
    case QueueOutcome::failed: return "failed";
    }
    return "";
}

bool is_gone(int errno_value) {
    return errno_value == ENOENT || errno_value == ESTALE || errno_value == ESRCH;
}

QueueOutcome outcome_of(int errno_value, QueueOutcome done) {
    if (is_gone(errno_value))
        return QueueOutcome::gone;
    switch (errno_value) {
    case 0: return done;
    case EALREADY: return QueueOutcome::already;
    case ETIME: return QueueOutcome::pending;
    default: return QueueOutcome::failed;
    }
}

std::string stopped_text(const std::string& name, const char* done,
                         const kfd_preempt_switch_entry& entry) {
    // Without a latency it was off the hardware before.
    return entry.latency_ns == 0
               ? fmt::format("{}: {}", name, done)
               : fmt::format("{}: {} in {}", name, done, duration_text(entry.latency_ns));
}

std::string started_text(const std::string& name, const char* done, const char* released,
                         const kfd_preempt_switch_entry& entry) {
    if (entry.holds != 0)
        return fmt::format("{}: {}, but still held by {}", name, released,
                           words_or_dash(hold_names(entry.holds)));
    return fmt::format("{}: {}{}", name, done,
                       entry.state == KFD_PREEMPT_STATE_INACTIVE
                           ? ", but KFD keeps it off the hardware for a reason of its own "
                             "(evicted, 0 percent, debugger)"
                           : "");
}

void append_to_report(Report& report, Json item, const QueueAnswer& answer) {
    item["gpu_id"] = answer.gpu_id;
    item["type"] = answer.type;
    item["outcome"] = word_of(answer.outcome);
    item["errno"] = answer.errno_value == 0 ? Json(nullptr) : Json(errno_name(answer.errno_value));
    item["state"] = answer.answered ? Json(state_name(answer.entry.state)) : Json(nullptr);
    item["holds"] = answer.answered ? Json(hold_names(answer.entry.holds)) : Json(nullptr);
    item["latency_ns"] = answer.entry.latency_ns;
    item["message"] = answer.text;
    report.json["queues"].push_back(std::move(item));
    if (!answer.failed) {
        report.text += answer.text + "\n";
        return;
    }
    report.messages.push_back(answer.text);
    const bool only_permission = report.exit == Exit::ok || report.exit == Exit::permission;
    report.exit = only_permission && exit_of(answer.errno_value) == Exit::permission
                      ? Exit::permission
                      : Exit::failed;
}

} // namespace cli
