// SPDX-License-Identifier: MIT
// Parameters of each policy, so that a change of policy at run time keeps those of the rules file.
#pragma once

#include "sched/policy.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace xpreemptd {

namespace sched = xpreempt::sched;

struct PolicyParameters {
    sched::Duration linger = sched::Linger::usual; // of HPF, HHPF, CHPF, AWF and K-EDF
    sched::Bands::Parameters bands;
    sched::RoundRobin::Parameters round_robin;
    sched::Fair::Parameters fair;
    sched::UtilizationPartition::Parameters utilization, process_utilization;
    sched::StrictPartition::Parameters strict;
    sched::EarliestDeadlineFirst::Parameters earliest_deadline;
    sched::MultilevelFeedback::Parameters multilevel;
    sched::IdleParking::Parameters parking;
    std::optional<sched::Plugin> plugin; // with its parameters, and no state yet

    bool operator==(const PolicyParameters&) const = default;
};

// sched::policy_names, and that of the plug-in. Valid while the parameters are.
[[nodiscard]] std::vector<std::string_view> names_of_policies(const PolicyParameters& parameters);

// A new policy with its parameters; nothing for a name that is none of those.
[[nodiscard]] std::optional<sched::Policy> make_policy(std::string_view name,
                                                       const PolicyParameters& parameters);

} // namespace xpreemptd
