// SPDX-License-Identifier: MIT
// From the highest priority down; nodes are bits.
#include "sched/policies/highest_priority_first.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace xpreempt::sched {

std::int32_t PriorityFirst::priority_of(const JobView& job) const {
    switch (key_) {
    case PriorityKey::priority: return job.priority;
    case PriorityKey::cpu_priority: return job.cpu_priority;
    case PriorityKey::focused: return job.focused ? 1 : 0;
    }
    return 0;
}

Time PriorityFirst::decide(const Snapshot& snapshot, std::span<Verdict> verdicts) {
    const Snapshot seen = linger_.extend(snapshot);
    auto& seats = linger_.seats();
    const auto order = seats.sequence(); // ranks, which are in the order of ids
    std::iota(order.begin(), order.end(), 0U);
    const auto job_of = [&](std::uint32_t rank) -> const JobView& {
        return seen.jobs[seats.index(rank)];
    };
    std::ranges::sort(order, [&](std::uint32_t left, std::uint32_t right) {
        return std::tuple(priority_of(job_of(right)), left) <
               std::tuple(priority_of(job_of(left)), right);
    });
    std::uint64_t above = 0, level = 0; // nodes on which a higher, an equal priority runs
    std::int32_t priority = 0;
    for (const std::uint32_t rank : order) {
        const JobView& job = job_of(rank);
        verdicts[seats.index(rank)] = Verdict::run;
        if (!job.schedulable())
            continue;
        const std::uint64_t nodes =
            scope_ == PriorityScope::machine ? ~std::uint64_t{0} : job.nodes;
        if (priority_of(job) != priority)
            above |= level;
        priority = priority_of(job);
        if ((nodes & above) != 0)
            verdicts[seats.index(rank)] = Verdict::hold;
        else
            level |= nodes;
    }
    return linger_.settle(snapshot, verdicts);
}

} // namespace xpreempt::sched
