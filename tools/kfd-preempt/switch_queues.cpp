// SPDX-License-Identifier: MIT
// What suspend and resume share: choose queues, send SWITCH, say how each one went.
#include "switch_queues.hpp"

#include "names.hpp"
#include "target.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <span>

namespace cli {

namespace {

struct QueueResult {
    kfd::Queue queue;
    const char* outcome; // stable word of the JSON
    int errno_value;
    bool answered; // the driver said state and holds
    kfd_preempt_switch_entry entry;
    std::string text; // for stdout, or for stderr when it failed
    bool failed;
};

class Switch {
public:
    Switch(const Context& context, const SwitchPlan& plan, const Target& target, bool named)
        : context_(context), plan_(plan), target_(target), named_(named) {}

    void skip(const kfd::Queue& queue);
    // False: the driver refused the whole call, and failure() says why.
    bool run(Driver& driver, std::span<const kfd::Queue> queues);
    [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }
    [[nodiscard]] Report report();

private:
    [[nodiscard]] std::string thing(const kfd::Queue& queue) const {
        return fmt::format("queue {} of {}", queue.queue_id, target_.name());
    }
    [[nodiscard]] QueueResult judge(const kfd::Queue& queue,
                                    const kfd_preempt_switch_entry& entry) const;
    [[nodiscard]] std::string success_text(const kfd::Queue& queue,
                                           const kfd_preempt_switch_entry& entry) const;
    [[nodiscard]] std::string already_text(const kfd::Queue& queue,
                                           const kfd_preempt_switch_entry& entry) const;

