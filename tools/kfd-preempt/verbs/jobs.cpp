// SPDX-License-Identifier: MIT
// jobs: what xpreemptd schedules, and what each job got and waited for.
#include "daemon/daemon.hpp"
#include "daemon/scheduling.hpp"
#include "output/names.hpp"
#include "output/output.hpp"
#include "processes/save_areas.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace cli {

namespace {

std::string time_text(std::chrono::nanoseconds time) {
    return duration_text(static_cast<std::uint64_t>(time.count()));
}

std::string bytes_text(std::uint64_t bytes) {
    return bytes == 0 ? "-" : rounded_size_text(bytes);
}

// Cells of the VRAM columns, which are shown only if the driver reports sizes.
std::vector<std::string> memory_cells(const xpreemptd::JobReport& job) {
    return {bytes_text(job.resident_bytes), bytes_text(job.yielded_bytes),
            bytes_text(job.missing_bytes)};
}

// The sum over its queues, by the daemon's counts: a job may have thousands.
std::optional<std::uint64_t> save_area_of(const xpreemptd::JobReport& job, SaveAreas& save_areas) {
    if (job.compute_queues.size() != job.gpu_ids.size())
        return std::nullopt;
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < job.gpu_ids.size(); ++i) {
        const std::uint64_t count = job.compute_queues[i];
        const auto bytes = count == 0 ? 0 : save_areas.bytes_on(job.gpu_ids[i]);
        if (!bytes)
            return std::nullopt;
        sum += count * *bytes;
    }
    return sum;
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
    const bool memory = std::ranges::any_of(*jobs, [](const xpreemptd::ListedJob& job) {
        return job.report.resident_bytes + job.report.yielded_bytes != 0;
    });
    std::vector<std::string> heading{"ID",         "BAND",  "WEIGHT",   "PRIORITY",
                                     "DEADLINE",   "STATE", "GPU-TIME", "HELD",
                                     "ADDED-WAIT", "STOPS", "PROCESSES"};
    if (memory)
        heading.insert(heading.end(), {"VRAM", "YIELDED", "MISSING"});
    SaveAreas save_areas(context);
    std::vector<std::optional<std::uint64_t>> saves;
    for (const xpreemptd::ListedJob& job : *jobs)
        saves.push_back(save_area_of(job.report, save_areas));
    const bool any_save_area = std::ranges::any_of(
        saves, [](const std::optional<std::uint64_t>& bytes) { return bytes.value_or(0) != 0; });
    if (any_save_area)
        heading.emplace_back("SAVE");
    heading.emplace_back("NAME");
    Table table(std::move(heading));
    std::string reasons;
    for (const xpreemptd::ListedJob& job : *jobs) {
        const xpreemptd::JobReport& facts = job.report;
        const auto& deadline = facts.attributes.deadline;
        std::vector<std::string> row{std::to_string(facts.id),
                                     std::string(xpreemptd::name_of(facts.attributes.band)),
                                     std::to_string(facts.attributes.weight),
                                     std::to_string(facts.attributes.priority),
                                     deadline ? time_text(*deadline) : "-",
                                     std::string(xpreemptd::name_of(facts.state)),
                                     time_text(facts.account.run),
                                     time_text(facts.account.held),
                                     time_text(facts.account.added_wait),
                                     std::to_string(facts.account.preemptions),
                                     std::to_string(job.processes)};
        if (memory)
            std::ranges::move(memory_cells(facts), std::back_inserter(row));
        const auto& save_area = saves[report.json["jobs"].size()];
        if (any_save_area)
            row.push_back(bytes_text(save_area.value_or(0)));
        row.push_back(printable(facts.name));
        table.add(std::move(row));
        if (!facts.reason.empty())
            reasons +=
                fmt::format("job {} is not schedulable: {}\n", facts.id, printable(facts.reason));
        Json json = json_of(job);
        json["save_area_bytes"] = save_area ? Json(*save_area) : Json(nullptr);
        report.json["jobs"].push_back(std::move(json));
    }
    report.text = jobs->empty() ? "no job uses a GPU\n" : table.text() + reasons;
    if (const auto status = daemon->status())
        report.text += why_all_run(status->policy, *jobs);
    return report;
}

} // namespace cli
