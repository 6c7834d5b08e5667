// SPDX-License-Identifier: MIT
// Keys, formats and ranges of a scenario, and what must fit together.
#include "scenario_file.hpp"

#include "files.hpp"
#include "job_reader.hpp"
#include "xpreemptd/toml/policy_table.hpp"
#include "xpreemptd/toml/toml_input.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace sim {

namespace {

using namespace std::chrono_literals;
using xpreemptd::TomlErrors;
using xpreemptd::TomlTable;

void read_constant(TomlTable& table, const Constant& constant, GpuModel& model) {
    struct Read {
        TomlTable& table;
        const Constant& constant;
        GpuModel& model;
        void operator()(double GpuModel::* field) const {
            table.read(constant.key, xpreemptd::real_format(constant.least, constant.most),
                       model.*field);
        }
        void operator()(std::uint32_t GpuModel::* field) const {
            table.read(constant.key,
                       xpreemptd::integer_format(static_cast<std::uint32_t>(constant.least),
                                                 static_cast<std::uint32_t>(constant.most)),
                       model.*field);
        }
        void operator()(Time GpuModel::* field) const {
            const auto seconds = [](double value) {
                return std::chrono::nanoseconds(round_time(value * 1e9));
            };
            read_time(table, constant.key, seconds(constant.least), seconds(constant.most),
                      model.*field);
        }
        void operator()(bool GpuModel::* field) const {
            table.read(constant.key, xpreemptd::truth_format(), model.*field);
        }
    };
    std::visit(Read{table, constant, model}, constant.field);
}

void read_gpu(TomlTable table, GpuModel& model) {
    for (const Constant& constant : constants())
        read_constant(table, constant, model);
    std::string sensing = "trap";
    table.read("sensing", xpreemptd::word_format({"trap", "poll"}), sensing);
    model.sensing = sensing == "trap" ? Sensing::trap : Sensing::poll;
    table.read("vram", xpreemptd::size_format(), model.vram);
    if (model.trap_p99 < model.trap_p50 || model.poll_p99 < model.poll_p50)
        table.fail("a 99th percentile is below its median, expected trap_p99 >= trap_p50 and "
                   "poll_p99 >= poll_p50");
    table.finish();
}

Published read_published(TomlTable table) {
    Published row;
    table.read("system", text_format(), row.system);
    table.read("hardware", text_format(), row.hardware);
    table.read("jobs", text_format(), row.jobs);
    table.read("source", text_format(), row.source);
    const auto ratio = xpreemptd::real_format(0, 1e6);
    table.read("mean_over_alone", ratio, row.mean_over_alone);
    table.read("p99_over_alone", ratio, row.p99_over_alone);
    table.read("throughput_over_free", ratio, row.throughput_over_free);
    table.read("preemptions", ratio, row.preemptions);
    table.read("first_token_over_alone", ratio, row.first_token_over_alone);
    table.read("token_over_alone", ratio, row.token_over_alone);
    table.finish();
    if (row.system.empty() || row.hardware.empty() || row.jobs.empty() || row.source.empty())
        table.fail("a published figure lacks a key, expected system, hardware, jobs, source and "
                   "the figures");
    return row;
}

void check_memory(const TomlTable& table, const Scenario& scenario) {
    for (std::uint32_t node = 0; node < scenario.gpu.nodes; ++node) {
        std::uint64_t used = 0;
        for (const JobSpec& job : scenario.jobs)
            used += (job.nodes >> node & 1U) != 0 ? job.vram : 0;
        if (used > scenario.gpu.vram)
            table.fail(fmt::format("the jobs on node {} need {} MiB of VRAM, of {} MiB: the "
                                   "simulator moves no memory, so they must fit together",
                                   node, used >> 20U, scenario.gpu.vram >> 20U));
    }
}

void read_jobs(TomlTable& all, const std::filesystem::path& file, Scenario& scenario) {
    constexpr std::size_t most_jobs = 256;
    for (const TomlTable& table : all.tables("job"))
        scenario.jobs.push_back(read_job(table, file, scenario.gpu));
    if (scenario.jobs.empty())
        all.fail("no job, expected [[job]] with a name");
    if (scenario.jobs.size() > most_jobs)
        all.fail(fmt::format("{} jobs, expected at most {}", scenario.jobs.size(), most_jobs));
    for (std::size_t i = 0; i < scenario.jobs.size(); ++i)
        for (std::size_t j = 0; j < i; ++j)
            if (scenario.jobs[i].name == scenario.jobs[j].name)
                all.fail(fmt::format("two jobs are named \"{}\"", scenario.jobs[i].name));
}

Scenario read_file_table(const toml::table& toml, const std::filesystem::path& file,
                         const OptionalPlugin& plugin, TomlErrors& errors) {
    Scenario scenario;
    scenario.policies.plugin = plugin;
    scenario.name = file.stem().string();
    TomlTable all(toml, errors);
    if (auto table = all.table("scenario")) {
        table->read("about", text_format(), scenario.about);
        read_time(*table, "duration", 1ms, 24h, scenario.duration);
        read_time(*table, "warmup", 0s, 24h, scenario.warmup);
        std::uint32_t seed = 1;
        table->read("seed", xpreemptd::integer_format(0, UINT32_MAX), seed);
        scenario.seed = seed;
        if (scenario.warmup >= scenario.duration)
            table->fail("nothing is measured, expected a duration that is longer than warmup");
        table->finish();
    }
    if (auto table = all.table("gpu"))
        read_gpu(std::move(*table), scenario.gpu);
    if (auto table = all.table("policy")) {
        xpreemptd::read_policy_parameters(*table, scenario.policies);
        table->finish();
    }
    read_jobs(all, file, scenario);
    check_memory(all, scenario);
    for (const TomlTable& table : all.tables("published"))
        scenario.published.push_back(read_published(table));
    all.finish();
    return scenario;
}

toml::table* job_named(toml::table& file, std::string_view name) {
    auto* const jobs = file.get_as<toml::array>("job");
    for (std::size_t i = 0; jobs != nullptr && i < jobs->size(); ++i)
        if (auto* job = jobs->get_as<toml::table>(i);
            job != nullptr && (*job)["name"].value<std::string>() == name)
            return job;
    return nullptr;
}

toml::table* table_in(toml::table* in, std::string_view key) {
    if (in == nullptr || key.empty())
        return nullptr;
    if (!in->contains(key))
        in->insert(key, toml::table{});
    return in->get_as<toml::table>(key);
}

// The table of a key without its last part; nothing if there can't be one. A name of a job may
// have dots.
toml::table* table_of(toml::table& file, std::string_view path) {
    constexpr std::string_view job = "job.", serving = ".serving";
    if (path.starts_with(job)) {
        path.remove_prefix(job.size());
        if (path.ends_with(serving))
            return table_in(job_named(file, path.substr(0, path.size() - serving.size())),
                            "serving");
        return job_named(file, path);
    }
    toml::table* table = &file;
    for (std::size_t dot = 0; dot != std::string_view::npos;) {
        dot = path.find('.');
        table = table_in(table, path.substr(0, dot));
        path.remove_prefix(dot == std::string_view::npos ? path.size() : dot + 1);
    }
    return table;
}

Answer<void> apply(toml::table& file, const Setting& setting) {
    const std::size_t dot = setting.key.rfind('.');
    toml::table* const table =
        dot == std::string::npos ? nullptr : table_of(file, setting.key.substr(0, dot));
    const std::string last = setting.key.substr(dot + 1);
    if (table == nullptr || last.empty())
        return tl::make_unexpected(
            fmt::format("{}: the scenario has no such table, expected a key such as gpu.capacity, "
                        "policy.BAND.floor or job.NAME.rate",
                        setting.key));
    if (setting.value.empty()) {
        table->erase(last);
        return {};
    }
    // A number or true as they are, everything else as a string.
    TomlErrors errors;
    auto value = xpreemptd::parse_toml("value = " + setting.value, errors);
    const bool plain =
        value && (value->get("value")->is_number() || value->get("value")->is_boolean());
    if (plain)
        value->get("value")->visit(
            [&](auto& node) { table->insert_or_assign(last, std::move(node)); });
    else
        table->insert_or_assign(last, setting.value);
    return {};
}

std::string with_settings(std::string text, std::span<const Setting> settings) {
    if (settings.empty())
        return text;
    std::vector<std::string> words;
    for (const Setting& setting : settings)
        words.push_back(setting.key + "=" + setting.value);
    return fmt::format("{}\n(with the settings {})", text, fmt::join(words, ", "));
}

} // namespace

Answer<Setting> parse_setting(std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0)
        return tl::make_unexpected(fmt::format("'{}' is not KEY=VALUE", text));
    return Setting{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Answer<Scenario> parse_scenario(std::string_view text, const std::filesystem::path& file,
                                std::span<const Setting> settings, const OptionalPlugin& plugin) {
    TomlErrors errors;
    std::optional<toml::table> toml = xpreemptd::parse_toml(text, errors);
    if (!toml)
        return tl::make_unexpected(errors.text(file.string()));
    for (const Setting& setting : settings)
        if (auto applied = apply(*toml, setting); !applied)
            return tl::make_unexpected(applied.error());
    Scenario scenario = read_file_table(*toml, file, plugin, errors);
    if (!errors.empty())
        return tl::make_unexpected(with_settings(errors.text(file.string()), settings));
    return scenario;
}

Answer<Scenario> read_scenario(const std::filesystem::path& file, std::span<const Setting> settings,
                               const OptionalPlugin& plugin) {
    const auto text = read_file(file, xpreemptd::max_toml_bytes + 1);
    if (!text)
        return tl::make_unexpected(text.error());
    return parse_scenario(*text, file, settings, plugin);
}

} // namespace sim
