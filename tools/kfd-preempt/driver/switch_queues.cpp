// SPDX-License-Identifier: MIT
// Shared by suspend and resume: choose queues, send SWITCH, report each result.
#include "driver/switch_queues.hpp"

#include "driver/memory.hpp"
#include "driver/queue_answer.hpp"
#include "driver/switch_calls.hpp"
#include "processes/kfd_processes.hpp"
#include "processes/target_queues.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <span>

namespace cli {

namespace {

struct QueueResult {
    std::uint32_t queue_id;
    QueueAnswer answer;
};

class Switch {
public:
    Switch(const Context& context, const SwitchPlan& plan, const Target& target, bool named)
        : context_(context), plan_(plan), target_(target), named_(named) {}

    void skip(const kfd::Queue& queue);
    // Returns false if the driver rejected a call; failure() has the reason.
    bool run(Driver& driver, std::span<const kfd::Queue> queues);
    // The same for queues that the process creates later. Does nothing if the driver cannot.
    bool run_later(const Driver& driver);
    // All or nothing, and not all.
    [[nodiscard]] bool is_undone() const;
    [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
    [[nodiscard]] Report report();

private:
    [[nodiscard]] std::string name_of_queue(const kfd::Queue& queue) const {
        return queue_name(queue.queue_id, target_);
    }
    std::size_t send(const Driver& driver, std::span<kfd_preempt_switch_entry> entries);
    [[nodiscard]] QueueAnswer classify(const Driver& driver, const kfd::Queue& queue,
                                       const kfd_preempt_switch_entry& entry) const;
    [[nodiscard]] kfd_preempt_switch_entry entry_of(std::uint32_t queue_id) const;
    [[nodiscard]] std::string already_text(const kfd::Queue& queue,
                                           const kfd_preempt_switch_entry& entry) const;

    const Context& context_;
    const SwitchPlan& plan_;
    const Target& target_;
    bool named_;
    std::vector<QueueResult> results_;
    std::optional<Failure> failure_;
    std::optional<Failure> later_failure_;
    SwitchCalls calls_;
};

void Switch::skip(const kfd::Queue& queue) {
    QueueAnswer answer{queue.gpu_id, name_of(queue.type)};
    answer.outcome = named_ ? QueueOutcome::failed : QueueOutcome::skipped;
    answer.errno_value = named_ ? EOPNOTSUPP : 0;
    answer.failed = named_;
    answer.text = fmt::format("{}: {}{} queue: only compute queues can be held",
                              name_of_queue(queue), named_ ? "" : "skipped, ", answer.type);
    results_.push_back({queue.queue_id, std::move(answer)});
}

std::string Switch::already_text(const kfd::Queue& queue,
                                 const kfd_preempt_switch_entry& entry) const {
    if (plan_.verb == Verb::suspend)
        return fmt::format("{}: already suspended", name_of_queue(queue));
    if ((entry.holds & KFD_PREEMPT_HOLD_OPERATOR) != 0)
        return fmt::format("{}: not suspended by this command, but another program holds it "
                           "(OPERATOR): `resume --force` drops that hold too",
                           name_of_queue(queue));
    if ((entry.holds & KFD_PREEMPT_HOLD_SELF) != 0)
        return fmt::format("{}: not suspended by an operator; its own process holds it (SELF)",
                           name_of_queue(queue));
    return fmt::format("{}: not suspended, nothing to do", name_of_queue(queue));
}

QueueAnswer Switch::classify(const Driver& driver, const kfd::Queue& queue,
                             const kfd_preempt_switch_entry& entry) const {
    const int reason = -entry.result;
    const bool suspends = plan_.verb == Verb::suspend;
    QueueAnswer answer{queue.gpu_id, name_of(queue.type)};
    answer.errno_value = reason;
    answer.answered = true;
    answer.entry = entry;
    answer.outcome = outcome_of(reason, suspends ? QueueOutcome::suspended : QueueOutcome::resumed);
    // Destroyed between the scan of sysfs and the call: a failure if the user named it.
    if (answer.outcome == QueueOutcome::gone && (named_ || reason != ENOENT))
        answer.outcome = QueueOutcome::failed;
    switch (answer.outcome) {
    case QueueOutcome::suspended:
        answer.text = stopped_text(name_of_queue(queue), "suspended", entry);
        break;
    case QueueOutcome::resumed:
        answer.text = started_text(name_of_queue(queue), "resumed", "released", entry);
        break;
    case QueueOutcome::already: answer.text = already_text(queue, entry); break;
    case QueueOutcome::gone:
        answer.answered = false;
        answer.text = fmt::format("{}: destroyed meanwhile", name_of_queue(queue));
        break;
    default:
        answer.failed = true;
        answer.text = plan_.is_all_or_nothing() && reason == EBUSY
                          ? fmt::format("{}: not suspended: it is busy, or another queue could not "
                                        "be suspended (--all-or-nothing)",
                                        name_of_queue(queue))
                          : start_sentence(context_, driver, plan_.verb, reason, target_, queue);
    }
    return answer;
}

kfd_preempt_switch_entry Switch::entry_of(std::uint32_t queue_id) const {
    kfd_preempt_switch_entry entry{};
    entry.queue_id = queue_id;
    entry.op = plan_.op;
    entry.preempt_type = plan_.preempt_type;
    return entry;
}

// In operator_mode 2 a file of the process gives the right that its pid does not.
std::size_t Switch::send(const Driver& driver, std::span<kfd_preempt_switch_entry> entries) {
    const std::size_t done =
        calls_.send(driver, plan_.flags, entries, target_.pid, plan_.timeout_ms);
    const auto& error = calls_.error();
    if (done != 0 || !error || error->errno_value != EPERM)
        return done;
    const auto file = kfd_file_of(context_, target_.pid);
    return file ? calls_.send(driver, plan_.flags | KFD_PREEMPT_SWITCH_TARGET_FD, entries,
                              file->get(), plan_.timeout_ms)
                : done;
}

bool Switch::run(Driver& driver, std::span<const kfd::Queue> queues) {
    std::vector<kfd_preempt_switch_entry> entries;
    std::size_t done = 0;
    unsigned tries = 0;
    // The queues are all of one process.
    do {
        entries.clear();
        for (const kfd::Queue& queue : queues)
            entries.push_back(entry_of(queue.queue_id));
        done = send(driver, entries);
    } while (done == entries.size() && is_locked(entries[0]) && ++tries < locked_tries_max);
    const auto& error = calls_.error();
    // With ALL_OR_NOTHING the driver changes nothing if one entry is already as requested.
    std::vector<kfd::Queue> others;
    if (plan_.is_all_or_nothing() && !error)
        for (std::size_t i = 0; i < done; ++i)
            if (entries[i].result != -EALREADY)
                others.push_back(queues[i]);
    const bool again = !others.empty() && others.size() < done;
    for (std::size_t i = 0; i < done; ++i)
        if (!again || entries[i].result == -EALREADY)
            results_.push_back({queues[i].queue_id, classify(driver, queues[i], entries[i])});
    if (again)
        return run(driver, others);
    if (error)
        failure_ = driver_failure(context_, plan_.verb, *error, target_);
    return !error;
}

// After the call on the queues, so that it includes those created meanwhile.
bool Switch::run_later(const Driver& driver) {
    if ((driver.query.caps & KFD_PREEMPT_CAP_PROCESS) == 0)
        return true;
    kfd_preempt_switch_entry entry{};
    unsigned tries = 0;
    do {
        entry = entry_of(KFD_PREEMPT_ALL_QUEUES);
        // Later queues have no waves to kill, and the driver rejects it.
        if (entry.preempt_type == KFD_PREEMPT_TYPE_RESET)
            entry.preempt_type = KFD_PREEMPT_TYPE_SAVE;
        send(driver, {&entry, 1});
    } while (is_locked(entry) && ++tries < locked_tries_max);
    if (const auto& error = calls_.error()) {
        failure_ = driver_failure(context_, plan_.verb, *error, target_);
        return false;
    }
    const int reason = -entry.result;
    // The errors of its queues have been reported.
    const bool reported = std::ranges::any_of(
        results_, [=](const QueueResult& one) { return one.answer.errno_value == reason; });
    if (reason != 0 && reason != EALREADY && !reported)
        later_failure_ = Failure{exit_of(reason), reason,
                                 driver_sentence(context_, plan_.verb, reason, target_, {})};
    return true;
}

bool Switch::is_undone() const {
    return plan_.is_all_or_nothing() &&
           std::ranges::any_of(results_, [](const auto& one) { return one.answer.failed; });
}

Report Switch::report() {
    std::ranges::sort(results_, {}, &QueueResult::queue_id);
    Report report = failure_ ? report_of(*failure_) : Report{};
    report.json["pid"] = target_.pid;
    report.json["comm"] = target_.comm_json();
    report.json["queues"] = Json::array();
    for (const QueueResult& result : results_) {
        Json item;
        item["queue"] = result.queue_id;
        append_to_report(report, std::move(item), result.answer);
    }
    if (later_failure_) {
        report.exit = later_failure_->exit;
        report.messages.push_back(later_failure_->message);
    }
    // The exit code of the call outranks those of its queues.
    if (failure_)
        report.exit = failure_->exit;
    report.json["hw_ns"] = calls_.hw_ns();
    return report;
}

// Returns why the driver would reject the plan; asked before anything changes.
std::optional<Failure> cannot_stop_so(const Driver& driver, const SwitchPlan& plan,
                                      const Target& target, std::span<const kfd::Queue> queues) {
    const bool kills = plan.preempt_type == KFD_PREEMPT_TYPE_RESET;
    const bool saves = plan.preempt_type == KFD_PREEMPT_TYPE_SAVE;
    if (plan.op == KFD_PREEMPT_OP_PREEMPT && !saves &&
        (driver.query.type_mask >> plan.preempt_type & 1U) == 0)
        return Failure{Exit::unsupported, EOPNOTSUPP,
                       fmt::format("{}: the loaded driver cannot {} running waves, nothing "
                                   "changed: it needs amdgpu.sched_policy=2{}",
                                   target.name(), kills ? "kill" : "drain",
                                   kills ? " and amdgpu.allow_reset=1" : "")};
    if (!plan.is_all_or_nothing())
        return std::nullopt;
    const auto elsewhere = [&](const kfd::Queue& queue) {
        return queue.gpu_id != queues.front().gpu_id;
    };
    if (std::ranges::any_of(queues, elsewhere))
        return Failure{Exit::failed, EINVAL,
                       fmt::format("{}: its queues are on several GPUs, nothing changed: "
                                   "--all-or-nothing takes those of one; name them",
                                   target.name())};
    if (queues.size() > driver.query.max_batch)
        return Failure{Exit::failed, E2BIG,
                       fmt::format("{}: has {} queues, nothing changed: --all-or-nothing takes {}",
                                   target.name(), queues.size(), driver.query.max_batch)};
    return std::nullopt;
}

} // namespace

Report switch_queues(const Context& context, const QueueSelection& selection,
                     const SwitchPlan& plan) {
    const auto selected = queues_of(context, selection.pid, selection.queue_ids);
    if (!selected)
        return report_of(selected.error());
    const Target& target = selected->target;

    Switch work(context, plan, target, !selection.queue_ids.empty());
    std::vector<kfd::Queue> compute;
    for (const kfd::Queue& queue : selected->queues) {
        if (queue.type == kfd::QueueType::compute)
            compute.push_back(queue);
        else
            work.skip(queue);
    }
    if (compute.empty() && selection.queue_ids.empty())
        return report_of(
            {Exit::failed, ENOENT,
             fmt::format("{}: has no compute queue to {}", target.name(), verb_name(plan.verb))});
    if (!compute.empty()) {
        Outcome<Driver> driver = connect(context);
        if (!driver)
            return report_of(driver.error());
        if (plan.yields && !can_yield(*driver))
            return report_of(cannot_yield(target.name()));
        if (const auto reason = cannot_stop_so(*driver, plan, target, compute))
            return report_of(*reason);
        const Memory before =
            plan.op == KFD_PREEMPT_OP_RESUME ? memory_of(*driver, *selected) : Memory{};
        const bool sent = work.run(*driver, compute) && !work.is_undone() &&
                          (!selection.queue_ids.empty() || work.run_later(*driver));
        Report report = work.report();
        if (sent && plan.yields && !yield_memory(*driver, *selected, plan.flags, report))
            report.exit = Exit::failed;
        report_reclaimed(*driver, *selected, before, report);
        if (plan.attach)
            report.attached.what = std::make_shared<Driver>(std::move(*driver));
        return report;
    }
    return work.report();
}

} // namespace cli
