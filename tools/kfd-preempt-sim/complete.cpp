// SPDX-License-Identifier: MIT
// Candidates by command and by the option before.
#include "complete.hpp"

#include "report.hpp"
#include "scenario_file.hpp"
#include "sched/policy.hpp"

#include <algorithm>

namespace sim {

namespace {

using Words = std::vector<std::string>;

Words commands(const Grammar& grammar) {
    Words words;
    for (const auto& [command, options] : grammar)
        words.push_back(command);
    return words;
}

Words measures() {
    Words words;
    for (const Quantity& quantity : quantities())
        words.emplace_back(quantity.name);
    return words;
}

Words candidates_for(const Grammar& grammar, const Words& words) {
    if (words.size() < 2)
        return commands(grammar);
    const auto command = grammar.find(words.front());
    if (command == grammar.end())
        return {};
    const std::string& before = words[words.size() - 2];
    if (before == "--policy")
        return {sched::policy_names.begin(), sched::policy_names.end()};
    if (before == "--measure")
        return measures();
    if (before == "--suite")
        return {"papers"};
    if (words.back().starts_with('-'))
        return command->second;
    const bool has_value = before.starts_with('-') && before != "--jobs" &&
                           before != "--progress" && before != "--switches";
    const bool takes_scenario =
        command->first == "run" || command->first == "compare" || command->first == "sweep";
    return takes_scenario && !has_value ? built_in_scenarios() : Words{};
}

} // namespace

Words complete(const Grammar& grammar, const Words& words) {
    const std::string prefix = words.empty() ? "" : words.back();
    Words candidates = candidates_for(grammar, words);
    std::erase_if(candidates, [&](const std::string& word) { return !word.starts_with(prefix); });
    std::ranges::sort(candidates);
    return candidates;
}

} // namespace sim
