// SPDX-License-Identifier: MIT
// The highest priority of each device runs.
#include "sched/policy.hpp"

#include <algorithm>
#include <limits>

namespace xpreempt::sched {

Time highest_priority_first(std::span<const QueueView> queues, Time, std::span<Verdict> verdicts) {
    for (std::size_t begin = 0; begin < queues.size();) {
        std::size_t end = begin;
        std::int32_t highest = std::numeric_limits<std::int32_t>::min();
        for (; end < queues.size() && queues[end].device == queues[begin].device; ++end)
            if (queues[end].ready)
                highest = std::max(highest, queues[end].priority);
        for (; begin < end; ++begin)
            verdicts[begin] = queues[begin].ready && queues[begin].priority < highest
                                  ? Verdict::suspend
                                  : Verdict::run;
    }
    return at_next_event;
}

} // namespace xpreempt::sched
