// SPDX-License-Identifier: MIT
// freeze: stop all compute queues of all processes of a cgroup; they stay stopped until thaw.
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

// Each scan finds what the processes made during the one before. One that makes queues faster than
// that is no workload; it must not keep the command busy for ever.
constexpr unsigned scans_max = 16;
constexpr unsigned undo_tries_max = 50;
// Each waits for 100 ms in the driver.
constexpr unsigned reads_max = 5;

// The process keeps itself locked.
bool is_busy(const Result<kfd_ioctl_preempt_status_args>& status) {
    return !status && status.error().errno_value == EBUSY;
}

class Freezing {
public:
    Freezing(const Context& context, const Cgroup& cgroup, FrozenRecord& record,
             const Driver& driver, bool partial)
        : context_(context), cgroup_(cgroup), record_(record), driver_(driver), partial_(partial) {}

    void run();
    void undo();
    [[nodiscard]] bool complete() const { return stable_ && !failure_ && !any_failed(); }
    Report finish(bool undone);
    void yield_memory(Report& report) const;

private:
    [[nodiscard]] bool any_failed() const {
        return std::ranges::any_of(queues_, &GroupQueue::failed) ||
               std::ranges::any_of(whole_, &GroupQueue::failed);
    }
    bool scan();
    bool add(const Target& target, const kfd::Queue& queue, bool is_locked);
    void classify_held(GroupQueue& queue, std::uint32_t state);
    void stop(const std::vector<GroupQueue*>& queues);
    bool hold_processes();
    void classify(GroupQueue& queue);
    void classify_process(GroupQueue& process);
    GroupQueue* known(const FrozenQueue& id);
    void enter(const std::vector<GroupQueue*>& queues);
    void forget(const GroupQueue& queue);
    bool save();

    const Context& context_;
    const Cgroup& cgroup_;
    FrozenRecord& record_;
    const Driver& driver_;
    bool partial_;
    std::vector<GroupQueue> queues_;
    std::vector<GroupQueue> whole_; // processes whose queues to come are held, or were refused
    std::vector<Target> targets_;   // of the last scan
    std::size_t processes_ = 0;
    unsigned scans_ = 0;
    bool stable_ = false;
    GroupSwitch sent_;
    std::optional<Failure> failure_;
};

GroupQueue* Freezing::known(const FrozenQueue& id) {
    const auto found =
        std::ranges::find_if(queues_, [&](const GroupQueue& queue) { return queue.id == id; });
    return found == queues_.end() ? nullptr : &*found;
}

// Stopped already: by whom decides whether thaw may start it.
void Freezing::classify_held(GroupQueue& queue, std::uint32_t state) {
    queue.answered = true;
    queue.entry.state = state;
    queue.entry.holds = KFD_PREEMPT_HOLD_STICKY;
    queue.outcome = QueueOutcome::already;
    std::set<FrozenQueue>& mine = record_.of(cgroup_.path);
    if (mine.contains(queue.id)) {
        queue.text = fmt::format("{}: already frozen", queue.name());
    } else if (mine.contains(whole_process(queue.target).id)) {
        mine.insert(queue.id);
        queue.joined = std::ranges::any_of(whole_, [&](const GroupQueue& process) {
            return process.held && process.id.pid == queue.id.pid;
        });
        queue.text = fmt::format("{}: frozen with its process", queue.name());
    } else if (const std::string* other = record_.other_holder(cgroup_.path, queue.id)) {
        mine.insert(queue.id);
        queue.joined = true;
        queue.text =
            fmt::format("{}: already frozen with cgroup {}", queue.name(), printable(*other));
    } else {
        queue.text = fmt::format("{}: already suspended, and thaw leaves it so", queue.name());
    }
}

