// SPDX-License-Identifier: MIT
// Finds the rule that a process matches.
#include "rules/rules.hpp"

#include "jobs/cgroup_path.hpp"

#include <algorithm>
#include <fnmatch.h>

namespace xpreemptd {

namespace {

// A backslash is one, as in the names of units that systemctl shows: "a\x2db.service".
bool matches_glob(const std::optional<std::string>& glob, const std::string& text) {
    return !glob || *glob == text || ::fnmatch(glob->c_str(), text.c_str(), FNM_NOESCAPE) == 0;
}

} // namespace

bool Rule::matches(const ProcessFacts& facts) const {
    return matches_some_program(facts) && matches_glob(executable, facts.executable);
}

bool Rule::matches_some_program(const ProcessFacts& facts) const {
    if (uid && *uid != facts.uid)
        return false;
    if (unit) {
        const CgroupUnits units = units_of(facts.cgroup);
        const auto matches_unit = [this](std::string_view name) {
            return !name.empty() && matches_glob(unit, std::string(name));
        };
        if (!matches_unit(units.system) && !(uid && matches_unit(units.user)))
            return false;
    }
    if (slurm_partition &&
        (facts.slurm_partition.empty() || !matches_glob(slurm_partition, facts.slurm_partition)))
        return false;
    return matches_glob(cgroup, facts.cgroup);
}

const Rule* Rules::rule_for(const ProcessFacts& facts) const {
    const auto rule = std::ranges::find_if(
        rules, [&](const Rule& candidate) { return candidate.matches(facts); });
    return rule == rules.end() ? nullptr : &*rule;
}

namespace {

// rule: may be null.
Assignment assign_by(const Rules& rules, const Rule* rule) {
    Assignment assignment{rules.defaults, rules.defaults};
    if (rule == nullptr)
        return assignment;
    rule->set.apply_to(assignment.attributes);
    assignment.highest = assignment.attributes;
    assignment.highest.band = rule->owner_may_choose.value_or(assignment.attributes.band);
    assignment.highest.priority =
        rule->owner_may_choose_priority.value_or(assignment.attributes.priority);
    return assignment;
}

} // namespace

Assignment assign(const Rules& rules, const ProcessFacts& facts) {
    return assign_by(rules, rules.rule_for(facts));
}

Attributes highest_of_any_program(const Rules& rules, const ProcessFacts& facts) {
    // Those that may be the first to match; null: none matches.
    std::vector<const Rule*> candidates;
    for (const Rule& rule : rules.rules) {
        if (!rule.matches_some_program(facts))
            continue;
        candidates.push_back(&rule);
        if (!rule.executable) // no program gets to the rules behind this one
            break;
    }
    if (candidates.empty() || candidates.back()->executable)
        candidates.push_back(nullptr);
    Attributes highest = assign_by(rules, candidates.front()).highest;
    for (const Rule* rule : candidates)
        raise_to(highest, assign_by(rules, rule).highest);
    return highest;
}

} // namespace xpreemptd
