// SPDX-License-Identifier: MIT
// Calls as text, side by side.
#include "switches.hpp"

#include "report.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sim {

namespace {

constexpr double per_ms = 1e-6;

// "stop a b; resume c", with names in order: a call has none.
std::string text_of(const ModelProvider::Call& call, const Scenario& scenario) {
    std::vector<std::string> parts;
    for (const bool stop : {true, false}) {
        std::vector<std::string> names;
        for (const Gpu::Change& change : call.changes)
            if (change.stop == stop)
                names.push_back(scenario.jobs[change.job].name);
        std::ranges::sort(names);
        if (!names.empty())
            parts.push_back(fmt::format("{} {}", stop ? "stop" : "resume", fmt::join(names, ", ")));
    }
    return fmt::format("{}", fmt::join(parts, "; "));
}

std::string time_of(const std::vector<ModelProvider::Call>& calls, std::size_t i) {
    return i < calls.size() ? fmt::format("{:.1f}", static_cast<double>(calls[i].at) * per_ms)
                            : "-";
}

} // namespace

Answer<std::string> compare_switches(const Recording& recording, const Scenario& scenario,
                                     const std::vector<std::string>& policies) {
    if (policies.size() != 1)
        return tl::make_unexpected("--switches: expected one --policy, that of the recording");
    Scenario longer = scenario;
    for (std::size_t i = 0; i < recording.jobs.size(); ++i)
        if (recording.jobs[i].goes_on)
            longer.jobs[i].trace.back().work = recording.duration;
    const RunResult result = simulate(longer, {.policy = policies[0], .keep_calls = true});
    if (auto fault = fault_text(result); !fault.empty())
        return tl::make_unexpected(std::move(fault));
    charts::Table table{
        "Switches under " + policies[0], {"number", "recorded", "at ms", "simulated", "at ms"}, {}};
    std::size_t same = 0;
    bool differs = false;
    for (std::size_t i = 0; i < std::max(recording.calls.size(), result.calls.size()); ++i) {
        const auto text = [&](const std::vector<ModelProvider::Call>& calls) {
            return i < calls.size() ? text_of(calls[i], scenario) : "-";
        };
        const std::string recorded = text(recording.calls), simulated = text(result.calls);
        differs = differs || recorded != simulated;
        same += differs ? 0U : 1U;
        table.rows.push_back({fmt::format("{}", i + 1), recorded, time_of(recording.calls, i),
                              simulated, time_of(result.calls, i)});
    }
    std::vector<std::string> saves;
    for (std::size_t i = 0; i < result.jobs.size(); ++i)
        saves.push_back(fmt::format("{} {}", scenario.jobs[i].name, result.jobs[i].saves));
    return fmt::format("{}\nThe first {} of {} recorded switches are the same{}.\n"
                       "The model replaced {} runlists. Saves of queues: {}.\n",
                       aligned(table), same, recording.calls.size(),
                       differs ? "" : ", and no other is simulated", result.runlists,
                       fmt::join(saves, ", "));
}

} // namespace sim
