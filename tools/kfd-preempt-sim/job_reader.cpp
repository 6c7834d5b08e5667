// SPDX-License-Identifier: MIT
// A job: its attributes, its arrivals, its requests.
#include "job_reader.hpp"

#include "trace_file.hpp"
#include "xpreemptd/protocol/decimal.hpp"
#include "xpreemptd/toml/value_format.hpp"

#include <array>
#include <fmt/format.h>
#include <optional>

namespace sim {

namespace {

using namespace std::chrono_literals;
using xpreemptd::TomlTable;

constexpr std::array<std::string_view, 6> arrival_names{"closed", "periodic", "poisson",
                                                        "gamma",  "bursts",   "trace"};

std::optional<std::uint32_t> node_number(std::string_view text) {
    const auto number = xpreemptd::decimal<std::uint32_t>(text);
    if (!number || *number >= sched::max_nodes)
        return std::nullopt;
    return number;
}

std::optional<std::uint64_t> nodes_of(std::string_view text) {
    std::uint64_t nodes = 0;
    for (;;) {
        const std::string_view part = text.substr(0, text.find(','));
        const std::size_t dash = part.find('-');
        const auto first = node_number(part.substr(0, dash));
        const auto last =
            dash == std::string_view::npos ? first : node_number(part.substr(dash + 1));
        if (!first || !last || *last < *first)
            return std::nullopt;
        for (std::uint32_t node = *first; node <= *last; ++node)
            nodes |= std::uint64_t{1} << node;
        if (part.size() == text.size())
            return nodes;
        text.remove_prefix(part.size() + 1);
    }
}

xpreemptd::Format<std::uint64_t> nodes_format() {
    return {"nodes such as \"0\", \"0-7\" or \"0,2\"",
            {},
            [](const xpreemptd::Scalar& value) -> std::optional<std::uint64_t> {
                return value.text ? nodes_of(*value.text) : std::nullopt;
            }};
}

auto format_of(attribute::Bands /*kind*/, sched::Band /*least*/, sched::Band /*most*/) {
    return xpreemptd::band_format();
}
auto format_of(attribute::Count /*kind*/, std::uint32_t least, std::uint32_t most) {
    return xpreemptd::integer_format(least, most);
}
auto format_of(attribute::Signed /*kind*/, std::int32_t least, std::int32_t most) {
    return xpreemptd::signed_format(least, most);
}
auto format_of(attribute::Time /*kind*/, attribute::us least, attribute::us most) {
    return xpreemptd::duration_format(least, most);
}

void read_attributes(TomlTable& table, JobSpec& job) {
    table.read("name", text_format(), job.name);
#define JOB_ATTRIBUTE(kind, name, least, most, ...)                                                \
    table.read(#name, format_of(attribute::kind{}, least, most), job.name);
#define ATTRIBUTE JOB_ATTRIBUTE
#include "base/attributes.def"
    table.read("cpu_priority", xpreemptd::signed_format(-10000, 10000), job.cpu_priority);
    table.read("focused", xpreemptd::truth_format(), job.focused);
    table.read("nodes", nodes_format(), job.nodes);
    table.read("vram", xpreemptd::size_format(), job.vram);
    table.read("processes", xpreemptd::integer_format(1, 64), job.processes);
    table.read("queues", xpreemptd::integer_format(1, 1024), job.queues);
    table.read("streams", xpreemptd::integer_format(1, 4096), job.streams);
    table.read("demand", xpreemptd::real_format(0.01, 1), job.demand);
    table.read("occupancy", xpreemptd::real_format(0, 1), job.occupancy);
}

// Keys that only some arrivals have.
struct Given {
    bool rate, shape, jitter, think, burst, trace, path;
};

void check_arrival(const TomlTable& table, const JobSpec& job, const Given& given) {
    const Arrival arrival = job.arrival;
    const bool bursts = arrival == Arrival::bursts, closed = arrival == Arrival::closed;
    const bool trace = arrival == Arrival::trace, regular = bursts || arrival == Arrival::periodic;
    const auto refuse = [&](bool is_given, bool is_allowed, std::string_view key) {
        if (is_given && !is_allowed)
            table.fail(fmt::format("job \"{}\": {} has no meaning for arrival \"{}\"", job.name,
                                   key, arrival_names.at(static_cast<std::size_t>(arrival))));
    };
    refuse(given.rate, !closed && !trace, "rate");
    refuse(given.shape, arrival == Arrival::gamma, "shape");
    refuse(given.jitter, regular, "jitter");
    refuse(given.think, closed, "think");
    refuse(given.burst, bursts, "burst");
    refuse(given.trace, trace, "trace");
    refuse(job.announce > 0, !closed, "announce");
    refuse(job.newest, !closed, "when_late");
    if (!given.rate && !closed && !trace)
        table.fail(
            fmt::format("job \"{}\" has no rate, expected requests or bursts a second", job.name));
    if (trace && !given.path)
        table.fail(
            fmt::format("job \"{}\" has no trace, expected the path of a CSV file", job.name));
}

void read_arrival(TomlTable& table, const std::filesystem::path& file, JobSpec& job) {
    std::string arrival = "closed", late = "queue", path;
    table.read("arrival", xpreemptd::word_format({arrival_names.begin(), arrival_names.end()}),
               arrival);
    job.arrival =
        static_cast<Arrival>(std::ranges::find(arrival_names, arrival) - arrival_names.begin());
    Given given{};
    const auto read_real = [&](std::string_view key, double least, double most, double& value) {
        const auto found = table.read(key, xpreemptd::real_format(least, most));
        value = found.value_or(value);
        return found.has_value();
    };
    given.rate = read_real("rate", 1e-6, 1e7, job.rate);
    given.shape = read_real("shape", 0.01, 100, job.shape);
    given.jitter = read_real("jitter", 0, 2, job.jitter);
    read_time(table, "start", 0s, 24h, job.start);
    given.think = read_time(table, "think", 0s, 1h, job.think);
    const auto burst = table.read("burst", xpreemptd::integer_format(1, 100000));
    job.burst = burst.value_or(job.burst);
    given.burst = burst.has_value();
    given.burst |= read_time(table, "spacing", 0s, 1h, job.spacing);
    table.read("trace", text_format(), path);
    const auto thin = table.read("thin", xpreemptd::integer_format(1, 1000000));
    given.path = !path.empty();
    given.trace = given.path || thin.has_value();
    table.read("when_late", xpreemptd::word_format({"queue", "newest"}), late);
    job.newest = late == "newest";
    read_time(table, "announce", 0s, 1s, job.announce);
    check_arrival(table, job, given);
    if (!given.path || job.arrival != Arrival::trace)
        return;
    auto trace = read_trace(file.parent_path() / path);
    if (!trace)
        return table.fail(trace.error());
    for (std::size_t i = 0; i < trace->size(); i += thin.value_or(1))
        job.trace.push_back((*trace)[i]);
}

void read_serving(TomlTable table, Serving& serving) {
    serving.enabled = true;
    table.read("context_median", xpreemptd::real_format(1, 1e6), serving.context_median);
    table.read("context_sigma", xpreemptd::real_format(0, 5), serving.context_sigma);
    table.read("generated_median", xpreemptd::real_format(1, 1e6), serving.generated_median);
    table.read("generated_sigma", xpreemptd::real_format(0, 5), serving.generated_sigma);
    table.read("most_tokens", xpreemptd::integer_format(1, 1000000), serving.most_tokens);
    table.read("batch", xpreemptd::integer_format(1, 4096), serving.batch);
    read_time(table, "prefill", 1us, 10s, serving.prefill);
    read_time(table, "prefill_token", 0s, 1s, serving.prefill_token);
    read_time(table, "decode", 1us, 10s, serving.decode);
    read_time(table, "decode_request", 0s, 1s, serving.decode_request);
    read_time(table, "bubble", 0s, 1s, serving.bubble);
    table.finish();
}

void read_requests(TomlTable& table, JobSpec& job) {
    table.read("kernels", xpreemptd::integer_format(1, 1000000), job.kernels);
    read_time(table, "kernel", 1us, 1h, job.kernel);
    table.read("sigma", xpreemptd::real_format(0, 3), job.sigma);
    table.read("exponential", xpreemptd::truth_format(), job.exponential);
    read_time(table, "gap", 0s, 10s, job.gap);
    if (auto serving = table.table("serving")) {
        read_serving(std::move(*serving), job.serving);
        if (job.arrival == Arrival::closed || job.streams != 1 || job.newest || job.announce > 0)
            table.fail(fmt::format("job \"{}\": a server needs an arrival that is not closed, and "
                                   "has no streams, when_late or announce",
                                   job.name));
    }
}

} // namespace

xpreemptd::Format<std::string> text_format() {
    return {"a string that is not empty",
            {},
            [](const xpreemptd::Scalar& value) -> std::optional<std::string> {
                return value.text && !value.text->empty() ? value.text : std::nullopt;
            }};
}

bool read_time(TomlTable& table, std::string_view key, std::chrono::nanoseconds least,
               std::chrono::nanoseconds most, Time& value) {
    const auto found = table.read(key, xpreemptd::duration_format(least, most));
    if (found)
        value = found->count();
    return found.has_value();
}

JobSpec read_job(TomlTable table, const std::filesystem::path& file, const GpuModel& gpu) {
    JobSpec job;
    read_attributes(table, job);
    read_arrival(table, file, job);
    read_requests(table, job);
    table.finish();
    if (job.name.empty())
        table.fail("a job has no name");
    if (gpu.nodes < sched::max_nodes && job.nodes >> gpu.nodes != 0)
        table.fail(fmt::format("job \"{}\" is on a node that is not there, expected nodes below "
                               "{}, or more nodes in [gpu]",
                               job.name, gpu.nodes));
    return job;
}

} // namespace sim
