// SPDX-License-Identifier: MIT
// Makes policies by name.
#include "policy_parameters.hpp"

namespace xpreemptd {

std::optional<sched::Policy> make_policy(std::string_view name,
                                         const PolicyParameters& parameters) {
    std::optional<sched::Policy> policy = sched::policy_named(name);
    if (!policy)
        return std::nullopt;
    if (auto* const bands = std::get_if<sched::Bands>(&*policy))
        *bands = sched::Bands(parameters.bands);
    else if (auto* const round_robin = std::get_if<sched::RoundRobin>(&*policy))
        *round_robin = sched::RoundRobin(parameters.round_robin);
    else if (auto* const fair = std::get_if<sched::Fair>(&*policy))
        *fair = sched::Fair(parameters.fair);
    return policy;
}

} // namespace xpreemptd
