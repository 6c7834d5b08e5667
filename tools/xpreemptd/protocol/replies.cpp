// SPDX-License-Identifier: MIT
// Writes replies, and splits a long list of jobs.
#include "protocol/replies.hpp"

#include "control/daemon_errors.hpp"
#include "protocol/requests.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <fmt/format.h>

namespace xpreemptd {

namespace {

using Json = nlohmann::ordered_json;

// JSON writes one byte as six at most ("\u0001"), so that a job with all of these fits.
constexpr std::size_t max_name_bytes = PATH_MAX, max_text_bytes = 2048;
constexpr std::size_t max_pids = 1000, max_gpus = 256;

constexpr std::array<std::string_view, 5> state_names{"idle", "running", "held", "held_by_others",
                                                      "not_schedulable"};

// A text that is no UTF-8 is written with U+FFFD, three bytes for one at most.
std::string text_of(const Json& json) {
    return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string cut(const std::string& text, std::size_t most) {
    return text.size() <= most ? text : text.substr(0, most);
}

Json succeeded() {
    return {{"schema", 1}, {"ok", true}};
}

template <typename T> Json first_of(const std::vector<T>& items, std::size_t most) {
    return std::vector<T>(
        items.begin(), items.begin() + static_cast<std::ptrdiff_t>(std::min(items.size(), most)));
}

Json json_of(const ReactionTimes& times) {
    return {{"count", times.count},
            {"sum_ns", times.sum.count()},
            {"p50_ns", times.p50.count()},
            {"p99_ns", times.p99.count()},
            {"max_ns", times.max.count()}};
}

template <typename Names, typename Word> std::string_view word_of(const Names& names, Word word) {
    return names.at(static_cast<std::size_t>(word));
}

Json json_of(const ShownRecord& shown) {
    const TraceRecord& record = shown.record;
    Json json{{"at_ns", record.at.count()},
              {"what", word_of(happening_names, record.what)},
              {"job", record.job}};
    switch (record.what) {
    case Happening::decision: json["cause"] = word_of(cause_names, record.cause); break;
    case Happening::stop: json["for_job"] = record.for_job; [[fallthrough]];
    case Happening::resume:
        json["queues"] = record.queues;
        json["failed"] = record.failed;
        json["took_ns"] = record.took.count();
        break;
    case Happening::phase:
        json["phase"] = word_of(phase_names, record.phase);
        json["gpu_ids"] = shown.gpu_ids;
        break;
    }
    return json;
}

} // namespace

std::string_view name_of(JobState state) {
    return state_names.at(static_cast<std::size_t>(state));
}

Json json_of(sched::Band band) {
    return name_of(band);
}

template <typename Number> Json json_of(Number number) {
    return number;
}

Json json_of(const std::optional<std::chrono::microseconds>& time) {
    return time ? Json(time->count()) : Json(nullptr);
}

Json json_of(const ListedJob& job) {
    const JobReport& report = job.report;
    const bool refused = report.state == JobState::not_schedulable;
    Json json{{"id", report.id}, {"name", cut(report.name, max_name_bytes)}};
    for_each_attribute(
        [&](const auto& each) { json[each.key] = json_of(report.attributes.*each.stored); });
    json.update(Json{
        {"state", name_of(report.state)},
        {"reason", refused ? Json(cut(report.reason, max_text_bytes)) : Json(nullptr)},
        {"processes", job.processes},
        {"pids", first_of(report.pids, max_pids)},
        {"gpu_ids", first_of(report.gpu_ids, max_gpus)},
        {"compute_queues", first_of(report.compute_queues, max_gpus)},
        {"queues", report.queues},
        {"ready_edges", report.ready_edges},
        {"ready_ns", report.account.ready.count()},
        {"run_ns", report.account.run.count()},
        {"held_ns", report.account.held.count()},
        {"added_wait_ns", report.account.added_wait.count()},
        {"preemptions", report.account.preemptions},
        {"accounted_ns", report.account.known.count()},
        {"resident_bytes", report.resident_bytes},
        {"yielded_bytes", report.yielded_bytes},
        {"missing_bytes", report.missing_bytes},
        {"focused", report.focused},
    });
    return json;
}

Json json_of(const StatusReport& status) {
    return {
        {"policy", cut(status.policy, max_text_bytes)},
        {"ejected",
         status.ejected.empty() ? Json(nullptr) : Json(cut(status.ejected, max_text_bytes))},
        {"sensing", cut(status.sensing, max_text_bytes)},
        {"decisions", status.decisions},
        {"switches", status.switches},
        {"refusals", status.refusals},
        {"edges", status.edges},
        {"edges_found_late", status.edges_found_late},
        {"ring_to_switch", json_of(status.ring_to_switch)},
        {"ring_to_stopped", json_of(status.ring_to_stopped)},
        {"switch_cost_ns", status.switch_cost.count()},
        {"moves", status.moves},
        {"moved_out_bytes", status.moved_out_bytes},
        {"moved_back_bytes", status.moved_back_bytes},
        {"plugin",
         status.plugin.empty() ? Json(nullptr) : Json(cut(status.plugin, max_text_bytes))},
    };
}

std::string done_reply() {
    return text_of(succeeded());
}

std::string refusal_reply(const Refusal& refusal) {
    return text_of({{"schema", 1},
                    {"ok", false},
                    {"error", xpreempt::control::name_of_daemon_error(refusal.error)},
                    {"text", cut(refusal.text, max_text_bytes)}});
}

std::string status_reply(const StatusReport& status) {
    Json reply = succeeded();
    reply.update(json_of(status));
    return text_of(reply);
}

std::string trace_reply(const TracePage& page) {
    // Around the list: the keys of a reply, with numbers of twenty digits.
    constexpr std::size_t room = max_message_bytes - 256;
    std::string list;
    std::uint64_t next = page.first;
    for (const ShownRecord& record : page.records) {
        const std::string item = text_of(json_of(record));
        if (list.size() + item.size() + 1 > room)
            break;
        list += list.empty() ? "" : ",";
        list += item;
        ++next;
    }
    return fmt::format(R"({{"schema":1,"ok":true,"now_ns":{},"first":{},"next":{},"lost":{},)"
                       R"("records":[{}]}})",
                       page.now.count(), page.first, next, page.lost, list);
}

std::string jobs_reply(std::vector<JobReport> jobs, std::uint64_t from) {
    std::ranges::sort(jobs, {}, &JobReport::id);
    // Around the list: the keys of a reply, and "next".
    constexpr std::size_t room = max_message_bytes - 128;
    std::string list;
    std::optional<std::uint64_t> next;
    for (const JobReport& report : jobs) {
        if (report.id < from)
            continue;
        const std::string item = text_of(json_of(ListedJob{report, report.pids.size()}));
        if (list.size() + item.size() + 1 > room) {
            next = report.id;
            break;
        }
        list += list.empty() ? "" : ",";
        list += item;
    }
    return fmt::format(R"({{"schema":1,"ok":true,"jobs":[{}]{}}})", list,
                       next ? fmt::format(R"(,"next":{})", *next) : "");
}

} // namespace xpreemptd
