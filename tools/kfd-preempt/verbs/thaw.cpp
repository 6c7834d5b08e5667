// SPDX-License-Identifier: MIT
// thaw: releases what freeze holds for a cgroup, and nothing else.
#include "driver/group_queues.hpp"
#include "driver/memory.hpp"
#include "output/names.hpp"
#include "processes/cgroup.hpp"
#include "processes/container.hpp"
#include "processes/kfd_processes.hpp"
#include "verbs/verbs.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <iterator>
#include <map>

namespace cli {

namespace {

GroupQueue queue_of(const TargetQueues& process, const FrozenQueue& id) {
    GroupQueue queue{{0, name_of(kfd::QueueType::compute)}, process.target, id};
    for (const kfd::Queue& one : process.queues)
        if (one.queue_id == id.queue_id)
            queue.gpu_id = one.gpu_id;
    return queue;
}

// Interprets the driver's answer. Returns true if the record no longer needs the queue.
bool classify(const Context& context, const Driver& driver, GroupQueue& queue) {
    const int reason = queue.errno_value = -queue.entry.result;
    queue.failed = false;
    queue.outcome = outcome_of(reason, QueueOutcome::thawed);
    switch (queue.outcome) {
    case QueueOutcome::thawed:
        queue.text = started_text(queue.name(), "thawed", "thawed", queue.entry);
        return true;
    case QueueOutcome::already:
        queue.text = fmt::format("{}: was not frozen any more", queue.name());
        return true;
    case QueueOutcome::gone:
        queue.text = fmt::format("{}: destroyed meanwhile", queue.name());
        return true;
    default:
        queue.outcome = QueueOutcome::failed;
        queue.failed = true;
        queue.text =
            queue.is_process()
                ? driver_sentence(context, Verb::thaw, reason, queue.target, {})
                : start_sentence(context, driver, Verb::thaw, reason, queue.target,
                                 {queue.id.queue_id, queue.gpu_id, kfd::QueueType::compute, 0});
        return reason == EIO; // dead: nothing can start it, so nothing is left to thaw
    }
}

class Thawing {
public:
    Thawing(const Context& context, const Cgroup& cgroup, FrozenRecord& record)
        : context_(context), cgroup_(cgroup), record_(record) {}

    void collect();
    [[nodiscard]] bool wants_driver() const { return wanted_; }
    void run(const Driver& driver);
    Report finish();

private:
    const Context& context_;
    const Cgroup& cgroup_;
    FrozenRecord& record_;
    bool release(const Driver& driver, std::vector<GroupQueue>& all);

    std::vector<GroupQueue> queues_;
    std::vector<GroupQueue> whole_; // processes whose queues to come are held
    GroupSwitch sent_;
    bool wanted_ = false;
};

void Thawing::collect() {
    std::map<pid_t, TargetQueues> processes; // each looked at once
    for (const FrozenQueue& id : record_.of(cgroup_.path)) {
        if (!processes.contains(id.pid)) {
            const Result<kfd::Process> found = kfd_process(context_, id.pid);
            processes[id.pid] = {target_of(context_, id.pid),
                                 found ? found->queues : std::vector<kfd::Queue>{}};
        }
        if (id.queue_id == KFD_PREEMPT_ALL_QUEUES) {
            if (record_.other_holder(cgroup_.path, id) == nullptr)
                whole_.push_back(whole_process(processes[id.pid].target));
            continue;
        }
        GroupQueue queue = queue_of(processes[id.pid], id);
        if (const std::string* other = record_.other_holder(cgroup_.path, id)) {
            queue.outcome = QueueOutcome::kept;
            queue.text =
                fmt::format("{}: stays frozen with cgroup {}", queue.name(), printable(*other));
        }
        wanted_ |= queue.outcome == QueueOutcome::untried;
        queues_.push_back(std::move(queue));
    }
    wanted_ |= !whole_.empty();
    std::erase_if(record_.of(cgroup_.path), [this](const FrozenQueue& id) {
        return record_.other_holder(cgroup_.path, id) != nullptr;
    });
}

bool Thawing::release(const Driver& driver, std::vector<GroupQueue>& all) {
    std::vector<GroupQueue*> queues;
    while (queues = waiting(all), !queues.empty()) {
        if (queues.front()->tries > 0)
            pause_before_retry();
        const bool done = sent_.run(context_, driver, Verb::thaw, queues);
        for (GroupQueue* queue : queues) {
            if (!queue->sent) {
                queue->outcome = QueueOutcome::failed;
                queue->failed = true;
                queue->text = fmt::format("{}: stays frozen", queue->name());
            } else if (classify(context_, driver, *queue)) {
                record_.of(cgroup_.path).erase(queue->id);
            }
        }
        if (!done)
            return false;
    }
    return true;
}

// Processes after their queues: what else is frozen of them was created meanwhile.
void Thawing::run(const Driver& driver) {
    if (release(driver, queues_))
        release(driver, whole_);
    std::ranges::copy_if(whole_, std::back_inserter(queues_), &GroupQueue::failed);
}

Report Thawing::finish() {
    Report report = group_report(cgroup_.path, queues_, sent_);
    const auto add = [&report](const Failure& failure) {
        const Report failed = report_of(failure);
        report.exit = failure.exit;
        report.json["error"] = failed.json["error"];
        report.messages.insert(report.messages.begin(), failure.message);
    };
    if (sent_.failure)
        add(*sent_.failure);
    if (const Outcome<void> saved = record_.save(); !saved)
        add(saved.error());
    return report;
}

} // namespace

Report thaw(const Context& context, const CgroupName& name) {
    if (const Outcome<void> initial = require_kfd_pids(context); !initial)
        return report_of(initial.error());
    const Outcome<Cgroup> cgroup =
        name.container.empty()
            ? cgroup_of(context, name.cgroup)
            : cgroup_of_container(context, name.container, FrozenRecord::cgroups(context));
    if (!cgroup)
        return report_of(cgroup.error());
    Outcome<FrozenRecord> record = FrozenRecord::open(context);
    if (!record)
        return report_of(record.error());

    Thawing work(context, *cgroup, *record);
    if (record->of(cgroup->path).empty()) {
        // Only now: a cgroup that is gone may have left processes that are still held.
        if (const auto processes = processes_of(*cgroup); !processes)
            return report_of(processes.error());
        Report report = group_report(cgroup->path, {}, {});
        report.text = fmt::format("{}: is not frozen, nothing to do\n", cgroup->name());
        return report;
    }
    work.collect();
    if (work.wants_driver()) {
        const Outcome<Driver> driver = connect(context);
        if (!driver)
            return report_of(driver.error());
        work.run(*driver);
    }
    return work.finish();
}

} // namespace cli
