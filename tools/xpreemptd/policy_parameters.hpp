// SPDX-License-Identifier: MIT
// Parameters of each policy, so that a change of policy at run time keeps those of the rules file.
#pragma once

#include "sched/policy.hpp"

#include <array>
#include <optional>
#include <string_view>

namespace xpreemptd {

namespace sched = xpreempt::sched;

struct PolicyParameters {
    sched::Bands::Parameters bands;
    sched::RoundRobin::Parameters round_robin;
    sched::Fair::Parameters fair;

    bool operator==(const PolicyParameters&) const = default;
};

constexpr std::array<std::string_view, 4> policy_names{"BAND", "HPF", "RR", "CFS"};

// A new policy with its parameters; nothing for other names.
[[nodiscard]] std::optional<sched::Policy> make_policy(std::string_view name,
                                                       const PolicyParameters& parameters);

} // namespace xpreemptd
