// SPDX-License-Identifier: MIT
// Makes policies by name.
#include "toml/policy_parameters.hpp"

namespace xpreemptd {

namespace {

// Gives its parameters to the policy if it is one of this kind.
template <class Kind>
void configure(sched::Policy& policy, const typename Kind::Parameters& parameters) {
    if (auto* const kind = std::get_if<Kind>(&policy))
        *kind = Kind(parameters);
}

} // namespace

std::vector<std::string_view> names_of_policies(const PolicyParameters& parameters) {
    std::vector<std::string_view> names(sched::policy_names.begin(), sched::policy_names.end());
    if (parameters.plugin)
        names.push_back(parameters.plugin->name());
    return names;
}

std::optional<sched::Policy> make_policy(std::string_view name,
                                         const PolicyParameters& parameters) {
    if (parameters.plugin && parameters.plugin->name() == name)
        return *parameters.plugin;
    std::optional<sched::Policy> policy = sched::policy_named(name);
    if (!policy)
        return std::nullopt;
    configure<sched::Bands>(*policy, parameters.bands);
    configure<sched::RoundRobin>(*policy, parameters.round_robin);
    configure<sched::Fair>(*policy, parameters.fair);
    configure<sched::UtilizationPartition>(*policy, parameters.utilization);
    configure<sched::ProcessUtilizationPartition>(*policy, parameters.process_utilization);
    configure<sched::StrictPartition>(*policy, parameters.strict);
    auto earliest_deadline = parameters.earliest_deadline;
    earliest_deadline.linger = parameters.linger;
    configure<sched::EarliestDeadlineFirst>(*policy, earliest_deadline);
    configure<sched::HighestPriorityFirst>(*policy, {parameters.linger});
    configure<sched::HeterogeneousHighestPriorityFirst>(*policy, {parameters.linger});
    configure<sched::CpuHighestPriorityFirst>(*policy, {parameters.linger});
    configure<sched::FocusFirst>(*policy, {parameters.linger});
    configure<sched::MultilevelFeedback>(*policy, parameters.multilevel);
    configure<sched::IdleParking>(*policy, parameters.parking);
    return policy;
}

} // namespace xpreemptd
