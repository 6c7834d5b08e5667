// SPDX-License-Identifier: MIT
// Durations and priorities on the command line.
#include "daemon/scheduling.hpp"

#include "daemon/daemon.hpp"
#include "xpreemptd/protocol/decimal.hpp"
#include "xpreemptd/protocol/requests.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <vector>

namespace cli {

std::optional<std::int32_t> parse_priority(std::string_view text) {
    const auto priority = xpreemptd::decimal<std::int32_t>(text);
    if (!priority || *priority < xpreemptd::sched::min_priority ||
        *priority > xpreemptd::sched::max_priority)
        return std::nullopt;
    return priority;
}

std::optional<std::chrono::microseconds> parse_deadline(std::string_view text) {
    struct Unit {
        std::string_view name;
        std::uint64_t us;
    };
    for (const Unit& unit : {Unit{"us", 1}, Unit{"ms", 1000}, Unit{"s", 1000000}}) {
        if (!text.ends_with(unit.name))
            continue;
        const auto count =
            xpreemptd::decimal<std::uint64_t>(text.substr(0, text.size() - unit.name.size()));
        const auto most = static_cast<std::uint64_t>(xpreemptd::max_deadline.count());
        if (!count || *count == 0 || *count > most / unit.us)
            return std::nullopt;
        return std::chrono::microseconds(static_cast<std::int64_t>(*count * unit.us));
    }
    return std::nullopt;
}

std::string why_all_run(std::string_view policy, const std::vector<xpreemptd::ListedJob>& jobs) {
    if (policy == "none")
        return "no policy is in force, all jobs run: `kfd-preempt policy` shows why\n";
    if (policy != "BAND" || jobs.size() < 2)
        return {};
    const auto band = jobs.front().report.attributes.band;
    if (!std::ranges::all_of(jobs, [&](const xpreemptd::ListedJob& job) {
            return job.report.attributes.band == band;
        }))
        return {};
    return fmt::format("all jobs are in band {}, so none is stopped for another: rules of "
                       "/etc/xpreemptd.toml or renice give others\n",
                       xpreemptd::name_of(band));
}

} // namespace cli
