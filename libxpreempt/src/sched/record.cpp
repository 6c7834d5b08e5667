// SPDX-License-Identifier: MIT
// A record is replayed decision by decision, up to the first difference.
#include "sched/record.hpp"

namespace xpreempt::sched {

Decision record(const Snapshot& snapshot, std::span<const Verdict> verdicts, Time next) {
    return {snapshot.now,
            next,
            {snapshot.jobs.begin(), snapshot.jobs.end()},
            {verdicts.begin(), verdicts.end()},
            snapshot.switch_cost};
}

std::optional<Difference> replay(Policy policy, std::span<const Decision> decisions) {
    for (std::size_t i = 0; i < decisions.size(); ++i) {
        const Snapshot snapshot{decisions[i].now, decisions[i].jobs, decisions[i].switch_cost};
        std::vector<Verdict> verdicts(snapshot.jobs.size(), Verdict::run);
        const Time next = decide(policy, snapshot, verdicts);
        Decision made = record(snapshot, verdicts, next);
        if (made != decisions[i])
            return Difference{i, std::move(made)};
    }
    return std::nullopt;
}

} // namespace xpreempt::sched
