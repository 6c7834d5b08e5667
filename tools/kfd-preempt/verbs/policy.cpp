// SPDX-License-Identifier: MIT
// policy: how xpreemptd schedules, or by what it shall.
#include "daemon/daemon.hpp"
#include "daemon/scheduling.hpp"
#include "output/names.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace cli {

namespace {

std::string times_text(const char* what, const xpreemptd::ReactionTimes& times) {
    if (times.count == 0)
        return fmt::format("{}: none yet\n", what);
    const auto text = [](std::chrono::nanoseconds time) {
        return duration_text(static_cast<std::uint64_t>(time.count()));
    };
    return fmt::format("{}: p50 {}, p99 {}, max {} (last {} of {})\n", what, text(times.p50),
                       text(times.p99), text(times.max),
                       std::min<std::uint64_t>(times.count, times.most_samples), times.count);
}

AttributeChange set_in_any(const std::vector<xpreemptd::ListedJob>& jobs) {
    AttributeChange set;
    for (const xpreemptd::ListedJob& job : jobs)
        xpreemptd::set_in(job.report.attributes).apply_to(set);
    return set;
}

} // namespace

Report policy(const Context& context, const std::string& name) {
    const Outcome<Daemon> daemon = Daemon::connect(context);
    if (!daemon)
        return report_of(daemon.error());
    if (!name.empty())
        if (const Outcome<void> set = daemon->set_policy(name); !set)
            return report_of(set.error());
    const auto status = daemon->status();
    if (!status)
        return report_of(status.error());
    Report report;
    report.json = xpreemptd::json_of(*status);
    report.text = fmt::format("policy: {}\n", printable(status->policy));
    if (!name.empty())
        if (const auto jobs = daemon->jobs())
            if (const std::string ignored = ignored_by(status->policy, set_in_any(*jobs));
                !ignored.empty())
                report.text += fmt::format("{} of jobs that have one\n", ignored);
    if (!status->plugin.empty())
        report.text += fmt::format("plug-in: {}\n", printable(status->plugin));
    if (!status->ejected.empty())
        report.text += fmt::format("ejected: {}\n", printable(status->ejected));
    report.text += fmt::format("sensing: {}\ndecisions: {}, switches: {}, refused queues: {}\n"
                               "ready edges: {}, found late: {}\n",
                               printable(status->sensing), status->decisions, status->switches,
                               status->refusals, status->edges, status->edges_found_late);
    report.text += times_text("ring to switch", status->ring_to_switch);
    report.text += times_text("ring to stopped", status->ring_to_stopped);
    if (status->switch_cost.count() != 0)
        report.text +=
            fmt::format("a stop and a resume: {}\n",
                        duration_text(static_cast<std::uint64_t>(status->switch_cost.count())));
    if (status->moves != 0)
        report.text += fmt::format("moves of memory: {}, {} out of VRAM, {} back\n", status->moves,
                                   rounded_size_text(status->moved_out_bytes),
                                   rounded_size_text(status->moved_back_bytes));
    return report;
}

} // namespace cli
