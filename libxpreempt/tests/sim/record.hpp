// SPDX-License-Identifier: MIT
// Decisions as they were made, and the same decisions made again, up to the first difference.
#pragma once

#include "sched/policy.hpp"

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace test {

struct Decision {
    xpreempt::sched::Time now{};
    xpreempt::sched::Time next{};
    std::vector<xpreempt::sched::JobView> jobs;
    std::vector<xpreempt::sched::Verdict> verdicts;
    xpreempt::sched::Duration switch_cost{0};

    bool operator==(const Decision&) const = default;
};

inline Decision record(const xpreempt::sched::Snapshot& snapshot,
                       std::span<const xpreempt::sched::Verdict> verdicts,
                       xpreempt::sched::Time next) {
    return {snapshot.now,
            next,
            {snapshot.jobs.begin(), snapshot.jobs.end()},
            {verdicts.begin(), verdicts.end()},
            snapshot.switch_cost};
}

// Where the policy decides otherwise than the record.
struct Difference {
    std::size_t decision; // index into the record
    Decision made;
};

// Makes the decisions again, from the state that the policy has. Nothing: the same verdicts and
// times in all of them. The snapshots are those of the record, so beyond the first difference
// another policy sees holds that aren't its own.
inline std::optional<Difference> replay(xpreempt::sched::Policy policy,
                                        std::span<const Decision> decisions) {
    using xpreempt::sched::Verdict;
    for (std::size_t i = 0; i < decisions.size(); ++i) {
        const xpreempt::sched::Snapshot snapshot{decisions[i].now, decisions[i].jobs,
                                                 decisions[i].switch_cost};
        std::vector<Verdict> verdicts(snapshot.jobs.size(), Verdict::run);
        const auto next = xpreempt::sched::decide(policy, snapshot, verdicts);
        Decision made = record(snapshot, verdicts, next);
        if (made != decisions[i])
            return Difference{i, std::move(made)};
    }
    return std::nullopt;
}

} // namespace test
