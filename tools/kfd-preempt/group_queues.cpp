// SPDX-License-Identifier: MIT
// Queues of many processes in one SWITCH, and the report that freeze and thaw give.
#include "group_queues.hpp"

#include "names.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <thread>

namespace cli {

namespace {

Json json_of(const GroupQueue& queue) {
    const bool answered = queue.entry.state != 0 || queue.entry.holds != 0;
    Json item;
    item["pid"] = queue.id.pid;
    item["comm"] = queue.target.comm_json();
    item["queue"] = queue.id.queue_id;
    item["gpu_id"] = queue.gpu_id;
    item["type"] = queue.type;
    item["outcome"] = queue.outcome;
    item["errno"] = queue.errno_value == 0 ? Json(nullptr) : Json(errno_name(queue.errno_value));
    item["state"] = answered ? Json(state_name(queue.entry.state)) : Json(nullptr);
    item["holds"] = answered ? Json(hold_names(queue.entry.holds)) : Json(nullptr);
    item["latency_ns"] = queue.entry.latency_ns;
    item["message"] = queue.text;
    return item;
}

} // namespace

std::string GroupQueue::name() const {
    return fmt::format("queue {} of {}", id.queue_id, target.name());
}

bool is_gone(int errno_value) {
    return errno_value == ENOENT || errno_value == ESTALE || errno_value == ESRCH;
}

bool worth_another_try(const GroupQueue& queue) {
    constexpr unsigned tries_max = 5;
    const int errno_value = queue.errno_value;
    return queue.failed && queue.tries < tries_max &&
           (errno_value == EBUSY || errno_value == ETIME || errno_value == ENOMEM);
}

void pause_before_retry() {
    // A GPU reset takes seconds and is not waited for; a queue that is being destroyed is.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

bool GroupSwitch::run(const Context& context, const Driver& driver, Verb verb,
                      std::span<GroupQueue* const> queues) {
    const bool stop = verb == Verb::freeze;
    const std::size_t batch = std::max<std::size_t>(driver.query.max_batch, 1);
    for (GroupQueue* queue : queues) {
        queue->entry.result = 1;
        ++queue->tries;
    }
    for (std::size_t first = 0; first < queues.size(); first += batch) {
        const auto part = queues.subspan(first, std::min(batch, queues.size() - first));
        std::vector<kfd_preempt_switch_entry> entries;
        for (const GroupQueue* queue : part) {
            kfd_preempt_switch_entry entry{};
            entry.queue_id = queue->id.queue_id;
            entry.op = stop ? KFD_PREEMPT_OP_PREEMPT : KFD_PREEMPT_OP_RESUME;
            entry.preempt_type = stop ? KFD_PREEMPT_TYPE_SAVE : 0;
            entry.target_pid = queue->id.pid;
            entry.queue_uid = queue->id.uid;
            entries.push_back(entry);
        }
        ++calls;
        const auto done = driver.device.switch_queues(
            KFD_PREEMPT_SWITCH_STICKY | KFD_PREEMPT_SWITCH_MATCH_UID, entries);
        if (!done) {
            failure = driver_failure(context, verb, done.error(), part.front()->target);
            return false;
        }
        hw_ns += done->hw_ns;
        for (std::size_t i = 0; i < part.size(); ++i)
            part[i]->entry = entries[i];
    }
    return true;
}

Report group_report(const std::string& cgroup_path, const std::vector<GroupQueue>& queues,
                    const GroupSwitch& sent) {
    Report report;
    bool all_permission = true;
    report.json["cgroup"] = cgroup_path;
    report.json["queues"] = Json::array();
    for (const GroupQueue& queue : queues) {
        report.json["queues"].push_back(json_of(queue));
        if (queue.failed) {
            report.messages.push_back(queue.text);
            all_permission &= exit_of(queue.errno_value) == Exit::permission;
            report.exit = Exit::failed;
        } else {
            report.text += queue.text + "\n";
        }
    }
    if (report.exit == Exit::failed && all_permission)
        report.exit = Exit::permission;
    report.json["calls"] = sent.calls;
    report.json["hw_ns"] = sent.hw_ns;
    return report;
}

} // namespace cli
