// SPDX-License-Identifier: MIT
// status: state, holds and counters of the queues of a process, as the driver has them.
#include "driver/memory.hpp"
#include "output/names.hpp"
#include "output/output.hpp"
#include "processes/error_messages.hpp"
#include "streams/streams.hpp"
#include "verbs/verbs.hpp"

#include <cerrno>
#include <fmt/format.h>

namespace cli {

namespace {

Json json_of(const kfd::Queue& queue, const kfd_ioctl_preempt_status_args& args) {
    Json item;
    item["queue"] = queue.queue_id;
    item["queue_uid"] = args.queue_uid;
    item["gpu_id"] = queue.gpu_id;
    item["type"] = name_of(queue.type);
    item["state"] = state_name(args.state);
    item["holds"] = hold_names(args.holds);
    item["status"] = status_names(args.status);
    item["preempts"] = args.preempts;
    item["resumes"] = args.resumes;
    item["failures"] = args.failures;
    item["held_ns"] = args.held_ns;
    item["last_preempt_ns"] = args.last_preempt_ns;
    item["last_resume_ns"] = args.last_resume_ns;
    item["max_preempt_ns"] = args.max_preempt_ns;
    return item;
}

std::vector<std::string> row_of(const kfd::Queue& queue,
                                const kfd_ioctl_preempt_status_args& args) {
    return {std::to_string(queue.queue_id),
            name_of(queue.type),
            state_name(args.state),
            words_or_dash(hold_names(args.holds)),
            words_or_dash(status_names(args.status)),
            std::to_string(args.preempts),
            std::to_string(args.resumes),
            std::to_string(args.failures),
            duration_text(args.held_ns),
            duration_text(args.last_preempt_ns),
            duration_text(args.max_preempt_ns),
            duration_text(args.last_resume_ns)};
}

} // namespace

Report status(const Context& context, const QueueSelection& selection) {
    const auto selected = queues_of(context, selection.pid, selection.queue_ids);
    if (!selected)
        return report_of(selected.error());
    Outcome<Driver> driver = connect(context);
    if (!driver)
        return report_of(driver.error());

    const Target& target = selected->target;
    Report report;
    Table table({"QUEUE", "TYPE", "STATE", "HOLDS", "STATUS", "STOPS", "STARTS", "FAILED", "HELD",
                 "LAST-STOP", "MAX-STOP", "LAST-START"});
    Json queues = Json::array();
    bool locked = false; // in the driver, where each call would wait for it
    for (const kfd::Queue& queue : selected->queues) {
        const auto args = locked ? fail(EBUSY, Op::queue_status)
                                 : driver->device.status_of(target.pid, queue.queue_id);
        const int reason = args ? 0 : args.error().errno_value;
        locked = reason == EBUSY;
        if (reason == ENOENT && selection.queue_ids.empty())
            continue; // destroyed since sysfs was read
        if (reason == EPERM || reason == ESRCH || reason == ENOTTY) // the same for every queue
            return report_of(driver_failure(context, Verb::status, args.error(), target));
        if (reason != 0) {
            report.messages.push_back(
                driver_sentence(context, Verb::status, reason, target, queue.queue_id));
            report.exit = Exit::failed;
            queues.push_back({{"queue", queue.queue_id},
                              {"errno", errno_name(reason)},
                              {"message", report.messages.back()}});
            continue;
        }
        table.add(row_of(queue, *args));
        queues.push_back(json_of(queue, *args));
    }
    report.json["pid"] = target.pid;
    report.json["comm"] = target.comm_json();
    const bool none = queues.empty();
    report.json["queues"] = std::move(queues);
    report.text = none ? fmt::format("{}: has no queues\n", target.name()) : table.text();
    const Memory memory = locked ? Memory{} : memory_of(*driver, *selected);
    report.json["memory"].push_back({{"pid", target.pid}, {"gpus", json_of(memory)}});
    report.text += text_of(memory);
    if (!selection.queue_ids.empty())
        return report;
    const SocketView view = ask_sockets(context, {target}, socket_patience).front();
    report.json["control"] = view.answer ? json_of(*view.answer) : Json(nullptr);
    StreamTables streams;
    if (view.answer)
        streams.add(target, *view.answer);
    else if (view.failure && view.failure->errno_value != ENOENT &&
             view.failure->errno_value != ESRCH)
        report.messages.push_back(view.failure->message);
    report.text += streams.text();
    return report;
}

} // namespace cli
