// SPDX-License-Identifier: MIT
// The rules file in TOML: each key, its format and its range.
#include "kfd/attribute.hpp"
#include "rules/plugin_marker.hpp"
#include "rules/rules.hpp"
#include "toml/policy_table.hpp"
#include "toml/toml_input.hpp"
#include "toml/toml_table.hpp"

#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace xpreemptd {

namespace {

using namespace std::chrono_literals;

// False: the file has a plug-in, but it isn't here.
bool find_plugin(TomlTable& table, Rules& rules, const ReadRules& how) {
    table.read("plugin", or_word(file_path_format(), "", std::filesystem::path()), rules.plugin);
    if (rules.plugin.empty())
        return true;
    const std::filesystem::path marker = PluginMarker::beside(rules.socket);
    const auto marked = PluginMarker::read(marker);
    if (how.leaves_out_after_crash && marked == rules.plugin.native()) {
        rules.plugin_left_out = fmt::format(
            "plug-in {} was loading or in force when xpreemptd was killed or crashed, so it is "
            "left out; `kfd-preempt policy` with its name tries again",
            rules.plugin.string());
        return false;
    }
    // Its constructors run now, and may crash as its decisions may. A marker that is there already
    // is of another daemon, or of another plug-in.
    PluginMarker loading(marker);
    if (how.leaves_out_after_crash && !marked)
        (void)loading.set(rules.plugin);
    auto plugin = how.load_plugin(rules.plugin);
    if (!plugin) {
        table.fail(plugin.error());
        return false;
    }
    rules.parameters.plugin = std::move(*plugin);
    return true;
}

void read_policy(TomlTable&& table, Rules& rules, const ReadRules& how) {
    if (!find_plugin(table, rules, how)) {
        // Its name and its table are unknown here, so they aren't judged.
        PolicyParameters& parameters = rules.parameters;
        const auto name = table.read("name", glob_format("BAND"));
        if (name && make_policy(*name, parameters))
            rules.policy_name = *name;
        return read_policy_parameters(table, parameters);
    }
    table.read("name", word_format(names_of_policies(rules.parameters)), rules.policy_name);
    read_policy_parameters(table, rules.parameters);
    table.finish();
}

void read_memory(TomlTable table, ResidencyParameters& parameters) {
    table.read("stay", integer_format(1, 1000), parameters.stay);
    table.read("least_stay", duration_format(10ms, 1h), parameters.least_stay);
    table.read("longest_wait", duration_format(1s, 24h), parameters.longest_wait);
    table.finish();
}

constexpr auto longest_park = 24h;

Format<std::int32_t> priority_format() {
    return signed_format(sched::min_priority, sched::max_priority);
}

Format<Nanoseconds> park_format() {
    return or_word(duration_format(100ms, longest_park), "never", Nanoseconds::max());
}

Format<std::uint64_t> limit_format() {
    return or_word(size_format(), "none", std::uint64_t{UINT64_MAX});
}

Format<sched::Band> format_of(const Attribute<attribute::Bands>& /*each*/) {
    return band_format();
}
Format<std::uint32_t> format_of(const Attribute<attribute::Count>& each) {
    return integer_format(each.least, each.most);
}
Format<std::int32_t> format_of(const Attribute<attribute::Signed>& each) {
    return signed_format(each.least, each.most);
}

template <typename Kind>
std::optional<typename Kind::Value> read_attribute(TomlTable& table, const Attribute<Kind>& each) {
    return table.read(each.name, format_of(each));
}

// A duration as a request may set it, too.
std::optional<std::chrono::microseconds> read_attribute(TomlTable& table,
                                                        const Attribute<attribute::Time>& each) {
    const auto time = table.read(each.name, duration_format(1us, each.most));
    if (!time)
        return std::nullopt;
    return std::chrono::duration_cast<std::chrono::microseconds>(*time);
}

AttributeChange read_attributes(TomlTable& table) {
    AttributeChange change;
    for_each_attribute(
        [&](const auto& each) { change.*each.change = read_attribute(table, each); });
    change.yields = table.read("yield", truth_format());
    change.park_after = table.read("park_after", park_format());
    change.vram_limit = table.read("vram_limit", limit_format());
    return change;
}

Rule read_rule(TomlTable table, const UserLookup& user_lookup, TomlErrors& errors) {
    const std::size_t wrong_before = errors.count();
    Rule rule;
    rule.unit = table.read("unit", glob_format("ollama.service", can_match_a_unit));
    rule.cgroup =
        table.read("cgroup", glob_format("/kubepods.slice/kubepods-besteffort*", can_match_a_path));
    rule.executable = table.read("executable", glob_format("/opt/train/*", can_match_a_path));
    rule.slurm_partition =
        table.read("slurm_partition", glob_format("interactive", can_match_a_name));
    rule.uid = table.read("user", user_format(user_lookup));
    rule.set = read_attributes(table);
    table.read("job", job_name_format(), rule.job);
    rule.owner_may_choose = table.read("owner_may_choose", band_format());
    rule.owner_may_choose_priority = table.read("owner_may_choose_priority", priority_format());
    table.finish();
    // A key that is wrong would count as missing here.
    if (errors.count() != wrong_before)
        return rule;
    if (!rule.unit && !rule.cgroup && !rule.executable && !rule.slurm_partition && !rule.uid)
        table.fail("the rule has no condition, expected unit, cgroup, executable, slurm_partition "
                   "or user; "
                   "[default] is for all other jobs");
    if (rule.set == AttributeChange{} && rule.job.empty() && !rule.owner_may_choose &&
        !rule.owner_may_choose_priority)
        table.fail(fmt::format("the rule sets nothing, expected {}, yield, park_after, vram_limit, "
                               "job, owner_may_choose or owner_may_choose_priority",
                               fmt::join(attribute_names(), ", ")));
    return rule;
}

// Numbers of bands fall as bands rise.
void check_choice(const TomlTable& table, const Rule& rule, const Attributes& defaults) {
    const sched::Band band = rule.set.band.value_or(defaults.band);
    if (rule.owner_may_choose && *rule.owner_may_choose > band)
        table.fail(fmt::format("owner_may_choose is \"{0}\", below \"{1}\", the band that the job "
                               "gets; expected \"{1}\" or a higher band",
                               name_of(*rule.owner_may_choose), name_of(band)));
    const std::int32_t priority = rule.set.priority.value_or(defaults.priority);
    if (rule.owner_may_choose_priority && *rule.owner_may_choose_priority < priority)
        table.fail(fmt::format("owner_may_choose_priority is {0}, below {1}, the priority that the "
                               "job gets; expected {1} or a higher priority",
                               *rule.owner_may_choose_priority, priority));
}

Rules read_file(const toml::table& file, const ReadRules& how, TomlErrors& errors) {
    Rules rules;
    TomlTable all(file, errors);
    auto policy = all.table("policy");
    if (auto limits = all.table("limits")) {
        limits->read("max_hold", duration_format(100ms, 1h), rules.max_hold);
        limits->read("max_decide", duration_format(10us, 1s), rules.max_decide);
        limits->finish();
    }
    if (auto memory = all.table("memory"))
        read_memory(std::move(*memory), rules.residency);
    if (auto socket = all.table("socket")) {
        socket->read("path", socket_path_format(), rules.socket);
        socket->read("mode", socket_mode_format(), rules.socket_mode);
        socket->read("group",
                     or_word(group_format(how.group_lookup), "", gid_t{SocketFile::own_group}),
                     rules.socket_group);
        socket->finish();
    }
    if (policy)
        read_policy(std::move(*policy), rules, how);
    if (auto defaults = all.table("default")) {
        for_each_attribute([&](const auto& each) {
            // A time would be that of all jobs.
            if constexpr (!std::remove_cvref_t<decltype(each)>::is_time)
                defaults->read(each.name, format_of(each), rules.defaults.*each.stored);
        });
        defaults->read("yield", truth_format(), rules.defaults.yields);
        defaults->read("park_after", park_format(), rules.defaults.park_after);
        defaults->read("vram_limit", limit_format(), rules.defaults.vram_limit);
        defaults->finish();
    }
    for (const TomlTable& table : all.tables("rule")) {
        rules.rules.push_back(read_rule(table, how.user_lookup, errors));
        check_choice(table, rules.rules.back(), rules.defaults);
    }
    all.finish();
    return rules;
}

} // namespace

tl::expected<Rules, std::string> parse_rules(std::string_view text, std::string_view file_name,
                                             const ReadRules& how) {
    TomlErrors errors;
    const std::optional<toml::table> file = parse_toml(text, errors);
    if (!file)
        return tl::make_unexpected(errors.text(file_name));
    Rules rules = read_file(*file, how, errors);
    if (!errors.empty())
        return tl::make_unexpected(errors.text(file_name));
    return rules;
}

tl::expected<Rules, std::string> read_rules(const std::filesystem::path& path,
                                            const ReadRules& how) {
    if (path.empty())
        return Rules{};
    const auto text = xpreempt::kfd::read_text(path, xpreempt::Op::argument, max_toml_bytes + 1);
    if (!text) {
        const int reason = text.error().errno_value;
        return tl::make_unexpected(
            fmt::format("{}: the rules file cannot be read: {}", path.string(),
                        reason == EINVAL ? "it is not a regular file" : std::strerror(reason)));
    }
    return parse_rules(*text, path.string(), how);
}

} // namespace xpreemptd
