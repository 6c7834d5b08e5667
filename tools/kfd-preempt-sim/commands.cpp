// SPDX-License-Identifier: MIT
// Reads scenarios, simulates them, prints tables.
#include "commands.hpp"

#include "constants.hpp"
#include "files.hpp"
#include "recording.hpp"
#include "report.hpp"
#include "sched/plugin_library.hpp"
#include "sched/policy.hpp"
#include "switches.hpp"
#include "xpreemptd/toml/value_format.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

namespace sim {

namespace {

std::vector<std::string> names_of_policies(const OptionalPlugin& plugin) {
    std::vector<std::string> names(sched::policy_names.begin(), sched::policy_names.end());
    if (plugin)
        names.emplace_back(plugin->name());
    return names;
}

Answer<OptionalPlugin> plugin_of(const Common& common) {
    if (common.plugin.empty())
        return OptionalPlugin();
    auto plugin = sched::load_plugin(common.plugin);
    if (!plugin)
        return tl::make_unexpected("--plugin: " + plugin.error());
    return OptionalPlugin(std::move(*plugin));
}

// A plug-in that broke a rule has no figures.
Answer<std::vector<Comparison>> compare_fairly(std::span<const Scenario> scenarios,
                                               const CompareOptions& options) {
    auto comparisons = compare(scenarios, options);
    for (const Comparison& comparison : comparisons)
        if (!comparison.fault.empty())
            return tl::make_unexpected(fmt::format("{}: {}", comparison.name, comparison.fault));
    return comparisons;
}

// Shows the number of runs that are done in one line on standard error.
std::function<void(std::size_t, std::size_t)> progress_of(const Common& common) {
    if (!common.progress && ::isatty(STDERR_FILENO) == 0)
        return {};
    return [](std::size_t done, std::size_t all) {
        std::fprintf(stderr, "\r%zu of %zu runs%s", done, all, done == all ? "\n" : "");
    };
}

Answer<void> write_files(std::span<const Comparison> comparisons, const Common& common,
                         const std::string& title) {
    if (!common.csv.empty())
        if (auto written = write_file(common.csv, csv_of(comparisons)); !written)
            return written;
    if (common.svg.empty())
        return {};
    const Quantity* quantity = quantity_named(common.quantity);
    if (quantity == nullptr) {
        std::vector<std::string_view> names;
        for (const Quantity& known : quantities())
            names.push_back(known.name);
        return tl::make_unexpected(fmt::format("--measure {}: expected one of {}", common.quantity,
                                               fmt::join(names, ", ")));
    }
    return write_file(common.svg, charts::draw(chart_of(comparisons, *quantity, title)));
}

Answer<Scenario> scenario_named(const std::string& name, std::span<const Setting> settings,
                                const OptionalPlugin& plugin, const Common& common) {
    const std::filesystem::path path = scenario_path(name);
    const auto known = built_in_scenarios();
    if (path != name && std::ranges::find(known, name) == known.end())
        return tl::make_unexpected(fmt::format(
            "{}: no such scenario, expected a path, or one of {}", name, fmt::join(known, ", ")));
    auto scenario = read_scenario(path, settings, plugin);
    if (scenario && common.seed)
        scenario->seed = *common.seed;
    return scenario;
}

CompareOptions options_of(const Common& common, std::vector<std::string> policies) {
    CompareOptions options;
    options.policies = std::move(policies);
    options.threads = std::max(common.threads, 1U);
    options.progress = progress_of(common);
    return options;
}

std::string text_of(const Comparison& comparison, Detail detail) {
    std::string text = aligned(table_of(comparison, detail));
    if (comparison.serves)
        text += "\n" + aligned(token_table_of(comparison));
    return text;
}

// A plug-in with its parameters and their defaults.
std::string plugin_text(const sched::Plugin& plugin) {
    charts::Table table{fmt::format("Parameters of {}", plugin.name()),
                        {"key", "default", "least", "most", "meaning"},
                        {}};
    for (const sched::PluginParameter& of : plugin.parameters()) {
        const auto text = [&](std::int64_t value) {
            return of.is_duration ? xpreemptd::duration_text(sched::Duration{value})
                                  : fmt::to_string(value);
        };
        table.rows.push_back({fmt::format("policy.{}.{}", plugin.name(), of.name), text(of.value),
                              text(of.least), text(of.most), std::string(of.meaning)});
    }
    return table.rows.empty() ? "" : "\n" + aligned(table);
}

} // namespace

Answer<Chosen> chosen_policies(const Common& common) {
    auto plugin = plugin_of(common);
    if (!plugin)
        return tl::make_unexpected(plugin.error());
    const auto known = names_of_policies(*plugin);
    for (const std::string& name : common.policies)
        if (std::ranges::find(known, name) == known.end())
            return tl::make_unexpected(fmt::format("{}: no such policy, expected one of {}", name,
                                                   fmt::join(known, ", ")));
    return Chosen{common.policies.empty() ? known : common.policies, std::move(*plugin)};
}

Answer<std::vector<Setting>> parsed_settings(const Common& common) {
    std::vector<Setting> settings;
    for (const std::string& text : common.settings) {
        auto setting = parse_setting(text);
        if (!setting)
            return tl::make_unexpected("--set: " + setting.error());
        settings.push_back(std::move(*setting));
    }
    return settings;
}

const std::vector<std::string>& papers() {
    static const std::vector<std::string> names{
        "disb-a",      "disb-b",       "disb-c",      "disb-d",   "disb-e",  "disb-real",
        "xsched-fg20", "xsched-75-25", "xsched-pjob", "llm-code", "llm-conv"};
    return names;
}

Answer<std::string> run_command(const std::string& scenario, const Common& common) {
    Common each = common;
    each.jobs = true;
    return compare_command({scenario}, each);
}

Answer<std::string> compare_command(const std::vector<std::string>& names, const Common& common) {
    auto chosen = chosen_policies(common);
    if (!chosen)
        return tl::make_unexpected(chosen.error());
    const auto settings = parsed_settings(common);
    if (!settings)
        return tl::make_unexpected(settings.error());
    std::vector<Scenario> scenarios;
    for (const std::string& name : names) {
        auto scenario = scenario_named(name, *settings, chosen->plugin, common);
        if (!scenario)
            return tl::make_unexpected(scenario.error());
        scenarios.push_back(std::move(*scenario));
    }
    const auto comparisons =
        compare_fairly(scenarios, options_of(common, std::move(chosen->policies)));
    if (!comparisons)
        return tl::make_unexpected(comparisons.error());
    if (auto written = write_files(*comparisons, common, "Scenarios by policy"); !written)
        return tl::make_unexpected(written.error());
    std::string text;
    for (const Comparison& comparison : *comparisons)
        text += (text.empty() ? "" : "\n") +
                text_of(comparison, common.jobs ? Detail::jobs : Detail::bands);
    return text;
}

Answer<std::string> sweep_command(const std::string& name, const std::string& vary,
                                  const Common& common) {
    auto chosen = chosen_policies(common);
    const auto base = parsed_settings(common);
    const auto varied = parse_setting(vary);
    if (!chosen)
        return tl::make_unexpected(chosen.error());
    if (!base)
        return tl::make_unexpected(base.error());
    if (!varied)
        return tl::make_unexpected("--vary: " + varied.error());
    std::vector<Scenario> scenarios;
    for (std::string_view rest = varied->value;;) {
        const std::size_t comma = rest.find(',');
        std::vector<Setting> settings = *base;
        settings.push_back({varied->key, std::string(rest.substr(0, comma))});
        auto scenario = scenario_named(name, settings, chosen->plugin, common);
        if (!scenario)
            return tl::make_unexpected(scenario.error());
        scenario->name = settings.back().value;
        scenario->published.clear();
        scenarios.push_back(std::move(*scenario));
        if (comma == std::string_view::npos)
            break;
        rest.remove_prefix(comma + 1);
    }
    CompareOptions options = options_of(common, std::move(chosen->policies));
    options.slices = false;
    const auto comparisons = compare_fairly(scenarios, options);
    if (!comparisons)
        return tl::make_unexpected(comparisons.error());
    const std::string title = fmt::format("{}, by {}", name, varied->key);
    if (auto written = write_files(*comparisons, common, title); !written)
        return tl::make_unexpected(written.error());
    charts::Table table = sweep_table_of(*comparisons, varied->key);
    table.title = title;
    return aligned(table);
}

Answer<std::string> replay_command(const std::string& file, const Common& common) {
    constexpr std::size_t most_bytes = std::size_t{1} << 30U;
    auto chosen = chosen_policies(common);
    const auto settings = parsed_settings(common);
    if (!chosen)
        return tl::make_unexpected(chosen.error());
    if (!settings)
        return tl::make_unexpected(settings.error());
    const auto text = read_file(file, most_bytes);
    if (!text)
        return tl::make_unexpected(text.error());
    const auto recording = parse_recording(*text, file);
    if (!recording)
        return tl::make_unexpected(recording.error());
    auto scenario = scenario_of(*recording, *settings, chosen->plugin);
    if (!scenario)
        return tl::make_unexpected(scenario.error());
    scenario->name = file;
    scenario->seed = common.seed.value_or(1);
    if (common.switches)
        return compare_switches(*recording, *scenario, chosen->policies);
    const std::vector<Scenario> scenarios{*scenario};
    auto comparisons = compare_fairly(scenarios, options_of(common, std::move(chosen->policies)));
    if (!comparisons)
        return tl::make_unexpected(comparisons.error());
    auto recorded = rows_of(*recording, *scenario);
    auto& rows = comparisons->front().rows;
    rows.insert(rows.begin(), recorded.begin(), recorded.end());
    if (auto written = write_files(*comparisons, common, file); !written)
        return tl::make_unexpected(written.error());
    std::string result = text_of(comparisons->front(), Detail::jobs);
    if (recording->lost > 0)
        result += fmt::format("\n{} records are lost: requests that were under way end there.\n",
                              recording->lost);
    return result;
}

Answer<std::string> list_command(const Common& common) {
    const auto plugin = plugin_of(common);
    if (!plugin)
        return tl::make_unexpected(plugin.error());
    charts::Table scenarios{"Scenarios", {"name", "about", "suite"}, {}};
    for (const std::string& name : built_in_scenarios()) {
        const auto scenario = read_scenario(scenario_path(name));
        if (!scenario)
            return tl::make_unexpected(scenario.error());
        const bool is_paper = std::ranges::find(papers(), name) != papers().end();
        scenarios.rows.push_back({name, scenario->about, is_paper ? "papers" : "-"});
    }
    charts::Table model{"Constants of [gpu]", {"key", "default", "meaning", "source"}, {}};
    for (const Constant& constant : constants())
        model.rows.push_back({std::string(constant.key), value_of(constant, GpuModel{}),
                              std::string(constant.meaning), std::string(constant.source)});
    return fmt::format("{}\n### Policies\n\n{}\n\n{}{}", aligned(scenarios),
                       fmt::join(names_of_policies(*plugin), ", "), aligned(model),
                       *plugin ? plugin_text(**plugin) : "");
}

// A server with a queue, as in the closed form that the tests compare with.
Answer<std::string> bench_command() {
    Scenario scenario;
    scenario.duration = 2000 * second;
    JobSpec job;
    job.name = "server";
    job.arrival = Arrival::poisson;
    job.rate = 500;
    scenario.jobs = {job};
    std::string text;
    const auto measure = [&](std::string_view what, const RunOptions& options) {
        double best = 0;
        for (int repetition = 0; repetition < 3; ++repetition) {
            const auto begin = std::chrono::steady_clock::now();
            const RunResult result = simulate(scenario, options);
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
            best = std::max(best, static_cast<double>(result.events) / took.count());
        }
        text += fmt::format("{}: {:.1f} million events/s (best of 3)\n", what, best * 1e-6);
    };
    measure("one job, no policy", {});
    job.name = "batch";
    job.band = sched::Band::idle;
    job.kernel = 20 * ms;
    scenario.jobs.push_back(job);
    scenario.jobs[1].arrival = Arrival::closed;
    scenario.duration = 200 * second;
    measure("two jobs, free sharing", {});
    for (const std::string_view name : sched::policy_names)
        measure(fmt::format("two jobs, {}", name), {.policy = std::string(name)});
    return text;
}

} // namespace sim
