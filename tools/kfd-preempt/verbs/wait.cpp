// SPDX-License-Identifier: MIT
// Polls the sysfs tree of KFD, which has no notification.
#include "verbs/wait.hpp"

#include "output/output.hpp"
#include "processes/container.hpp"
#include "processes/error_messages.hpp"
#include "processes/kfd_processes.hpp"
#include "processes/target_queues.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <fmt/format.h>
#include <set>
#include <thread>
#include <unistd.h>

namespace cli {

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::chrono::milliseconds between_looks{50};

std::set<pid_t> with_compute_queues(const Context& context) {
    std::set<pid_t> pids;
    for (const pid_t pid : kfd_pids(context).value_or(std::vector<pid_t>{}))
        if (!compute_queues(context, pid).empty())
            pids.insert(pid);
    return pids;
}

bool is_in(const Context& context, const std::string& container, pid_t pid) {
    if (container.empty())
        return true;
    const auto found = find_container(context, container);
    return found && std::ranges::binary_search(found->pids, pid);
}

Report found(const Context& context, pid_t pid) {
    const Target target = target_of(context, pid);
    Report report;
    report.text = fmt::format("{}\n", pid); // for scripts: suspend "$(kfd-preempt wait --new)"
    report.json["pid"] = pid;
    report.json["comm"] = target.comm_json();
    report.json["compute_queues"] = compute_queues(context, pid).size();
    return report;
}

} // namespace

Waiting::Waiting(const Context& context, const WaitOptions& options)
    : context_(context), options_(options) {
    if (!options.pid)
        old_ = with_compute_queues(context);
}

std::optional<Report> Waiting::scan() {
    return options_.pid ? scan_process(*options_.pid) : scan_for_new();
}

std::optional<Report> Waiting::scan_process(pid_t pid) const {
    if (!compute_queues(context_, pid).empty())
        return found(context_, pid);
    const Target target = target_of(context_, pid);
    if (target.task && target.task->tgid == pid)
        return std::nullopt;
    // It has ended, was never there, or is a thread; or /proc hides a process that KFD shows.
    const auto queues = queues_of(context_, pid);
    return queues ? std::nullopt : std::optional(report_of(queues.error()));
}

std::optional<Report> Waiting::scan_for_new() {
    const std::set<pid_t> now = with_compute_queues(context_);
    for (const pid_t pid : now)
        if (!old_.contains(pid) && is_in(context_, options_.container, pid))
            return found(context_, pid);
    old_ = now; // a pid that is gone may come again, as another process
    return std::nullopt;
}

Report wait(const Context& context, const WaitOptions& options) {
    if (const Outcome<void> pids = require_kfd_pids(context); !pids)
        return report_of(pids.error());
    if (!kfd_pids(context))
        return report_of(no_kfd(context));
    const Clock::time_point deadline =
        options.timeout_s ? Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                               std::chrono::duration<double>(*options.timeout_s))
                          : Clock::time_point::max();
    if (::isatty(STDERR_FILENO) != 0)
        print_message("waiting for a compute queue (^C ends it)");
    Waiting waiting(context, options);
    for (;;) {
        if (std::optional<Report> report = waiting.scan())
            return std::move(*report);
        if (options.timeout_s && Clock::now() >= deadline)
            return report_of({Exit::failed, ETIMEDOUT,
                              fmt::format("no {} within {} s",
                                          options.pid ? "compute queue of that process"
                                                      : "new process with a compute queue",
                                          *options.timeout_s)});
        std::this_thread::sleep_for(between_looks);
    }
}

} // namespace cli
