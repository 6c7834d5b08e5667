// SPDX-License-Identifier: MIT
// The Trace Event Format: B and E for slices, X for a stop, i for a decision, C for counters.
#include "output/trace_writer.hpp"

#include "output/names.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace cli {

namespace {

using xpreemptd::Happening;
using xpreemptd::JobState;

constexpr std::uint64_t daemon_process = xpreemptd::daemon_in_trace, decisions_thread = 1;
// Below those of GPUs, whose ids are hashes.
constexpr std::uint64_t switches_thread = 1;

// Microseconds, as the format has it, with all digits.
std::string microseconds(std::chrono::nanoseconds time) {
    return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
}

template <typename Names, typename Word> std::string word_of(const Names& names, Word word) {
    return std::string(names.at(static_cast<std::size_t>(word)));
}

xpreemptd::Phase phase_of(JobState state) {
    switch (state) {
    case JobState::running: return xpreemptd::Phase::running;
    case JobState::held: return xpreemptd::Phase::waiting;
    case JobState::held_by_others: return xpreemptd::Phase::held;
    case JobState::idle:
    case JobState::not_schedulable: break;
    }
    return xpreemptd::Phase::idle;
}

} // namespace

// Numbers of ts and dur are written by hand: a double would lose digits after a month of uptime.
std::string TraceWriter::event(const char* type, std::uint64_t process, std::uint64_t thread,
                               const Json& more) {
    Json json{{"ph", type}, {"pid", process}, {"tid", thread}};
    json.update(more);
    std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
    text.insert(1, fmt::format("\"ts\":{},", microseconds(now_)));
    return (events_++ == 0 ? "" : ",\n") + text;
}

std::string TraceWriter::name_process(std::uint64_t process, const std::string& name) {
    return event("M", process, 0, {{"name", "process_name"}, {"args", {{"name", name}}}});
}

std::string TraceWriter::name_thread(std::uint64_t process, std::uint64_t thread,
                                     const std::string& name) {
    return event("M", process, thread, {{"name", "thread_name"}, {"args", {{"name", name}}}});
}

std::string TraceWriter::begin(Time now) {
    advance(now);
    // One after the other: the first event has no comma before it.
    std::string text = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n";
    text += name_process(daemon_process, "xpreemptd");
    text += name_thread(daemon_process, decisions_thread, "decisions");
    return text;
}

std::string TraceWriter::name_of_job(std::uint64_t job) const {
    const auto found = tracks_.find(job);
    return found == tracks_.end() || found->second.name.empty() ? fmt::format("job {}", job)
                                                                : found->second.name;
}

std::string TraceWriter::close(std::uint64_t job, Track& track) {
    std::string text;
    for (const std::uint32_t gpu_id : track.gpu_ids)
        text += event("E", job, gpu_id, Json::object());
    track.gpu_ids.clear();
    track.phase = Phase::idle;
    return text;
}

std::string TraceWriter::open(std::uint64_t job, Track& track, Phase phase,
                              const std::vector<std::uint32_t>& gpu_ids) {
    if (track.told && track.phase == phase && track.gpu_ids == gpu_ids)
        return {};
    std::string text = close(job, track);
    track.told = true;
    track.phase = phase;
    if (phase == Phase::idle || phase == Phase::gone)
        return text;
    track.gpu_ids = gpu_ids;
    for (const std::uint32_t gpu_id : gpu_ids) {
        if (track.named.insert(gpu_id).second)
            text += name_thread(job, gpu_id, fmt::format("GPU {}", gpu_id));
        text += event("B", job, gpu_id,
                      {{"name", word_of(xpreemptd::phase_names, phase)}, {"cat", "phase"}});
    }
    return text;
}

std::string TraceWriter::counters() {
    std::array<std::uint64_t, xpreemptd::phase_names.size()> jobs{};
    for (const auto& [id, track] : tracks_)
        ++jobs.at(static_cast<std::size_t>(track.phase));
    const auto count = [&](Phase phase) { return jobs.at(static_cast<std::size_t>(phase)); };
    const Json counts{{"running", count(Phase::running)},
                      {"waiting", count(Phase::waiting)},
                      {"held", count(Phase::held)}};
    std::string text = counts.dump();
    if (text == last_counters_)
        return {};
    last_counters_ = std::move(text);
    return event("C", daemon_process, decisions_thread, {{"name", "jobs"}, {"args", counts}});
}

std::string TraceWriter::names(const std::vector<xpreemptd::ListedJob>& jobs) {
    std::string text;
    for (const xpreemptd::ListedJob& listed : jobs) {
        const xpreemptd::JobReport& job = listed.report;
        Track& track = tracks_[job.id];
        if (!track.name.empty())
            continue;
        track.name = fmt::format("{} ({})", printable(job.name), job.id);
        text += name_process(job.id, track.name);
        text += name_thread(job.id, switches_thread, "stops and resumes");
    }
    return text;
}

std::string TraceWriter::phases(const std::vector<xpreemptd::ListedJob>& jobs, Time now) {
    advance(now);
    std::string text = names(jobs);
    for (const xpreemptd::ListedJob& listed : jobs) {
        const xpreemptd::JobReport& job = listed.report;
        text += open(job.id, tracks_[job.id], phase_of(job.state), job.gpu_ids);
    }
    return text + counters();
}

std::string TraceWriter::record(const xpreemptd::ShownRecord& shown) {
    const xpreemptd::TraceRecord& record = shown.record;
    advance(record.at);
    std::string text;
    switch (record.what) {
    case Happening::decision: {
        Json args{{"cause", word_of(xpreemptd::cause_names, record.cause)}};
        if (record.job != 0)
            args["job"] = name_of_job(record.job);
        return event("i", daemon_process, decisions_thread,
                     {{"name", args["cause"]}, {"cat", "decision"}, {"s", "t"}, {"args", args}});
    }
    case Happening::stop:
    case Happening::resume: {
        const bool stop = record.what == Happening::stop;
        Json args{{"queues", record.queues},
                  {"failed", record.failed},
                  {"latency_us", static_cast<double>(record.took.count()) / 1000}};
        if (stop && record.for_job != 0)
            args["for"] = name_of_job(record.for_job);
        return event("X", record.job, switches_thread,
                     {{"name", stop ? "stop" : "resume"},
                      {"cat", "switch"},
                      {"dur", static_cast<double>(record.took.count()) / 1000},
                      {"args", args}});
    }
    case Happening::phase: break;
    }
    Track& track = tracks_[record.job];
    text = open(record.job, track, record.phase, shown.gpu_ids);
    return text + counters();
}

std::string TraceWriter::lost(std::uint64_t records) {
    std::string text;
    for (auto& [job, track] : tracks_) {
        text += close(job, track);
        track.told = false;
    }
    return text + event("i", daemon_process, decisions_thread,
                        {{"name", "LOST"},
                         {"cat", "decision"},
                         {"s", "g"},
                         {"args", {{"records", records}}}});
}

std::string TraceWriter::end(Time now) {
    advance(now);
    std::string text;
    for (auto& [job, track] : tracks_)
        text += close(job, track);
    return text + counters() + "\n]}\n";
}

} // namespace cli
