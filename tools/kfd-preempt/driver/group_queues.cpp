// SPDX-License-Identifier: MIT
// Queues of many processes in one SWITCH, and the report that freeze and thaw give.
#include "driver/group_queues.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <thread>

namespace cli {

bool worth_another_try(const GroupQueue& queue) {
    constexpr unsigned tries_max = 5;
    const int errno_value = queue.errno_value;
    // Without its uid the queue could not be told from a later one.
    return queue.failed && queue.tries < tries_max && (queue.id.uid != 0 || queue.is_process()) &&
           (errno_value == EBUSY || errno_value == ETIME || errno_value == ENOMEM);
}

GroupQueue whole_process(const Target& target) {
    return {{0, "process"}, target, {target.pid, KFD_PREEMPT_ALL_QUEUES, 0}};
}

std::vector<GroupQueue*> waiting(std::vector<GroupQueue>& queues) {
    std::vector<GroupQueue*> some;
    for (GroupQueue& queue : queues)
        if (queue.outcome == QueueOutcome::untried || worth_another_try(queue))
            some.push_back(&queue);
    return some;
}

void pause_before_retry() {
    // A GPU reset takes seconds and isn't waited for; a queue that is being destroyed is.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

bool GroupSwitch::run(const Context& context, const Driver& driver, Verb verb,
                      std::span<GroupQueue* const> queues) {
    const bool stop = verb == Verb::freeze;
    std::vector<kfd_preempt_switch_entry> entries;
    for (const GroupQueue* queue : queues) {
        kfd_preempt_switch_entry entry{};
        entry.queue_id = queue->id.queue_id;
        entry.op = stop ? KFD_PREEMPT_OP_PREEMPT : KFD_PREEMPT_OP_RESUME;
        entry.preempt_type = stop ? KFD_PREEMPT_TYPE_SAVE : 0;
        entry.target_pid = queue->id.pid;
        entry.queue_uid = queue->id.uid;
        entries.push_back(entry);
    }
    const std::size_t done =
        calls.send(driver, KFD_PREEMPT_SWITCH_STICKY | KFD_PREEMPT_SWITCH_MATCH_UID, entries);
    for (std::size_t i = 0; i < queues.size(); ++i) {
        GroupQueue& queue = *queues[i];
        ++queue.tries;
        queue.sent = i < done;
        if (!queue.sent)
            continue;
        queue.entry = entries[i];
        queue.answered = !is_gone(-entries[i].result);
    }
    const auto& error = calls.error();
    if (error)
        failure = driver_failure(context, verb, *error, queues[done]->target);
    return !error;
}

Report group_report(const std::string& cgroup_path, const std::vector<GroupQueue>& queues,
                    const GroupSwitch& sent) {
    Report report;
    report.json["cgroup"] = cgroup_path;
    report.json["queues"] = Json::array();
    for (const GroupQueue& queue : queues) {
        Json item;
        item["pid"] = queue.id.pid;
        item["comm"] = queue.target.comm_json();
        item["queue"] = queue.id.queue_id;
        append_to_report(report, std::move(item), queue);
    }
    report.json["calls"] = sent.calls.count();
    report.json["hw_ns"] = sent.calls.hw_ns();
    return report;
}

} // namespace cli
