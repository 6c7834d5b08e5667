// SPDX-License-Identifier: MIT
// Calls on the policy that the variant holds.
#include "sched/policy.hpp"

namespace xpreempt::sched {

Time decide(Policy& policy, const Snapshot& snapshot, std::span<Verdict> verdicts) {
    return std::visit(
        [&](auto& chosen) {
            if (!chosen.matches(snapshot.jobs)) {
                chosen.admit(snapshot.jobs);
                (void)chosen.matches(snapshot.jobs);
            }
            return chosen.decide(snapshot, verdicts);
        },
        policy);
}

std::optional<Policy> policy_named(std::string_view name) {
    if (name == policy_names[0])
        return Bands{};
    if (name == policy_names[1])
        return HighestPriorityFirst{};
    if (name == policy_names[2])
        return RoundRobin{};
    if (name == policy_names[3])
        return Fair{};
    return std::nullopt;
}

std::string_view name_of(const Policy& policy) {
    return policy_names[policy.index()];
}

} // namespace xpreempt::sched
