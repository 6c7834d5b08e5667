// SPDX-License-Identifier: MIT
// From the highest priority down; nodes are bits.
#include "sched/highest_priority_first.hpp"

#include <tuple>

namespace xpreempt::sched {

Time HighestPriorityFirst::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    const auto jobs = snapshot.jobs;
    const auto order = seats_.sequence();
    for (std::uint32_t rank = 0; rank < order.size(); ++rank)
        order[rank] = seats_.index(rank);
    std::ranges::sort(order, [&](std::uint32_t left, std::uint32_t right) {
        return std::tuple(-jobs[left].priority, jobs[left].id) <
               std::tuple(-jobs[right].priority, jobs[right].id);
    });
    std::uint64_t above = 0, level = 0; // nodes on which a higher, an equal priority runs
    std::int32_t priority = 0;
    for (const std::uint32_t i : order) {
        verdicts[i] = Verdict::run;
        if (!jobs[i].schedulable())
            continue;
        if (jobs[i].priority != priority)
            above |= level;
        priority = jobs[i].priority;
        if ((jobs[i].nodes & above) != 0)
            verdicts[i] = Verdict::hold;
        else
            level |= jobs[i].nodes;
    }
    return at_next_event;
}

} // namespace xpreempt::sched
