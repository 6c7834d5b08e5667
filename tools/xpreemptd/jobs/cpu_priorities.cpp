// SPDX-License-Identifier: MIT
// Rounds over all processes, in the order of their cookies.
#include "jobs/cpu_priorities.hpp"

#include <utility>

namespace xpreemptd {

bool CpuPriorities::refresh(const JobTable& table, const OriginOf& origin_of, Time now) {
    if (visited_ == 0 && now < next_round_)
        return false;
    if (visited_ == 0)
        next_round_ = now + interval;
    bool changed = false;
    for (int left = most_at_once; left > 0; --left) {
        const JobTable::Member member = table.next_after(visited_);
        visited_ = member.process != nullptr ? member.process->cookie : 0;
        if (member.process == nullptr)
            break;
        if (!member.job->ready)
            continue;
        ProcessFacts& facts = member.process->facts;
        const auto origin = origin_of(facts.pid);
        if (origin && origin->start_ticks == facts.start_ticks)
            changed =
                std::exchange(facts.cpu_priority, origin->cpu_priority) != origin->cpu_priority ||
                changed;
    }
    return changed;
}

} // namespace xpreemptd