// is_locked: the process was, when another queue of it was read, and no more is read. Returns
// whether it is.
bool Freezing::add(const Target& target, const kfd::Queue& queue, bool is_locked) {
    GroupQueue item{{queue.gpu_id, name_of(queue.type)}, target, {target.pid, queue.queue_id, 0}};
    if (queue.type != kfd::QueueType::compute) {
        item.outcome = QueueOutcome::skipped;
        item.text = fmt::format("{}: skipped, {} queue: only compute queues can be held",
                                item.name(), item.type);
        if (known(item.id) == nullptr)
            queues_.push_back(std::move(item));
        return is_locked;
    }
    auto status = is_locked ? fail(EBUSY, Op::queue_status)
                            : driver_.device.status_of(target.pid, queue.queue_id);
    for (unsigned tries = 1; !is_locked && is_busy(status) && tries < reads_max; ++tries) {
        pause_before_retry();
        status = driver_.device.status_of(target.pid, queue.queue_id);
    }
    if (!status && is_gone(status.error().errno_value))
        return false;
    if (!status) {
        item.outcome = QueueOutcome::failed;
        item.errno_value = status.error().errno_value;
        item.failed = true;
        item.text =
            driver_sentence(context_, Verb::freeze, item.errno_value, target, queue.queue_id);
    } else {
        item.id.uid = status->queue_uid;
    }
    is_locked = is_busy(status);
    if (known(item.id) != nullptr)
        return is_locked;
    if (status && status->state == KFD_PREEMPT_STATE_DEAD) {
        item.answered = true;
        item.entry.state = status->state;
        item.entry.holds = status->holds;
        item.outcome = QueueOutcome::skipped;
        item.text = fmt::format("{}: skipped, it is dead, lost in a GPU reset", item.name());
    } else if (status && (status->holds & KFD_PREEMPT_HOLD_STICKY) != 0 &&
               status->state != KFD_PREEMPT_STATE_PENDING) {
        classify_held(item, status->state);
    }
    queues_.push_back(std::move(item));
    return is_locked;
}

// False: the cgroup can't be read, or nothing is in it.
bool Freezing::scan() {
    ++scans_;
    const Outcome<std::vector<pid_t>> pids = processes_of(cgroup_);
    if (!pids) {
        failure_ = pids.error();
        return false;
    }
    if (pids->empty() && queues_.empty()) {
        failure_ =
            Failure{Exit::failed, ESRCH,
                    fmt::format("{}: has no process, nor has any cgroup below it", cgroup_.name())};
        return false;
    }
    processes_ = pids->size();
    targets_.clear();
    for (const pid_t pid : *pids) {
        const Result<kfd::Process> process = kfd_process(context_, pid);
        if (!process) // doesn't use KFD, or ended
            continue;
        const Target target = target_of(context_, pid);
        targets_.push_back(target);
        bool is_locked = false;
        for (const kfd::Queue& queue : process->queues)
            is_locked = add(target, queue, is_locked);
    }
    return true;
}

void Freezing::classify(GroupQueue& queue) {
    const int reason = queue.errno_value = -queue.entry.result;
    queue.failed = false;
    queue.outcome = outcome_of(reason, QueueOutcome::frozen);
    if (queue.outcome == QueueOutcome::frozen) {
        queue.held = true;
        queue.text = stopped_text(queue.name(), "frozen", queue.entry);
        return;
    }
    if (queue.outcome == QueueOutcome::pending)
        queue.held = true; // requested and not taken back
    if (queue.outcome == QueueOutcome::gone || reason == EIO)
        queue.recorded = false;
    forget(queue);
    if (queue.outcome == QueueOutcome::already) {
        classify_held(queue, queue.entry.state);
    } else if (queue.outcome == QueueOutcome::gone) {
        queue.text = fmt::format("{}: destroyed meanwhile", queue.name());
    } else if (reason == EIO) {
        queue.outcome = QueueOutcome::skipped;
        queue.text = fmt::format("{}: skipped, it is dead, lost in a GPU reset", queue.name());
    } else {
        queue.failed = true;
        queue.text =
            driver_sentence(context_, Verb::freeze, reason, queue.target, queue.id.queue_id);
    }
}

// An earlier freeze may have recorded some of them; this call then leaves them in the record.
void Freezing::enter(const std::vector<GroupQueue*>& queues) {
    for (GroupQueue* queue : queues)
        if (!record_.of(cgroup_.path).insert(queue->id).second && !queue->held)
            queue->recorded = true;
}

void Freezing::forget(const GroupQueue& queue) {
    if (!queue.held && !queue.recorded)
        record_.of(cgroup_.path).erase(queue.id);
}

bool Freezing::save() {
    const Outcome<void> saved = record_.save();
    if (!saved)
        failure_ = saved.error();
    return saved.has_value();
}

void Freezing::stop(const std::vector<GroupQueue*>& queues) {
    // The record comes first: a death from here on leaves nothing held that thaw doesn't know.
    enter(queues);
    if (!save()) {
        for (const GroupQueue* queue : queues)
            forget(*queue);
        return;
    }
    if (!sent_.run(context_, driver_, Verb::freeze, queues))
        failure_ = sent_.failure;
    for (GroupQueue* queue : queues) {
        if (queue->sent) {
            classify(*queue);
            continue;
        }
        // Rejected by the driver before anything changed, or not sent.
        forget(*queue);
        queue->outcome = QueueOutcome::failed;
        queue->failed = true;
        queue->text = fmt::format("{}: not frozen", queue->name());
    }
}

