// SPDX-License-Identifier: MIT
// Keeps what the model tells: the trace file, the counters, snapshots, and unmodelled things.
#include "trace/journal.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace vgpu {
namespace {

// Counters that are always there, so that a reader need not ask.
constexpr std::string_view always[] = {
    "mmio_reads",   "mmio_writes",  "doorbells",   "kiq_packets",          "interrupts",
    "queue_unmaps", "queue_saves",  "waves_saved", "handler_instructions", "queue_restores",
    "dispatches",   "failed_waves", "vm_faults",   "wave_instructions",    "resets"};
constexpr std::string_view always_groups[] = {"hiq_packets", "saves_by_doorbell"};

// Work that didn't end as its program meant it.
constexpr std::string_view failures[] = {"failed_waves", "queue_errors", "hung_queues"};

nlohmann::json to_json(const std::map<std::string, std::uint64_t, std::less<>>& counters) {
    nlohmann::json out = nlohmann::json::object();
    for (const std::string_view name : always)
        out[std::string(name)] = 0;
    for (const std::string_view group : always_groups)
        out[std::string(group)] = nlohmann::json::object();
    for (const auto& [name, value] : counters) {
        const std::size_t slash = name.find('/');
        if (slash == std::string::npos)
            out[name] = value;
        else
            out[name.substr(0, slash)][name.substr(slash + 1)] = value;
    }
    return out;
}

Error cannot_write(const std::string& what, const std::string& path) {
    const int number = errno;
    return {number, fmt::format("cannot write {} {}: {}", what, path, std::strerror(number))};
}

} // namespace

Result<Nothing> Journal::open_trace(const std::string& path) {
    trace_.reset(std::fopen(path.c_str(), "we"));
    if (trace_ == nullptr)
        return cannot_write("trace", path);
    return Nothing{};
}

void Journal::event(std::string_view actor, std::string_view text) {
    if (trace_ == nullptr)
        return;
    const std::string line = fmt::format("{:>8} {:<8} {}\n", ++lines_, actor, text);
    std::fwrite(line.data(), 1, line.size(), trace_.get());
}

void Journal::unmodelled(std::string_view actor, std::string_view text) {
    std::string thing = fmt::format("{}: {}", actor, text);
    event("unmodelled", thing);
    unmodelled_.insert(std::move(thing));
}

void Journal::unmodelled_harmless(std::string_view actor, std::string_view text) {
    std::string thing = fmt::format("{}: {}", actor, text);
    event("unmodelled", fmt::format("{} (harmless)", thing));
    unmodelled_.insert(thing);
    harmless_.insert(std::move(thing));
}

Journal::Verdict Journal::verdict() const {
    if (unmodelled_.empty())
        return Verdict::clean;
    const bool failed = std::any_of(std::begin(failures), std::end(failures),
                                    [this](std::string_view name) { return counter(name) != 0; });
    return failed || unmodelled_ != harmless_ ? Verdict::results_in_doubt : Verdict::harmless;
}

void Journal::count(std::string_view counter, std::uint64_t amount) {
    const auto found = counters_.find(counter);
    if (found != counters_.end())
        found->second += amount;
    else
        counters_.emplace(counter, amount);
}

void Journal::interval(std::string_view list, std::uint64_t begin, std::uint64_t end) {
    intervals_[std::string(list)].emplace_back(begin, end);
}

void Journal::snapshot(std::uint32_t label) {
    event("snapshot", fmt::format("{:#x}", label));
    snapshots_.push_back({label, counters_});
}

std::uint64_t Journal::counter(std::string_view name) const {
    const auto found = counters_.find(name);
    return found == counters_.end() ? 0 : found->second;
}

void Journal::flush() {
    if (trace_ != nullptr)
        std::fflush(trace_.get());
}

Result<Nothing> Journal::write_summary(const std::string& path) const {
    nlohmann::json summary = to_json(counters_);
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    for (const auto& [name, intervals] : intervals_) {
        const std::size_t slash = name.find('/');
        summary[name.substr(0, slash)][name.substr(slash + 1)] = intervals;
    }
    summary["peak_rss_kib"] = usage.ru_maxrss;
    summary["unmodelled"] = unmodelled_;
    summary["unmodelled_harmless"] = harmless_;
    summary["snapshots"] = nlohmann::json::array();
    for (const Snapshot& snapshot : snapshots_)
        summary["snapshots"].push_back(
            {{"label", snapshot.label}, {"counters", to_json(snapshot.counters)}});
    const std::string text = summary.dump(2) + "\n";
    std::unique_ptr<std::FILE, int (*)(std::FILE*)> file{std::fopen(path.c_str(), "we"),
                                                         std::fclose};
    if (file == nullptr || std::fwrite(text.data(), 1, text.size(), file.get()) != text.size() ||
        std::fflush(file.get()) != 0)
        return cannot_write("summary", path);
    return Nothing{};
}

} // namespace vgpu
