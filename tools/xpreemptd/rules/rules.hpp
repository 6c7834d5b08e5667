// SPDX-License-Identifier: MIT
// Rules of the daemon: policy, limits, and the attributes that a job gets.
#pragma once

#include "jobs/process_facts.hpp"
#include "protocol/attributes.hpp"
#include "rules/plugin_trust.hpp"
#include "rules/residency_parameters.hpp"
#include "rules/socket_file.hpp"
#include "sched/policy.hpp"
#include "toml/policy_parameters.hpp"
#include "toml/value_format.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace xpreemptd {

// A process matches when each condition that is there does. In globs * crosses slashes.
struct Rule {
    // Glob: the unit of the cgroup, as units_of() finds it. Users name the units of their own
    // systemd, so these match only if the rule has a uid too.
    std::optional<std::string> unit;
    std::optional<std::string> cgroup;          // glob, of the whole path
    std::optional<std::string> executable;      // glob, of the whole path
    std::optional<std::string> slurm_partition; // glob
    std::optional<uid_t> uid;
    AttributeChange set;
    // Highest band and priority that the job's owner may set.
    std::optional<sched::Band> owner_may_choose = {};
    std::optional<std::int32_t> owner_may_choose_priority = {};
    // Name of the job that all matching processes form together, in any cgroups. Empty: each
    // process is in the job of its cgroup.
    std::string job = {};

    [[nodiscard]] bool matches(const ProcessFacts& facts) const;
    // Whether it matches if the process executes the right program.
    [[nodiscard]] bool matches_some_program(const ProcessFacts& facts) const;
    bool operator==(const Rule&) const = default;
};

struct Rules {
    std::string policy_name{sched::policy_names[0]};
    PolicyParameters parameters;  // of all policies, for a change at run time
    std::filesystem::path plugin; // that has parameters.plugin, or was left out; empty: none
    std::string plugin_left_out;  // why, or empty
    std::chrono::nanoseconds max_hold = std::chrono::seconds{10};
    std::chrono::nanoseconds max_decide = std::chrono::milliseconds{1}; // CPU time of a plug-in
    std::filesystem::path socket = "/run/xpreempt/xpreemptd.sock";
    mode_t socket_mode = SocketFile::any_user;
    gid_t socket_group = SocketFile::own_group;
    ResidencyParameters residency;
    Attributes defaults;
    std::vector<Rule> rules; // the first that matches counts

    // The one that the name and the parameters say.
    [[nodiscard]] sched::Policy policy() const {
        return make_policy(policy_name, parameters).value_or(sched::Bands(parameters.bands));
    }
    [[nodiscard]] SocketFile socket_file() const { return {socket, socket_mode, socket_group}; }
    // The first rule that the process matches, or null.
    [[nodiscard]] const Rule* rule_for(const ProcessFacts& facts) const;
    // Whether the memory of any job may leave VRAM.
    [[nodiscard]] bool any_yields() const {
        return defaults.yields || std::ranges::any_of(rules, [](const Rule& rule) {
                   return rule.set.yields.value_or(false);
               });
    }
    // The attributes that the defaults or any rule set.
    [[nodiscard]] AttributeChange set_by_any() const {
        AttributeChange set = set_in(defaults);
        for (const Rule& rule : rules)
            rule.set.apply_to(set);
        return set;
    }
    bool operator==(const Rules&) const = default;
};

struct Assignment {
    Attributes attributes;
    // The job's owner may choose these or lower ones: he may lower an attribute of the job, and
    // raise it again. Differs from `attributes` only in a band and a priority that the rule allows.
    Attributes highest;

    bool operator==(const Assignment&) const = default;
};

[[nodiscard]] Assignment assign(const Rules& rules, const ProcessFacts& facts);
// The highest that the owner of the job may choose for any program that the process may execute.
[[nodiscard]] Attributes highest_of_any_program(const Rules& rules, const ProcessFacts& facts);

struct ReadRules {
    using LoadPlugin =
        std::function<tl::expected<sched::Plugin, std::string>(const std::filesystem::path& file)>;

    UserLookup user_lookup = user_named;
    UserLookup group_lookup = group_named;
    LoadPlugin load_plugin = load_trusted_plugin;
    // At a start: not the plug-in that was loading or in force when the daemon before was killed or
    // crashed.
    bool leaves_out_after_crash = false;
};

// The error has a line for each thing that is wrong, and says where, what, and what would be right:
// xpreemptd.toml:7:8: band is "hihg", expected one of realtime, high, normal, idle; did you mean
// "high"?
[[nodiscard]] tl::expected<Rules, std::string>
parse_rules(std::string_view text, std::string_view file_name, const ReadRules& how = {});
// A file that isn't there is an error; "" stands for no file, and gives the defaults.
[[nodiscard]] tl::expected<Rules, std::string> read_rules(const std::filesystem::path& path,
                                                          const ReadRules& how = {});

} // namespace xpreemptd