void Freezing::classify_process(GroupQueue& process) {
    const int reason = process.errno_value = process.sent ? -process.entry.result : EIO;
    process.held = reason == 0 || reason == ETIME;
    process.failed = process.sent && !process.held && reason != EALREADY && !is_gone(reason);
    // Held by the freeze of another cgroup, or by another operator.
    if (reason != EALREADY || record_.other_holder(cgroup_.path, process.id) == nullptr)
        forget(process);
    if (!process.failed)
        return;
    process.outcome = QueueOutcome::failed;
    process.text = driver_sentence(context_, Verb::freeze, reason, process.target, {});
}

// Holds the processes of the last scan that are not held yet, once their queues are. A queue that
// was suspended before stays so at thaw, which cannot tell it from others of its process: those
// processes are not held. Returns true if the queues must be read again: a process was held, or may
// be at the next try.
bool Freezing::hold_processes() {
    if ((driver_.query.caps & KFD_PREEMPT_CAP_PROCESS) == 0 || failure_)
        return false;
    std::set<FrozenQueue>& mine = record_.of(cgroup_.path);
    const auto foreign = [&](const GroupQueue& queue) {
        return queue.outcome == QueueOutcome::already && !mine.contains(queue.id);
    };
    std::vector<GroupQueue*> added;
    const std::size_t before = whole_.size();
    whole_.reserve(before + targets_.size()); // `added` points into it
    for (GroupQueue& process : whole_)
        if (worth_another_try(process))
            added.push_back(&process);
    for (const Target& target : targets_) {
        const auto of_it = [&](const GroupQueue& queue) { return queue.id.pid == target.pid; };
        if (std::ranges::none_of(whole_, of_it) &&
            std::ranges::none_of(queues_, [&](const GroupQueue& queue) {
                return of_it(queue) && (foreign(queue) || queue.failed);
            }))
            whole_.push_back(whole_process(target));
    }
    if (!added.empty())
        pause_before_retry();
    for (std::size_t i = before; i < whole_.size(); ++i)
        added.push_back(&whole_[i]);
    enter(added);
    if (added.empty() || !save())
        return false;
    if (!sent_.run(context_, driver_, Verb::freeze, added))
        failure_ = sent_.failure;
    for (GroupQueue* process : added)
        classify_process(*process);
    return std::ranges::any_of(added, [](const GroupQueue* process) {
        return process->held || worth_another_try(*process);
    });
}

void Freezing::run() {
    const auto hopeless = [](const GroupQueue& queue) {
        return queue.failed && !worth_another_try(queue);
    };
    while (scans_ < scans_max && !failure_) {
        if (!scan())
            return;
        const std::vector<GroupQueue*> queues = waiting(queues_);
        // All of it will be undone, so no more is stopped for it.
        if (!partial_ &&
            (std::ranges::any_of(queues_, hopeless) || std::ranges::any_of(whole_, hopeless)))
            return;
        if (queues.empty()) {
            if (hold_processes())
                continue;
            stable_ = true;
            return;
        }
        const auto again = [](const GroupQueue* queue) { return queue->failed; };
        if (std::ranges::all_of(queues, again))
            pause_before_retry();
        stop(queues);
        hold_processes();
    }
}

std::vector<GroupQueue*> held_of(std::vector<GroupQueue>& queues) {
    std::vector<GroupQueue*> held;
    for (GroupQueue& queue : queues)
        if (queue.held)
            held.push_back(&queue);
    return held;
}

