// SPDX-License-Identifier: MIT
// One scan of all processes, from sysfs, the driver, the control sockets and xpreemptd.
#include "verbs/top.hpp"

#include "daemon/daemon.hpp"
#include "daemon/scheduling.hpp"
#include "kfd/module.hpp"
#include "output/names.hpp"
#include "processes/container.hpp"
#include "processes/error_messages.hpp"
#include "processes/kfd_processes.hpp"
#include "processes/target_queues.hpp"
#include "streams/streams.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>

namespace cli {

namespace {

Json number_or_null(bool known, std::uint64_t value) {
    return known ? Json(value) : Json(nullptr);
}

struct QueueRow {
    kfd::Queue queue{};
    std::optional<kfd_ioctl_preempt_status_args> driver; // STATUS
    const wire::Queue* library = nullptr;                // what its own library counted
};

// Beside the holds, whether its process has given its VRAM back.
std::string holds_text(const kfd_ioctl_preempt_status_args& status) {
    std::vector<std::string> words = hold_names(status.holds);
    if ((status.status & KFD_PREEMPT_STATUS_YIELDED) != 0)
        words.emplace_back("YIELDED");
    return words_or_dash(words);
}

// The driver's counters where there are any: they count every stop. Else the library's.
std::vector<std::string> cells(const Target& target, const QueueRow& row) {
    std::vector<std::string> cells = {std::to_string(target.pid), target.task ? target.comm() : "?",
                                      std::to_string(row.queue.queue_id),
                                      std::to_string(row.queue.gpu_id), name_of(row.queue.type)};
    const std::string streams =
        row.library != nullptr ? std::to_string(row.library->num_streams) : "?";
    if (row.driver)
        cells.insert(cells.end(), {state_name(row.driver->state), holds_text(*row.driver),
                                   std::to_string(row.driver->preempts),
                                   duration_text(row.driver->last_preempt_ns),
                                   duration_text(row.driver->max_preempt_ns),
                                   duration_text(row.driver->last_resume_ns), streams});
    else if (row.library != nullptr)
        cells.insert(cells.end(),
                     {row.library->holds > 0 ? "HELD" : "RUNNING",
                      row.library->holds > 0 ? "SELF" : "-", std::to_string(row.library->stops),
                      duration_text(row.library->last_stop_ns),
                      duration_text(row.library->max_stop_ns),
                      duration_text(row.library->last_start_ns), streams});
    else
        cells.insert(cells.end(), {"?", "?", "?", "?", "?", "?", streams});
    return cells;
}

Json json_of_row(const QueueRow& row) {
    const bool driver = row.driver.has_value();
    Json json{{"queue", row.queue.queue_id},
              {"gpu_id", row.queue.gpu_id},
              {"type", name_of(row.queue.type)},
              {"state", driver ? Json(state_name(row.driver->state)) : Json(nullptr)},
              {"holds", driver ? Json(hold_names(row.driver->holds)) : Json(nullptr)},
              {"status", driver ? Json(status_names(row.driver->status)) : Json(nullptr)}};
    json["preempts"] = number_or_null(driver, driver ? row.driver->preempts : 0);
    json["last_preempt_ns"] = number_or_null(driver, driver ? row.driver->last_preempt_ns : 0);
    json["max_preempt_ns"] = number_or_null(driver, driver ? row.driver->max_preempt_ns : 0);
    json["last_resume_ns"] = number_or_null(driver, driver ? row.driver->last_resume_ns : 0);
    json["held_ns"] = number_or_null(driver, driver ? row.driver->held_ns : 0);
    return json;
}

const wire::Queue* library_queue(const SocketView& view, const kfd::Queue& queue) {
    if (!view.answer)
        return nullptr;
    const auto found = std::ranges::find_if(view.answer->queues, [&](const wire::Queue& known) {
        return known.kfd_queue_id == queue.queue_id && known.gpu_id == queue.gpu_id;
    });
    return found == view.answer->queues.end() ? nullptr : &*found;
}

} // namespace

TopReader::TopReader(const Context& context, std::vector<pid_t> pids, std::string container)
    : context_(context), pids_(std::move(pids)), container_(std::move(container)) {
    Result<kfd::Device> device = context.open_device();
    if (!device)
        return;
    const auto query = kfd::query_driver(*device, kfd::loaded_module(context.roots));
    if (query && query->abi_major == KFD_PREEMPT_ABI_MAJOR)
        device_ = std::move(*device);
}

Report TopReader::read() {
    if (const Outcome<void> initial = require_kfd_pids(context_); !initial)
        return report_of(initial.error());
    if (!container_.empty()) {
        Outcome<ContainerProcesses> found = find_container(context_, container_);
        if (!found)
            return report_of(found.error());
        pids_ = std::move(found->pids);
        container_ = found->container.id; // so that no engine is asked again
    }
    // The first time, as list does. Later a process may have ended.
    for (; container_.empty() && checked_ < pids_.size(); ++checked_)
        if (const auto process = queues_of(context_, pids_[checked_]); !process)
            return report_of(process.error());
    const auto all = kfd_pids(context_);
    if (!all)
        return report_of(no_kfd(context_));
    std::vector<Target> targets;
    std::vector<kfd::Process> processes;
    for (const pid_t pid : *all) {
        if (!pids_.empty() && std::ranges::find(pids_, pid) == pids_.end())
            continue;
        auto process = kfd_process(context_, pid);
        if (!process || process->queues.empty())
            continue; // it ended meanwhile, or is no GPU program: this command is one itself
        targets.push_back(target_of(context_, pid));
        processes.push_back(std::move(*process));
    }
    const std::vector<SocketView> views = ask_sockets(context_, targets, socket_patience);

    Report report;
    Table table({"PID", "COMM", "QUEUE", "GPU", "TYPE", "STATE", "HOLDS", "STOPS", "LAST-STOP",
                 "MAX-STOP", "LAST-START", "STREAMS"});
    StreamTables streams;
    Json json = Json::array();
    std::size_t queues = 0, held = 0;
    for (std::size_t i = 0; i < processes.size(); ++i) {
        Json rows = Json::array();
        bool locked = false; // in the driver, where each call would wait for it
        for (const kfd::Queue& queue : processes[i].queues) {
            QueueRow row{queue, std::nullopt, library_queue(views[i], queue)};
            if (device_ && !locked) {
                const auto status = device_->status_of(targets[i].pid, queue.queue_id);
                if (status)
                    row.driver = *status;
                else
                    locked = status.error().errno_value == EBUSY;
            }
            ++queues;
            held += row.driver ? (row.driver->holds != 0 ? 1U : 0U)
                               : (row.library != nullptr && row.library->holds > 0 ? 1U : 0U);
            table.add(cells(targets[i], row));
            rows.push_back(json_of_row(row));
        }
        const SocketView& view = views[i];
        if (view.answer)
            streams.add(targets[i], *view.answer);
        else if (view.failure && view.failure->errno_value != ENOENT)
            report.messages.push_back(view.failure->message);
        json.push_back({{"pid", targets[i].pid},
                        {"comm", targets[i].comm_json()},
                        {"queues", std::move(rows)},
                        {"control", view.answer ? json_of(*view.answer) : Json(nullptr)}});
    }
    const std::string jobs = add_jobs(report);
    report.text = fmt::format("{} processes, {} queues, {} held\n\n{}{}{}", processes.size(),
                              queues, held, jobs, table.text(), streams.text());
    for (const std::string& message : report.messages)
        report.text += "\n" + message + "\n";
    report.json["processes"] = std::move(json);
    return report;
}

// Without a daemon there are no jobs, which is no fault.
std::string TopReader::add_jobs(Report& report) {
    report.json["jobs"] = nullptr;
    const Outcome<Daemon> daemon = Daemon::connect(context_);
    auto jobs = daemon ? daemon->jobs() : tl::make_unexpected(daemon.error());
    if (!jobs) {
        const int error = jobs.error().errno_value;
        if (error != ENOENT && error != ECONNREFUSED)
            report.messages.push_back(jobs.error().message);
        return {};
    }
    const auto status = daemon->status();
    const std::string note = status ? why_all_run(status->policy, *jobs) : "";
    if (!pids_.empty())
        std::erase_if(*jobs, [&](const xpreemptd::ListedJob& job) {
            return std::ranges::find_first_of(job.report.pids, pids_) == job.report.pids.end();
        });
    const auto rates = rates_.update(*jobs);
    report.json["jobs"] = Json::array();
    for (std::size_t i = 0; i < jobs->size(); ++i) {
        Json json = xpreemptd::json_of((*jobs)[i]);
        json["rates"] = json_of(rates[i]);
        report.json["jobs"].push_back(std::move(json));
    }
    return jobs->empty() ? "" : rates_table(*jobs, rates) + note + "\n";
}

std::string fit(const std::string& text, std::size_t columns, std::size_t rows) {
    std::string fitted;
    std::size_t begin = 0, lines = 0;
    while (begin < text.size() && (rows == 0 || lines < rows)) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        std::size_t length = end - begin;
        if (columns != 0 && length > columns) {
            length = columns;
            // Not in the middle of a character of UTF-8.
            while (length > 0 && (static_cast<unsigned char>(text[begin + length]) & 0xc0U) == 0x80)
                --length;
        }
        fitted += text.substr(begin, length) + "\n";
        begin = end + 1;
        ++lines;
    }
    return fitted;
}

} // namespace cli
