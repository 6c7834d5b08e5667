// SPDX-License-Identifier: MIT
// Reads the phases of jobs out of a trace in the Trace Event Format.
#include "recording.hpp"

#include "xpreemptd/protocol/trace_record.hpp"

#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace sim {

namespace {

using Json = nlohmann::json;

struct Slice {
    Time begin = 0, end = 0;
    std::string phase;
};

struct Track {
    std::vector<Slice> slices; // in order
    bool open = false;
};

struct Process {
    std::string name;
    std::map<std::uint64_t, Track> gpus; // by the id of the GPU
    std::uint64_t stops = 0;
};

template <typename T> T value_of(const Json& event, const char* key, T fallback) {
    const auto found = event.find(key);
    if (found == event.end())
        return fallback;
    if constexpr (std::is_same_v<T, std::string>)
        return found->is_string() ? found->get<T>() : fallback;
    else
        return found->is_number() ? found->get<T>() : fallback;
}

class Reader {
public:
    void take(const Json& event) {
        const auto type = value_of<std::string>(event, "ph", "");
        const auto job = value_of<std::uint64_t>(event, "pid", 0);
        const Time at = round_time(value_of<double>(event, "ts", 0) * us);
        first_ = std::min(first_, at);
        last_ = std::max(last_, at);
        if (job == 0 || job == xpreemptd::daemon_in_trace) {
            if (value_of<std::string>(event, "name", "") == "LOST" && event.contains("args"))
                lost_ += value_of<std::uint64_t>(event["args"], "records", 0);
            return;
        }
        Process& process = processes_[job];
        if (type == "M" && value_of<std::string>(event, "name", "") == "process_name" &&
            event.contains("args"))
            process.name = value_of<std::string>(event["args"], "name", "");
        else if (type == "X")
            take_switch(job, value_of<std::string>(event, "name", ""), at);
        else if (type == "B" || type == "E")
            take_slice(process, event, type == "B", at);
    }
    Recording finish();

private:
    static void take_slice(Process& process, const Json& event, bool begins, Time at) {
        Track& track = process.gpus[value_of<std::uint64_t>(event, "tid", 0)];
        if (track.open)
            track.slices.back().end = at;
        track.open = begins;
        if (begins)
            track.slices.push_back({at, at, value_of<std::string>(event, "name", "")});
    }
    void take_switch(std::uint64_t job, std::string_view name, Time at);
    RecordedJob job_of(std::uint64_t id, const Process& process,
                       const std::vector<std::uint64_t>& gpus) const;

    // Changes of one call of the driver have the same time.
    struct Switch {
        Time at = 0;
        std::uint64_t job = 0;
        bool stop = false;
    };
    std::vector<ModelProvider::Call> calls_of(std::span<const std::uint64_t> jobs) const;