// Resumes the queues that this call has stopped. Retries, because a stop that the hardware hasn't
// confirmed can't be undone yet.
void Freezing::undo() {
    for (const GroupQueue& queue : queues_)
        if (queue.joined)
            record_.of(cgroup_.path).erase(queue.id);
    for (unsigned tries = 0; tries < undo_tries_max; ++tries) {
        // One call must not name a queue and its process.
        std::vector<GroupQueue*> held = held_of(queues_);
        if (held.empty())
            held = held_of(whole_);
        if (held.empty())
            return;
        if (tries > 0)
            pause_before_retry();
        const auto before = failure_;
        const bool sent = sent_.run(context_, driver_, Verb::thaw, held);
        failure_ = before;
        for (GroupQueue* queue : held) {
            const int reason = -queue->entry.result;
            if (!queue->sent ||
                (reason != 0 && reason != EALREADY && reason != EIO && !is_gone(reason)))
                continue;
            queue->held = false;
            record_.of(cgroup_.path).erase(queue->id);
            if (queue->failed) {
                queue->text += "; undone";
            } else {
                queue->outcome = QueueOutcome::undone;
                queue->text = fmt::format("{}: was frozen, and is resumed", queue->name());
            }
        }
        if (!sent)
            return;
    }
}

Report Freezing::finish(bool undone) {
    for (GroupQueue& queue : queues_) {
        if (undone && queue.held) {
            queue.failed = true;
            queue.text += "; it stays held: `kfd-preempt thaw` this cgroup later";
        }
    }
    if (!save() && sent_.failure)
        failure_ = sent_.failure;
    std::vector<GroupQueue> shown = queues_;
    std::ranges::copy_if(whole_, std::back_inserter(shown), &GroupQueue::failed);
    Report report = group_report(cgroup_.path, shown, sent_);
    if (!failure_ && !stable_ && report.exit == Exit::ok)
        failure_ = Failure{Exit::failed, EAGAIN,
                           fmt::format("{}: its processes kept creating queues across {} scans: "
                                       "freeze the cgroup's CPU side first (systemctl freeze, or "
                                       "cgroup.freeze)",
                                       cgroup_.name(), scans_)};
    if (failure_) {
        report.exit = failure_->exit;
        report.json["error"] = report_of(*failure_).json["error"];
        report.messages.insert(report.messages.begin(), failure_->message);
    }
    const auto held = std::ranges::count_if(queues_, [](const GroupQueue& queue) {
        return queue.held || queue.outcome == QueueOutcome::already;
    });
    report.json["processes"] = processes_;
    report.json["scans"] = scans_;
    report.json["frozen"] = report.exit == Exit::ok;
    if (report.exit == Exit::ok)
        report.text += fmt::format("{}: frozen: {} of {} queues, {} processes\n", cgroup_.name(),
                                   held, queues_.size(), processes_);
    else if (undone)
        report.messages.push_back(fmt::format("{}: not frozen", cgroup_.name()));
    else
        report.messages.push_back(fmt::format("{}: frozen in part (--partial): {} of {} queues",
                                              cgroup_.name(), held, queues_.size()));
    return report;
}

// Queues that were held already keep no memory either. A process that wasn't frozen whole keeps it
// all.
void Freezing::yield_memory(Report& report) const {
    std::map<pid_t, TargetQueues> processes;
    for (const GroupQueue& queue : queues_) {
        if (queue.failed || queue.id.uid == 0 || queue.entry.state == KFD_PREEMPT_STATE_DEAD)
            continue;
        TargetQueues& process = processes[queue.target.pid];
        process.target = queue.target;
        process.queues.push_back({queue.id.queue_id, queue.gpu_id, kfd::QueueType::compute, 0});
    }
    for (const auto& [pid, process] : processes)
        cli::yield_memory(driver_, process, KFD_PREEMPT_SWITCH_STICKY, report);
}

} // namespace

Report freeze(const Context& context, const CgroupName& name, bool partial, bool yield) {
    if (const Outcome<void> initial = require_kfd_pids(context); !initial)
        return report_of(initial.error());
    const Outcome<Cgroup> cgroup = name.container.empty()
                                       ? cgroup_of(context, name.cgroup)
                                       : cgroup_of_container(context, name.container);
    if (!cgroup)
        return report_of(cgroup.error());
    if (const auto processes = processes_of(*cgroup); !processes)
        return report_of(processes.error());
    if (!kfd_pids(context))
        return report_of(no_kfd(context));
    const Outcome<Driver> driver = connect(context);
    if (!driver)
        return report_of(driver.error());
    if (yield && !can_yield(*driver))
        return report_of(cannot_yield(cgroup->name()));
    Outcome<FrozenRecord> record = FrozenRecord::open(context);
    if (!record)
        return report_of(record.error());

    Freezing work(context, *cgroup, *record, *driver, partial);
    work.run();
    const bool undo = !partial && !work.complete();
    if (undo)
        work.undo();
    Report report = work.finish(undo);
    if (yield && !undo)
        work.yield_memory(report);
    return report;
}

} // namespace cli
