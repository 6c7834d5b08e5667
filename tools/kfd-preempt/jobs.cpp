// SPDX-License-Identifier: MIT
// jobs: what xpreemptd schedules, and what each job got and waited for.
#include "daemon.hpp"
#include "names.hpp"
#include "output.hpp"
#include "scheduling.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace cli {

namespace {

std::string time_text(std::chrono::nanoseconds time) {
    return duration_text(static_cast<std::uint64_t>(time.count()));
}

} // namespace

Report jobs(const Context& context) {
    const Outcome<Daemon> daemon = Daemon::connect(context);
    if (!daemon)
        return report_of(daemon.error());
    auto jobs = daemon->jobs();
    if (!jobs)
        return report_of(jobs.error());
    std::ranges::stable_sort(
        *jobs, {}, [](const xpreemptd::ListedJob& job) { return job.report.attributes.band; });
    Report report;
    report.json["jobs"] = Json::array();
    Table table({"ID", "BAND", "WEIGHT", "PRIORITY", "DEADLINE", "STATE", "GPU-TIME", "HELD",
                 "ADDED-WAIT", "STOPS", "PROCESSES", "NAME"});
    std::string reasons;
    for (const xpreemptd::ListedJob& job : *jobs) {
        const xpreemptd::JobReport& facts = job.report;
        const auto& deadline = facts.attributes.deadline;
        table.add({std::to_string(facts.id), std::string(xpreemptd::name_of(facts.attributes.band)),
                   std::to_string(facts.attributes.weight),
                   std::to_string(facts.attributes.priority), deadline ? time_text(*deadline) : "-",
                   std::string(xpreemptd::name_of(facts.state)), time_text(facts.account.run),
                   time_text(facts.account.held), time_text(facts.account.added_wait),
                   std::to_string(facts.account.preemptions), std::to_string(job.processes),
                   printable(facts.name)});
        if (!facts.reason.empty())
            reasons +=
                fmt::format("job {} is not schedulable: {}\n", facts.id, printable(facts.reason));
        report.json["jobs"].push_back(json_of(job));
    }
    report.text = jobs->empty() ? "no job uses a GPU\n" : table.text() + reasons;
    return report;
}

} // namespace cli
