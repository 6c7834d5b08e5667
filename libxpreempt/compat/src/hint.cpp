// SPDX-License-Identifier: MIT
// XHint*: priorities and the scheduler of this process.
//
// Hints of policies that do not exist here are checked and accepted, as XSched accepts what its
// policy does not use: a program that sets them all goes on.
#include "fence.hpp"

#include <cerrno>

using namespace xpreempt::compat;

namespace {

bool is_priority(Priority priority) {
    return priority >= PRIORITY_NO_EXECUTE && priority <= PRIORITY_MAX;
}

XResult accepted(bool valid) {
    return valid ? kXSchedSuccess : kXSchedErrorInvalidValue;
}

XResult stop_scheduler() {
    const int answer = xp_sched_stop();
    return answer == -ENOENT ? kXSchedSuccess : result_of(answer);
}

// A suspend of its own, beside the program's and the scheduler's.
int set_no_execute(XQueue& queue, bool wanted) {
    if (queue.no_execute == wanted)
        return 0;
    const int answer =
        wanted ? xp_xqueue_suspend(queue.native, 0, nullptr) : xp_xqueue_resume(queue.native);
    if (answer == 0)
        queue.no_execute = wanted;
    return answer;
}

} // namespace

extern "C" {

XResult XHintSetScheduler(XSchedulerType scheduler, XPolicyType policy) {
    return fence([&](Registry&) {
        if (scheduler <= kSchedulerUnknown || scheduler >= kSchedulerMax)
            return kXSchedErrorInvalidValue;
        if (scheduler == kSchedulerAppManaged)
            return stop_scheduler();
        if (policy <= kPolicyUnknown || policy >= kPolicyMax)
            return kXSchedErrorInvalidValue;
        if (scheduler != kSchedulerLocal || policy != kPolicyHighestPriorityFirst)
            return kXSchedErrorNotSupported;
        const int answer = xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST);
        return answer == -EALREADY ? kXSchedSuccess : result_of(answer);
    });
}

XResult XHintPriority(XQueueHandle xq, Priority prio) {
    return with(xq, [&](XQueue& queue) {
        if (!is_priority(prio))
            return kXSchedErrorInvalidValue;
        const std::lock_guard lock(queue.control_mutex);
        const bool never = prio == PRIORITY_NO_EXECUTE;
        int answer = xp_xqueue_set_priority(queue.native, never ? PRIORITY_MIN : prio);
        if (answer == 0)
            answer = set_no_execute(queue, never);
        return result_of(answer);
    });
}

XResult XHintUtilization(XQueueHandle xq, Utilization util) {
    return with(
        xq, [&](XQueue&) { return accepted(util >= UTILIZATION_MIN && util <= UTILIZATION_MAX); });
}

XResult XHintTimeslice(Timeslice ts_us) {
    // UINT64_MAX, as the type has it.
    const bool unlimited = ts_us == static_cast<Timeslice>(TIMESLICE_UNLIMITED);
    return accepted(unlimited || (ts_us >= TIMESLICE_MIN && ts_us <= TIMESLICE_MAX));
}

XResult XHintLaxity(XQueueHandle xq, Laxity lax_us, Priority lax_prio, Priority crit_prio) {
    return with(xq, [&](XQueue&) {
        return accepted(lax_us >= NO_LAXITY && is_priority(lax_prio) && is_priority(crit_prio));
    });
}

XResult XHintDeadline(XQueueHandle xq, Deadline ddl_us) {
    return with(xq, [&](XQueue&) { return accepted(ddl_us >= NO_DEADLINE); });
}

XResult XHintKDeadline(size_t k) {
    return accepted(k != 0);
}
}
