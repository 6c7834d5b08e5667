// SPDX-License-Identifier: MIT
// Policy LAX: a request that has waited for its laxity is critical, and holds those that aren't.
#pragma once

#include "sched/snapshot.hpp"

namespace xpreempt::sched {

// XSched's laxity policy, and not the LAX of HPCA'21, which estimates the time that is left.
// Goal: requests share the GPU while there is time, and one that becomes urgent has it alone.
// Definition: a ready job is low until ready_since + lax, then critical until it is idle. A low job
// on a node of a critical one is held. Critical jobs run together, as low ones do. A job without
// lax stays low. Parameters: none.
// Use it for requests of which few become late. Don't use it where most are late: critical jobs
// share without order. Nor with lax for a job that is never idle: it stays critical.
// Work-conserving. Low jobs starve as long as there is a critical one; one with lax becomes
// critical itself. Preemptions: at most one decision that stops jobs for each ready edge and each
// change of lax.
class TwoLevel {
public:
    void admit(std::span<const JobView> /*jobs*/) {}
    [[nodiscard]] bool matches(std::span<const JobView> /*jobs*/) { return true; }
    [[nodiscard]] Time decide(const Snapshot& snapshot, std::span<Verdict> verdicts);

    bool operator==(const TwoLevel&) const = default;
};

} // namespace xpreempt::sched
