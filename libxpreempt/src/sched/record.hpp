// SPDX-License-Identifier: MIT
// Decisions as they were made, and the same decisions made again.
#pragma once

#include "sched/policy.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace xpreempt::sched {

struct Decision {
    Time now{};
    Time next{};
    std::vector<JobView> jobs;
    std::vector<Verdict> verdicts;
    Duration switch_cost{0};

    bool operator==(const Decision&) const = default;
};

// Allocates: to be called after decide(), outside of it.
[[nodiscard]] Decision record(const Snapshot& snapshot, std::span<const Verdict> verdicts,
                              Time next);

// Where the policy decides otherwise than the record.
struct Difference {
    std::size_t decision; // index into the record
    Decision made;
};

// Makes the decisions again, from the state that the policy has. Nothing: the same verdicts and
// times in all of them. The snapshots are those of the record, so beyond the first difference
// another policy sees holds that aren't its own.
[[nodiscard]] std::optional<Difference> replay(Policy policy, std::span<const Decision> decisions);

} // namespace xpreempt::sched
