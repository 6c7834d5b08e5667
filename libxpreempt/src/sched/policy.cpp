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

} // namespace xpreempt::sched