    std::map<std::uint64_t, Process> processes_; // by the id of the job
    std::vector<Switch> switches_;
    Time first_ = never, last_ = 0;
    std::uint64_t lost_ = 0;
};

// Phases that follow without a gap are of one request.
RecordedJob Reader::job_of(std::uint64_t id, const Process& process,
                           const std::vector<std::uint64_t>& gpus) const {
    RecordedJob job;
    const std::string suffix = fmt::format(" ({})", id);
    job.name = process.name.ends_with(suffix)
                   ? process.name.substr(0, process.name.size() - suffix.size())
                   : process.name;
    job.stops = process.stops;
    for (const auto& [gpu, track] : process.gpus)
        job.nodes |= std::uint64_t{1} << (std::ranges::find(gpus, gpu) - gpus.begin());
    Time end = -1, waits_since = 0;
    for (const Slice& slice : process.gpus.begin()->second.slices) {
        if (slice.begin != end) {
            job.requests.push_back({slice.begin - first_, 0, 0, 0});
            job.latencies.push_back(0);
            waits_since = slice.begin;
        }
        end = slice.end;
        job.latencies.back() += slice.end - slice.begin;
        if (slice.phase == "running") {
            job.requests.back().work += slice.end - slice.begin;
            waits_since = slice.end;
        }
        job.longest_wait = std::max(job.longest_wait, slice.end - waits_since);
    }
    job.goes_on = end == last_;
    for (TraceEntry& request : job.requests)
        request.work = std::max(request.work, us); // it never ran
    return job;
}

void Reader::take_switch(std::uint64_t job, std::string_view name, Time at) {
    if (name != "stop" && name != "resume")
        return;
    processes_[job].stops += name == "stop" ? 1U : 0U;
    switches_.push_back({at, job, name == "stop"});
}

std::vector<ModelProvider::Call> Reader::calls_of(std::span<const std::uint64_t> jobs) const {
    std::vector<ModelProvider::Call> calls;
    for (const Switch& change : switches_) {
        const auto job = std::ranges::find(jobs, change.job);
        if (job == jobs.end())
            continue;
        if (calls.empty() || calls.back().at != change.at - first_)
            calls.push_back({change.at - first_, {}});
        calls.back().changes.push_back({static_cast<std::size_t>(job - jobs.begin()), change.stop});
    }
    return calls;
}

Recording Reader::finish() {
    std::set<std::uint64_t> ids;
    for (const auto& [job, process] : processes_)
        for (const auto& [gpu, track] : process.gpus)
            ids.insert(gpu);
    const std::vector<std::uint64_t> gpus(ids.begin(), ids.end());
    Recording recording;
    recording.nodes = static_cast<std::uint32_t>(std::clamp<std::size_t>(gpus.size(), 1, 64));
    recording.duration = first_ == never ? 0 : last_ - first_;
    recording.lost = lost_;
    std::map<std::string, int> names;
    std::vector<std::uint64_t> of_jobs;
    for (const auto& [id, process] : processes_) {
        if (process.gpus.empty() || gpus.size() > sched::max_nodes)
            continue;
        RecordedJob job = job_of(id, process, gpus);
        if (++names[job.name] > 1 || job.name.empty())
            job.name += fmt::format(" ({})", id);
        recording.jobs.push_back(std::move(job));
        of_jobs.push_back(id);
    }
    recording.calls = calls_of(of_jobs);
    return recording;
}

std::string toml_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\')
            quoted += '\\';
        quoted += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
    return quoted + "\"";
}

std::string nodes_text(std::uint64_t nodes) {
    std::string text;
    for (; nodes != 0; nodes &= nodes - 1)
        text += fmt::format("{}{}", text.empty() ? "" : ",", std::countr_zero(nodes));
    return text;
}

} // namespace

Answer<Recording> parse_recording(std::string_view text, const std::string& file) {
    const Json trace = Json::parse(text, nullptr, false);
    const auto events = trace.is_object() ? trace.find("traceEvents") : trace.end();
    if (!trace.is_object() || events == trace.end() || !events->is_array())
        return tl::make_unexpected(
            fmt::format("{}: no recording, expected a file of `kfd-preempt trace`", file));
    Reader reader;
    for (const Json& event : *events)
        if (event.is_object())
            reader.take(event);
    Recording recording = reader.finish();
    if (recording.jobs.empty() || recording.duration <= 0)
        return tl::make_unexpected(fmt::format("{}: no job had work in this recording", file));
    return recording;
}

Answer<Scenario> scenario_of(const Recording& recording, std::span<const Setting> settings,
                             const OptionalPlugin& plugin) {
    std::string text = fmt::format("[gpu]\nnodes = {}\n", recording.nodes);
    for (const RecordedJob& job : recording.jobs)
        text += fmt::format("[[job]]\nname = {}\nnodes = \"{}\"\n", toml_string(job.name),
                            nodes_text(job.nodes));
    auto scenario = parse_scenario(text, "recording", settings, plugin);
    if (!scenario)
        return scenario;
    scenario->duration = recording.duration;
    for (std::size_t i = 0; i < scenario->jobs.size(); ++i) {
        scenario->jobs[i].arrival = Arrival::trace;
        scenario->jobs[i].trace = recording.jobs[i].requests;
    }
    return scenario;
}

std::vector<Row> rows_of(const Recording& recording, const Scenario& scenario) {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < recording.jobs.size(); ++i) {
        const RecordedJob& recorded = recording.jobs[i];
        JobResult job;
        job.ran = true;
        job.record.latencies = recorded.latencies;
        job.record.ended = recorded.latencies.size();
        for (const TraceEntry& request : recorded.requests)
            job.work += static_cast<double>(request.work);
        job.longest_wait = recorded.longest_wait;
        job.stops = recorded.stops;
        rows.push_back({"recorded", recorded.name, Row::Of::job, scenario.jobs[i].band,
                        measure(job, recording.duration), "recorded"});
    }
    return rows;
}

} // namespace sim
