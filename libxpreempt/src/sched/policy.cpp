// SPDX-License-Identifier: MIT
// Calls on the policy that the variant holds.
#include "sched/policy.hpp"

#include <algorithm>
#include <utility>

namespace xpreempt::sched {

namespace {

template <std::size_t... alternative>
constexpr auto makers(std::index_sequence<alternative...> /*all*/) {
    return std::array<Policy (*)(), sizeof...(alternative)>{
        [] { return Policy(std::in_place_index<alternative>); }...};
}

} // namespace

Time decide(Policy& policy, const Snapshot& snapshot, std::span<Verdict> verdicts) {
    return std::visit([&](auto& chosen) { return decide_by(chosen, snapshot, verdicts); }, policy);
}

std::optional<Policy> policy_named(std::string_view name) {
    static constexpr auto table = makers(std::make_index_sequence<policy_names.size()>());
    const auto found = std::ranges::find(policy_names, name);
    if (found == policy_names.end())
        return std::nullopt;
    return table[static_cast<std::size_t>(found - policy_names.begin())]();
}

std::string_view name_of(const Policy& policy) {
    if (const auto* const plugin = std::get_if<Plugin>(&policy))
        return plugin->name();
    return policy_names.at(policy.index());
}

const PluginFault* fault_of(const Policy& policy) {
    const auto* const plugin = std::get_if<Plugin>(&policy);
    if (plugin == nullptr)
        return nullptr;
    const std::optional<PluginFault>& fault = plugin->fault();
    return fault ? &*fault : nullptr;
}

} // namespace xpreempt::sched
