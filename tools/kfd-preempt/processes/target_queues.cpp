// SPDX-License-Identifier: MIT
// From a pid on the command line to the queues that are meant.
#include "processes/target_queues.hpp"

#include "processes/error_messages.hpp"
#include "processes/kfd_processes.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cli {

namespace {

// KFD has no directory for that pid: say which of the three reasons it is.
Failure not_in_kfd(const Target& target) {
    if (!target.task)
        return {Exit::failed, ESRCH,
                fmt::format("pid {}: there is no such process (or /proc hides it from you): "
                            "`kfd-preempt list` shows those that have queues",
                            target.pid)};
    if (target.task->tgid != target.pid)
        return {Exit::failed, ESRCH,
                fmt::format("{} is a thread of pid {}: name the process", target.name(),
                            target.task->tgid)};
    return {Exit::failed, ESRCH,
            fmt::format("{}: does not use a GPU through KFD: `kfd-preempt list` shows the "
                        "processes that do",
                        target.name())};
}

Failure not_found(const Context& context, const Target& target, int errno_value) {
    if (errno_value == ESRCH)
        return not_in_kfd(target);
    if (errno_value == EACCES || errno_value == EPERM)
        return {Exit::permission, errno_value,
                fmt::format("{}: not allowed to read {}/{}/fd, which shows whether it uses a GPU: "
                            "run kfd-preempt as its user, or as root with CAP_SYS_PTRACE",
                            target.name(), context.roots.proc.string(), target.pid)};
    return no_kfd(context);
}

} // namespace

Outcome<TargetQueues> queues_of(const Context& context, pid_t pid) {
    if (const Outcome<void> initial = require_kfd_pids(context); !initial)
        return tl::make_unexpected(initial.error());
    const Target target = target_of(context, pid);
    Result<kfd::Process> process = kfd_process(context, pid);
    if (!process)
        return tl::make_unexpected(not_found(context, target, process.error().errno_value));
    // KFD takes a dead process' directory away some time after its queues.
    if (!target.task && process->queues.empty())
        return tl::make_unexpected(not_in_kfd(target));
    return TargetQueues{target, std::move(process->queues)};
}

Outcome<TargetQueues> queues_of(const Context& context, pid_t pid,
                                const std::vector<std::uint32_t>& queue_ids) {
    Outcome<TargetQueues> all = queues_of(context, pid);
    if (!all || queue_ids.empty())
        return all;
    TargetQueues named{all->target, {}};
    for (const std::uint32_t queue_id : queue_ids) {
        const auto same = [=](const kfd::Queue& queue) { return queue.queue_id == queue_id; };
        if (std::any_of(named.queues.begin(), named.queues.end(), same))
            continue; // named twice: the driver refuses duplicates, and once is what is meant
        const auto found = std::find_if(all->queues.begin(), all->queues.end(), same);
        if (found == all->queues.end()) {
            std::vector<std::uint32_t> present;
            for (const kfd::Queue& queue : all->queues)
                present.push_back(queue.queue_id);
            return tl::make_unexpected(Failure{
                Exit::failed, ENOENT,
                fmt::format("{} has no queue {}: it has {}", all->target.name(), queue_id,
                            present.empty() ? std::string("none")
                                            : fmt::format("{}", fmt::join(present, ", ")))});
        }
        named.queues.push_back(*found);
    }
    return named;
}

} // namespace cli
