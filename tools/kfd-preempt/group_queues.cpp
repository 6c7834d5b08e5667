// SPDX-License-Identifier: MIT
// Queues of many processes in one SWITCH, and the report that freeze and thaw give.
#include "group_queues.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <thread>

namespace cli {

bool is_gone(int errno_value) {
    return errno_value == ENOENT || errno_value == ESTALE || errno_value == ESRCH;
}

bool worth_another_try(const GroupQueue& queue) {
    constexpr unsigned tries_max = 5;
    const int errno_value = queue.errno_value;
    return queue.failed && queue.tries < tries_max &&
           (errno_value == EBUSY || errno_value == ETIME || errno_value == ENOMEM);
}

std::vector<GroupQueue*> waiting(std::vector<GroupQueue>& queues) {
    std::vector<GroupQueue*> some;
    for (GroupQueue& queue : queues)
        if (queue.outcome[0] == '\0' || worth_another_try(queue))
            some.push_back(&queue);
    return some;
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
        for (std::size_t i = 0; i < part.size(); ++i) {
            part[i]->entry = entries[i];
            part[i]->answered = !is_gone(-entries[i].result);
        }
    }
    return true;
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
        tell(report, std::move(item), queue);
    }
    report.json["calls"] = sent.calls;
    report.json["hw_ns"] = sent.hw_ns;
    return report;
}

} // namespace cli
