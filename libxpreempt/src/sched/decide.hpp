// SPDX-License-Identifier: MIT
// The call of a policy, whichever it is.
#pragma once

#include "sched/snapshot.hpp"

#include <span>

namespace xpreempt::sched {

// Admits the jobs if they aren't those of the last call, then decides.
template <class Policy>
[[nodiscard]] Time decide_by(Policy& policy, const Snapshot& snapshot,
                             std::span<Verdict> verdicts) {
    if (!policy.matches(snapshot.jobs)) {
        policy.admit(snapshot.jobs);
        (void)policy.matches(snapshot.jobs);
    }
    return policy.decide(snapshot, verdicts);
}

} // namespace xpreempt::sched
