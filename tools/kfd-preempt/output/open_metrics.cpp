// SPDX-License-Identifier: MIT
// One family after the other, each with all its samples.
#include "output/open_metrics.hpp"

#include "output/names.hpp"

#include <array>
#include <chrono>
#include <fmt/format.h>
#include <functional>
#include <string_view>

namespace cli {

namespace {

using std::chrono::nanoseconds;
using xpreemptd::JobReport;
using xpreemptd::ListedJob;

std::string seconds(nanoseconds time) {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t count = std::max<std::int64_t>(time.count(), 0);
    return fmt::format("{}.{:09}", count / second, count % second);
}

// Control bytes are shown as `jobs` shows them.
std::string label_value(std::string_view text) {
    std::string value;
    for (const char c : printable(text)) {
        if (c == '\\' || c == '"')
            value += '\\';
        value += c;
    }
    return value;
}

std::string labels_of(const JobReport& job, std::string_view more = {}) {
    return fmt::format("{{id=\"{}\",name=\"{}\"{}}}", job.id, label_value(job.name), more);
}

struct Family {
    std::string_view name;
    std::string_view type; // "counter", "gauge", "summary"
    std::string_view help;
};

std::string header(const Family& family) {
    std::string text =
        fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", family.name, family.help, family.type);
    if (family.name.ends_with("_seconds"))
        text += fmt::format("# UNIT {} seconds\n", family.name);
    return text;
}

std::string_view suffix(const Family& family) {
    return family.type == "counter" ? "_total" : "";
}

// One sample without labels.
std::string single(const Family& family, std::string_view value) {
    return fmt::format("{}{}{} {}\n", header(family), family.name, suffix(family), value);
}

std::string count(const Family& family, std::uint64_t value) {
    return single(family, std::to_string(value));
}

using ValueOf = std::function<std::string(const ListedJob&)>;

std::string of_jobs(const std::vector<ListedJob>& jobs, const Family& family,
                    const ValueOf& value_of) {
    std::string text = header(family);
    for (const ListedJob& job : jobs)
        text += fmt::format("{}{}{} {}\n", family.name, suffix(family), labels_of(job.report),
                            value_of(job));
    return text;
}

// A sample of 1 for the word that holds and of 0 for the others.
template <typename Word, std::size_t Size>
std::string words_of_jobs(const std::vector<ListedJob>& jobs, const Family& family,
                          std::string_view label, const std::array<Word, Size>& words,
                          const std::function<Word(const JobReport&)>& word_of) {
    std::string text = header(family);
    for (const ListedJob& job : jobs)
        for (const Word word : words)
            text += fmt::format(
                "{}{} {}\n", family.name,
                labels_of(job.report, fmt::format(",{}=\"{}\"", label, xpreemptd::name_of(word))),
                word_of(job.report) == word ? 1 : 0);
    return text;
}

std::string reactions(const Family& family, const xpreemptd::ReactionTimes& times) {
    std::string text = header(family);
    if (times.count > 0)
        for (const auto& [quantile, time] :
             {std::pair{"0.5", times.p50}, {"0.99", times.p99}, {"1", times.max}})
            text += fmt::format("{}{{quantile=\"{}\"}} {}\n", family.name, quantile, seconds(time));
    return text + fmt::format("{0}_sum {1}\n{0}_count {2}\n", family.name, seconds(times.sum),
                              times.count);
}

std::string metrics_of(const xpreemptd::StatusReport& status) {
    std::string text = header({"xpreempt_policy", "gauge", "The policy that decides."});
    text += fmt::format("xpreempt_policy{{policy=\"{}\"}} 1\n", label_value(status.policy));
    text += count({"xpreempt_policy_ejected", "gauge",
                   "1 after the policy held a job for nothing; then everything runs."},
                  status.ejected.empty() ? 0 : 1);
    text += count({"xpreempt_decisions", "counter", "Calls of the policy."}, status.decisions);
    text +=
        count({"xpreempt_switches", "counter", "Calls of the driver to stop and resume queues."},
              status.switches);
    text += count({"xpreempt_refusals", "counter", "Queues that such a call could not change."},
                  status.refusals);
    text += count({"xpreempt_ready_edges", "counter",
                   "Times that a ring of a doorbell brought work to an idle process."},
                  status.edges);
    text += count({"xpreempt_ready_edges_found_late", "counter",
                   "Times that a scan found work that no doorbell event had reported."},
                  status.edges_found_late);
    text += reactions({"xpreempt_ring_to_switch_seconds", "summary",
                       "Time from a ring to the call of the driver that stops others."},
                      status.ring_to_switch);
    text += reactions({"xpreempt_ring_to_stopped_seconds", "summary",
                       "Time from a ring until the others are off the GPU."},
                      status.ring_to_stopped);
    text += single({"xpreempt_switch_cost_seconds", "gauge",
                    "Time that a stop and a resume take, the cheapest of the last ones."},
                   seconds(status.switch_cost));
    text += count({"xpreempt_moves", "counter", "Calls of the driver that moved memory."},
                  status.moves);
    text += count({"xpreempt_moved_out_bytes", "counter", "Bytes that left VRAM."},
                  status.moved_out_bytes);
    text += count({"xpreempt_moved_back_bytes", "counter", "Bytes that came back to VRAM."},
                  status.moved_back_bytes);
    return text;
}

std::string times_of(const std::vector<ListedJob>& jobs) {
    const auto time = [](nanoseconds xpreemptd::sched::Account::* of) {
        return [of](const ListedJob& job) { return seconds(job.report.account.*of); };
    };
    using xpreemptd::sched::Account;
    std::string text;
    text += of_jobs(jobs,
                    {"xpreempt_job_gpu_seconds", "counter", "Time that the job had work and ran."},
                    time(&Account::run));
    text += of_jobs(
        jobs,
        {"xpreempt_job_ready_seconds", "counter", "Time that the job had work, running or not."},
        time(&Account::ready));
    text +=
        of_jobs(jobs, {"xpreempt_job_held_seconds", "counter", "Time that xpreemptd held the job."},
                time(&Account::held));
    text += of_jobs(jobs,
                    {"xpreempt_job_added_wait_seconds", "counter",
                     "Time that the job had work and only xpreemptd held it."},
                    time(&Account::added_wait));
    text += of_jobs(
        jobs, {"xpreempt_job_accounted_seconds", "counter", "Time that the other times are of."},
        time(&Account::known));
    return text;
}

std::string metrics_of(const std::vector<ListedJob>& jobs) {
    std::string text = times_of(jobs);
    text += of_jobs(
        jobs, {"xpreempt_job_stops", "counter", "Times that xpreemptd stopped the job."},
        [](const ListedJob& job) { return std::to_string(job.report.account.preemptions); });
    text += of_jobs(jobs,
                    {"xpreempt_job_requests", "counter", "Times that the job began to have work."},
                    [](const ListedJob& job) { return std::to_string(job.report.ready_edges); });
    text += of_jobs(jobs, {"xpreempt_job_processes", "gauge", "Processes of the job on GPUs."},
                    [](const ListedJob& job) { return std::to_string(job.processes); });
    text += of_jobs(jobs, {"xpreempt_job_queues", "gauge", "Queues of the job."},
                    [](const ListedJob& job) { return std::to_string(job.report.queues); });
    text +=
        of_jobs(jobs, {"xpreempt_job_weight", "gauge", "Weight of the job, for policy CFS."},
                [](const ListedJob& job) { return std::to_string(job.report.attributes.weight); });
    text += of_jobs(
        jobs, {"xpreempt_job_priority", "gauge", "Priority of the job, for policy HPF."},
        [](const ListedJob& job) { return std::to_string(job.report.attributes.priority); });
    text += of_jobs(jobs, {"xpreempt_job_vram_bytes", "gauge", "Bytes of the job in VRAM."},
                    [](const ListedJob& job) { return std::to_string(job.report.resident_bytes); });
    text += of_jobs(
        jobs, {"xpreempt_job_yielded_bytes", "gauge", "Bytes of the job that have left VRAM."},
        [](const ListedJob& job) { return std::to_string(job.report.yielded_bytes); });
    text += of_jobs(jobs,
                    {"xpreempt_job_missing_bytes", "gauge",
                     "Bytes of VRAM that must come free before the job can run."},
                    [](const ListedJob& job) { return std::to_string(job.report.missing_bytes); });
    using xpreemptd::JobState;
    using xpreemptd::sched::Band;
    text += words_of_jobs<Band, xpreemptd::sched::num_bands>(
        jobs, {"xpreempt_job_band", "gauge", "1 for the band of the job, for policy BAND."}, "band",
        {Band::realtime, Band::high, Band::normal, Band::idle},
        [](const JobReport& job) { return job.attributes.band; });
    text += words_of_jobs<JobState, 5>(
        jobs, {"xpreempt_job_state", "gauge", "1 for the state of the job."}, "state",
        {JobState::idle, JobState::running, JobState::held, JobState::held_by_others,
         JobState::not_schedulable},
        [](const JobReport& job) { return job.state; });
    return text;
}

} // namespace

std::string open_metrics(const DaemonFigures* figures) {
    std::string text =
        count({"xpreempt_up", "gauge", "Whether xpreemptd runs."}, figures != nullptr ? 1 : 0);
    if (figures != nullptr)
        text += metrics_of(figures->status) + metrics_of(figures->jobs);
    return text + "# EOF\n";
}

} // namespace cli
