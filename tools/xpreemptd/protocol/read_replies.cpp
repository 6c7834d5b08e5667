// SPDX-License-Identifier: MIT
// Reads replies. A client trusts the daemon, but not that both are of one version.
#include "protocol/replies.hpp"

#include "control/daemon_errors.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <limits>
#include <type_traits>

namespace xpreemptd {

namespace {

using Json = nlohmann::json;

tl::unexpected<Refusal> no_reply(std::string text) {
    return tl::make_unexpected(Refusal{EPROTO, std::move(text)});
}

// Fills variables from keys; remembers the first key that has no such value.
class Reader {
public:
    explicit Reader(const Json& json) : json_(json) {}

    template <typename Number> void read(const char* key, Number& number) {
        static_assert(std::is_integral_v<Number>);
        const Json* value = find(key);
        if (value == nullptr || !value->is_number_unsigned() ||
            value->get<std::uint64_t>() >
                static_cast<std::uint64_t>(std::numeric_limits<Number>::max()))
            wrong(key);
        else
            number = value->get<Number>();
    }
    void read(const char* key, std::int32_t& number) {
        const Json* value = find(key);
        if (value == nullptr || !value->is_number_integer() ||
            value->get<std::int64_t>() < INT32_MIN || value->get<std::int64_t>() > INT32_MAX)
            wrong(key);
        else
            number = value->get<std::int32_t>();
    }
    void read(const char* key, std::string& text) {
        const Json* value = find(key);
        if (value == nullptr || !value->is_string())
            wrong(key);
        else
            text = value->get<std::string>();
    }
    void read(const char* key, std::chrono::nanoseconds& time) {
        std::int64_t count = 0;
        read(key, count);
        time = std::chrono::nanoseconds(count);
    }
    template <typename Number> void read(const char* key, std::vector<Number>& numbers) {
        const Json* value = find(key);
        if (value == nullptr || !value->is_array())
            return wrong(key);
        for (const Json& item : *value) {
            if (!item.is_number_unsigned() ||
                item.get<std::uint64_t>() >
                    static_cast<std::uint64_t>(std::numeric_limits<Number>::max()))
                return wrong(key);
            numbers.push_back(item.get<Number>());
        }
    }
    // Not there, or null.
    [[nodiscard]] bool is_null(const char* key) const {
        const Json* value = find(key);
        return value == nullptr || value->is_null();
    }
    [[nodiscard]] const Json* find(const char* key) const {
        if (!json_.is_object())
            return nullptr;
        const auto found = json_.find(key);
        return found == json_.end() ? nullptr : &*found;
    }
    void wrong(const char* key) {
        if (wrong_.empty())
            wrong_ = fmt::format("'{}' of the reply is missing or has a wrong value", key);
    }
    [[nodiscard]] const std::string& wrong() const { return wrong_; }

private:
    const Json& json_;
    std::string wrong_;
};

// A reply that says ok.
Answer<Json> open(std::string_view message) {
    Json json = Json::parse(message, nullptr, false);
    if (!json.is_object())
        return no_reply("the reply is no JSON object");
    Reader reader(json);
    unsigned schema = 0;
    reader.read("schema", schema);
    if (schema != 1)
        return no_reply("the reply is of another protocol: 'schema' is not 1; use a daemon and a "
                        "command of the same version");
    const Json* ok = reader.find("ok");
    if (ok == nullptr || !ok->is_boolean())
        return no_reply("'ok' of the reply is missing or has a wrong value");
    if (ok->get<bool>())
        return json;
    std::string error, text;
    reader.read("error", error);
    reader.read("text", text);
    if (!reader.wrong().empty())
        return no_reply(reader.wrong());
    return tl::make_unexpected(Refusal{xpreempt::control::daemon_error_named(error), text});
}

std::optional<JobState> state_named(std::string_view name) {
    for (const JobState state : {JobState::idle, JobState::running, JobState::held,
                                 JobState::held_by_others, JobState::not_schedulable})
        if (name_of(state) == name)
            return state;
    return std::nullopt;
}

void read_times(Reader& reader, const char* key, ReactionTimes& times) {
    const Json* value = reader.find(key);
    if (value == nullptr)
        return reader.wrong(key);
    Reader of_times(*value);
    of_times.read("count", times.count);
    of_times.read("sum_ns", times.sum);
    of_times.read("p50_ns", times.p50);
    of_times.read("p99_ns", times.p99);
    of_times.read("max_ns", times.max);
    if (!of_times.wrong().empty())
        reader.wrong(key);
}

// An older daemon lacks attributes that came later.
template <typename Kind>
void read(Reader& reader, const Attribute<Kind>& attribute, Attributes& attributes) {
    if (!reader.is_null(attribute.key))
        reader.read(attribute.key, attributes.*attribute.stored);
}

void read(Reader& reader, const Attribute<attribute::Bands>& attribute, Attributes& attributes) {
    std::string name;
    reader.read(attribute.key, name);
    if (const auto known = band_named(name))
        attributes.*attribute.stored = *known;
    else
        reader.wrong(attribute.key);
}

// Leaves the time as it is if the key is null or missing.
void read(Reader& reader, const Attribute<attribute::Time>& attribute, Attributes& attributes) {
    if (reader.is_null(attribute.key))
        return;
    std::int64_t us = 0;
    reader.read(attribute.key, us);
    attributes.*attribute.stored = std::chrono::microseconds(us);
}

Answer<ListedJob> job_of(const Json& json) {
    ListedJob job;
    JobReport& report = job.report;
    Reader reader(json);
    std::string state;
    reader.read("id", report.id);
    reader.read("name", report.name);
    for_each_attribute([&](const auto& each) { read(reader, each, report.attributes); });
    reader.read("state", state);
    reader.read("processes", job.processes);
    reader.read("pids", report.pids);
    reader.read("gpu_ids", report.gpu_ids);
    reader.read("queues", report.queues);
    reader.read("ready_edges", report.ready_edges);
    reader.read("ready_ns", report.account.ready);
    reader.read("run_ns", report.account.run);
    reader.read("held_ns", report.account.held);
    reader.read("added_wait_ns", report.account.added_wait);
    reader.read("preemptions", report.account.preemptions);
    reader.read("accounted_ns", report.account.known);
    // An older daemon has none of these.
    if (!reader.is_null("compute_queues"))
        reader.read("compute_queues", report.compute_queues);
    if (!reader.is_null("resident_bytes")) {
        reader.read("resident_bytes", report.resident_bytes);
        reader.read("yielded_bytes", report.yielded_bytes);
        reader.read("missing_bytes", report.missing_bytes);
    }
    if (const Json* focused = reader.find("focused"))
        report.focused = focused->is_boolean() && focused->get<bool>();
    if (!reader.is_null("reason"))
        reader.read("reason", report.reason);
    if (const auto known = state_named(state))
        report.state = *known;
    else
        reader.wrong("state");
    if (!reader.wrong().empty())
        return no_reply(reader.wrong());
    return job;
}

// Leaves the value as it is, and notes the key, if it is none of the words.
template <typename Names, typename Word>
void read_word(Reader& reader, const char* key, const Names& names, Word& word) {
    std::string text;
    reader.read(key, text);
    const auto found = std::ranges::find(names, text);
    if (found == names.end())
        reader.wrong(key);
    else
        word = static_cast<Word>(found - names.begin());
}

Answer<ShownRecord> record_of(const Json& json) {
    ShownRecord shown;
    TraceRecord& record = shown.record;
    Reader reader(json);
    reader.read("at_ns", record.at);
    reader.read("job", record.job);
    read_word(reader, "what", happening_names, record.what);
    switch (record.what) {
    case Happening::decision: read_word(reader, "cause", cause_names, record.cause); break;
    case Happening::stop: reader.read("for_job", record.for_job); [[fallthrough]];
    case Happening::resume:
        reader.read("queues", record.queues);
        reader.read("failed", record.failed);
        reader.read("took_ns", record.took);
        break;
    case Happening::phase:
        read_word(reader, "phase", phase_names, record.phase);
        reader.read("gpu_ids", shown.gpu_ids);
        break;
    }
    if (!reader.wrong().empty())
        return no_reply(reader.wrong());
    return shown;
}

} // namespace

Answer<TracePage> parse_trace_reply(std::string_view message) {
    const Answer<Json> json = open(message);
    if (!json)
        return tl::make_unexpected(json.error());
    TracePage page;
    Reader reader(*json);
    reader.read("now_ns", page.now);
    reader.read("first", page.first);
    reader.read("next", page.next);
    reader.read("lost", page.lost);
    const Json* records = reader.find("records");
    if (records == nullptr || !records->is_array())
        return no_reply("'records' of the reply is missing or has a wrong value");
    for (const Json& item : *records) {
        Answer<ShownRecord> record = record_of(item);
        if (!record)
            return tl::make_unexpected(record.error());
        page.records.push_back(std::move(*record));
    }
    if (page.next != page.first + page.records.size())
        reader.wrong("next");
    if (!reader.wrong().empty())
        return no_reply(reader.wrong());
    return page;
}

Answer<void> parse_done(std::string_view message) {
    const Answer<Json> json = open(message);
    if (!json)
        return tl::make_unexpected(json.error());
    return {};
}

Answer<StatusReport> parse_status_reply(std::string_view message) {
    const Answer<Json> json = open(message);
    if (!json)
        return tl::make_unexpected(json.error());
    StatusReport status;
    Reader reader(*json);
    reader.read("policy", status.policy);
    reader.read("sensing", status.sensing);
    reader.read("decisions", status.decisions);
    reader.read("switches", status.switches);
    reader.read("refusals", status.refusals);
    reader.read("edges", status.edges);
    reader.read("edges_found_late", status.edges_found_late);
    read_times(reader, "ring_to_switch", status.ring_to_switch);
    read_times(reader, "ring_to_stopped", status.ring_to_stopped);
    if (!reader.is_null("moves")) { // as above
        reader.read("moves", status.moves);
        reader.read("moved_out_bytes", status.moved_out_bytes);
        reader.read("moved_back_bytes", status.moved_back_bytes);
    }
    if (!reader.is_null("switch_cost_ns"))
        reader.read("switch_cost_ns", status.switch_cost);
    if (!reader.is_null("ejected"))
        reader.read("ejected", status.ejected);
    if (!reader.is_null("plugin"))
        reader.read("plugin", status.plugin);
    if (!reader.wrong().empty())
        return no_reply(reader.wrong());
    return status;
}

Answer<JobPage> parse_jobs_reply(std::string_view message) {
    const Answer<Json> json = open(message);
    if (!json)
        return tl::make_unexpected(json.error());
    Reader reader(*json);
    const Json* jobs = reader.find("jobs");
    if (jobs == nullptr || !jobs->is_array())
        return no_reply("'jobs' of the reply is missing or has a wrong value");
    JobPage page;
    for (const Json& item : *jobs) {
        const Answer<ListedJob> job = job_of(item);
        if (!job)
            return tl::make_unexpected(job.error());
        page.jobs.push_back(*job);
    }
    if (!reader.is_null("next")) {
        std::uint64_t next = 0;
        reader.read("next", next);
        page.next = next;
    }
    if (!reader.wrong().empty())
        return no_reply(reader.wrong());
    return page;
}

} // namespace xpreemptd