    const Context& context_;
    const SwitchPlan& plan_;
    const Target& target_;
    bool named_;
    std::vector<QueueResult> results_;
    std::optional<Failure> failure_;
    std::uint64_t hw_ns_ = 0;
};

void Switch::skip(const kfd::Queue& queue) {
    const std::string why = "only compute queues can be held";
    results_.push_back({queue,
                        named_ ? "failed" : "skipped",
                        named_ ? EOPNOTSUPP : 0,
                        false,
                        {},
                        fmt::format("{}: {}{} queue: {}", thing(queue), named_ ? "" : "skipped, ",
                                    name_of(queue.type), why),
                        named_});
}

std::string Switch::success_text(const kfd::Queue& queue,
                                 const kfd_preempt_switch_entry& entry) const {
    if (plan_.verb == Verb::suspend)
        return entry.latency_ns == 0 ? fmt::format("{}: suspended", thing(queue))
                                     : fmt::format("{}: suspended in {}", thing(queue),
                                                   duration_text(entry.latency_ns));
    if (entry.holds == 0)
        return fmt::format("{}: resumed{}", thing(queue),
                           entry.state == KFD_PREEMPT_STATE_INACTIVE
                               ? ", but KFD keeps it off the hardware for a reason of its own "
                                 "(evicted, 0 percent, debugger)"
                               : "");
    return fmt::format("{}: released, but still held by {}", thing(queue),
                       words_or_dash(hold_names(entry.holds)));
}

std::string Switch::already_text(const kfd::Queue& queue,
                                 const kfd_preempt_switch_entry& entry) const {
    if (plan_.verb == Verb::suspend)
        return fmt::format("{}: already suspended", thing(queue));
    if ((entry.holds & KFD_PREEMPT_HOLD_OPERATOR) != 0)
        return fmt::format("{}: not suspended by this command, but another program holds it "
                           "(OPERATOR): `resume --force` drops that hold too",
                           thing(queue));
    if ((entry.holds & KFD_PREEMPT_HOLD_SELF) != 0)
        return fmt::format("{}: not suspended by an operator; its own process holds it (SELF)",
                           thing(queue));
    return fmt::format("{}: not suspended, nothing to do", thing(queue));
}

QueueResult Switch::judge(const kfd::Queue& queue, const kfd_preempt_switch_entry& entry) const {
    const int reason = -entry.result;
    if (reason == 0)
        return {queue, plan_.verb == Verb::suspend ? "suspended" : "resumed",
                0,     true,
                entry, success_text(queue, entry),
                false};
    if (reason == EALREADY)
        return {queue, "already", reason, true, entry, already_text(queue, entry), false};
    // Nobody named it and it went away between the look at sysfs and the call: nothing is wrong.
    if (reason == ENOENT && !named_)
        return {queue, "gone", reason,
                false, entry,  fmt::format("{}: destroyed meanwhile", thing(queue)),
                false};
    return {queue,  reason == ETIME ? "pending" : "failed",
            reason, true,
            entry,  driver_sentence(context_, plan_.verb, reason, target_, queue.queue_id),
            true};
}

bool Switch::run(Driver& driver, std::span<const kfd::Queue> queues) {
    const std::size_t batch = std::max<std::size_t>(driver.query.max_batch, 1);
    for (std::size_t first = 0; first < queues.size(); first += batch) {
        const auto part = queues.subspan(first, std::min(batch, queues.size() - first));
        std::vector<kfd_preempt_switch_entry> entries;
        for (const kfd::Queue& queue : part) {
            kfd_preempt_switch_entry entry{};
            entry.queue_id = queue.queue_id;
            entry.op = plan_.op;
            entry.preempt_type = plan_.preempt_type;
            entries.push_back(entry);
        }
        const auto done = driver.device.switch_queues_of(target_.pid, plan_.flags, entries);
        if (!done) {
            failure_ = driver_failure(context_, plan_.verb, done.error(), target_);
            return false;
        }
        hw_ns_ += done->hw_ns;
        for (std::size_t i = 0; i < part.size(); ++i)
            results_.push_back(judge(part[i], entries[i]));
    }
    return true;
}

Report Switch::report() {
    std::sort(results_.begin(), results_.end(), [](const QueueResult& a, const QueueResult& b) {
        return a.queue.queue_id < b.queue.queue_id;
    });
    Report report = failure_ ? report_of(*failure_) : Report{};
    bool all_permission = true;
    Json queues = Json::array();
    for (const QueueResult& result : results_) {
        Json item;
        item["queue"] = result.queue.queue_id;
        item["gpu_id"] = result.queue.gpu_id;
        item["type"] = name_of(result.queue.type);
        item["outcome"] = result.outcome;
        item["errno"] =
            result.errno_value == 0 ? Json(nullptr) : Json(errno_name(result.errno_value));
        item["state"] = result.answered ? Json(state_name(result.entry.state)) : Json(nullptr);
        item["holds"] = result.answered ? Json(hold_names(result.entry.holds)) : Json(nullptr);
        item["latency_ns"] = result.entry.latency_ns;
        item["message"] = result.text;
        queues.push_back(std::move(item));
        if (result.failed) {
            report.messages.push_back(result.text);
            all_permission &= exit_of(result.errno_value) == Exit::permission;
            if (!failure_)
                report.exit = Exit::failed;
        } else {
            report.text += result.text + "\n";
        }
    }
    if (report.exit == Exit::failed && !failure_ && all_permission)
        report.exit = Exit::permission;
    report.json["pid"] = target_.pid;
    report.json["comm"] = target_.comm_json();
    report.json["queues"] = std::move(queues);
    report.json["hw_ns"] = hw_ns_;
    return report;
}

} // namespace

Report switch_queues(const Context& context, const QueueSelection& selection,
                     const SwitchPlan& plan) {
    const auto selected = queues_of(context, selection.pid, selection.queue_ids);
    if (!selected)
        return report_of(selected.error());
    const Target& target = selected->target;

    Switch work(context, plan, target, !selection.queue_ids.empty());
    std::shared_ptr<Driver> opened;
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
        work.run(*driver, compute);
        if (plan.attach)
            opened = std::make_shared<Driver>(std::move(*driver));
    }
    Report report = work.report();
    report.attached.what = std::move(opened);
    return report;
}

} // namespace cli
