// SPDX-License-Identifier: MIT
// Reports of jobs, of the daemon and of its trace to clients.
#include "scheduling/daemon.hpp"

#include <algorithm>
#include <map>

namespace xpreemptd {

JobReport Daemon::report_of(const Job& job) const {
    JobReport report;
    report.id = job.id;
    report.name = job.name;
    report.attributes = job.attributes;
    job.hints.change.apply_to(report.attributes);
    report.reason = job.refusal();
    report.state = !report.reason.empty() ? JobState::not_schedulable
                   : job.held()           ? JobState::held
                   : job.held_by_others() ? JobState::held_by_others
                   : job.ready            ? JobState::running
                                          : JobState::idle;
    std::map<std::uint32_t, std::uint64_t> compute_queues; // by gpu_id
    for (const auto& process : job.processes) {
        report.pids.push_back(process->facts.pid);
        report.queues += process->queues.size();
        for (const Queue& queue : process->queues)
            compute_queues[queue.gpu_id] += queue.compute ? 1U : 0U;
    }
    for (const auto& [gpu_id, count] : compute_queues) {
        report.gpu_ids.push_back(gpu_id);
        report.compute_queues.push_back(count);
    }
    report.focused = job.focused();
    report.ready_edges = job.ready_edges;
    report.account = decisions_.account_of(job);
    report.resident_bytes = job.vram(&VramUse::resident) + job.vram(&VramUse::stays);
    report.yielded_bytes = job.vram(&VramUse::away);
    report.missing_bytes = memory_.missing(job);
    return report;
}

std::vector<JobReport> Daemon::jobs(std::uint64_t from, std::size_t most) const {
    const auto jobs = table_.jobs();
    std::vector<JobReport> reports;
    for (auto job = std::ranges::lower_bound(jobs, from, {}, &Job::id);
         job != jobs.end() && reports.size() < most; ++job)
        reports.push_back(report_of(**job));
    return reports;
}

StatusReport Daemon::status() const {
    return {.policy = decisions_.policy_name(),
            .ejected = decisions_.ejected().empty() ? left_out_ : decisions_.ejected(),
            .sensing =
                provider_.event_fd() >= 0 ? "watch" : "polling: the driver has no PREEMPT_WATCH",
            .decisions = decisions_.count(),
            .switches = switching_.counts().calls,
            .refusals = switching_.counts().refusals,
            .edges = sensing_.counts().edges,
            .edges_found_late = sensing_.counts().late_edges,
            .ring_to_switch = ring_to_switch_.times(),
            .ring_to_stopped = ring_to_stopped_.times(),
            .switch_cost = switching_.cost().last_known(),
            .moves = memory_.counts().moves,
            .moved_out_bytes = memory_.counts().bytes_out,
            .moved_back_bytes = memory_.counts().bytes_back,
            .plugin = plugin_decides() ? rules_.plugin.string() : ""};
}

// As many as fit into a reply, mostly.
TracePage Daemon::trace(std::optional<std::uint64_t> from) const {
    constexpr std::size_t most = 512;
    return recorder_.page(from, clock_(), table_, most);
}

} // namespace xpreemptd
