// SPDX-License-Identifier: MIT
// XHint*: priorities and the scheduler of this process.
//
// Hints of policies that do not exist here are checked and stored, as XSched stores what its policy
// does not use: a program that sets them all runs.
#include "c_boundary.hpp"

#include <cerrno>

using namespace xpreempt::compat;

namespace {

bool is_priority(Priority priority) {
    return priority >= PRIORITY_NO_EXECUTE && priority <= PRIORITY_MAX;
}

template <typename Store> XResult store_if(bool valid, Store store) {
    if (!valid)
        return kXSchedErrorInvalidValue;
    store();
    return kXSchedSuccess;
}

XResult stop_scheduler() {
    const int answer = xp_sched_stop();
    return answer == -ENOENT ? kXSchedSuccess : result_of(answer);
}

// In the place of the one that runs.
XResult start_scheduler(std::uint32_t policy) {
    xp_sched_state state{};
    state.sz = sizeof state;
    if (const int answer = xp_sched_query(&state); answer != 0)
        return result_of(answer);
    if (state.policy == policy)
        return kXSchedSuccess;
    if (const XResult stopped = stop_scheduler(); stopped != kXSchedSuccess)
        return stopped;
    const int answer = xp_sched_start(policy);
    if (answer != 0 && state.policy != 0)
        (void)xp_sched_start(state.policy);
    return result_of(answer);
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
    return c_call([&](Registry&) {
        if (scheduler <= kSchedulerUnknown || scheduler >= kSchedulerMax)
            return kXSchedErrorInvalidValue;
        if (scheduler == kSchedulerAppManaged)
            return stop_scheduler();
        if (policy <= kPolicyUnknown || policy >= kPolicyMax)
            return kXSchedErrorInvalidValue;
        const bool global = scheduler == kSchedulerGlobal;
        if (!global && (scheduler != kSchedulerLocal || policy != kPolicyHighestPriorityFirst))
            return kXSchedErrorNotSupported;
        return start_scheduler(global ? XP_POLICY_DAEMON : XP_POLICY_HIGHEST_PRIORITY_FIRST);
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
    return with(xq, [&](XQueue& queue) {
        return store_if(util >= UTILIZATION_MIN && util <= UTILIZATION_MAX,
                        [&] { queue.hints.utilization = util; });
    });
}

XResult XHintTimeslice(Timeslice ts_us) {
    // UINT64_MAX, as the type has it.
    const bool unlimited = ts_us == static_cast<Timeslice>(TIMESLICE_UNLIMITED);
    return c_call([&](Registry& registry) {
        return store_if(unlimited || (ts_us >= TIMESLICE_MIN && ts_us <= TIMESLICE_MAX),
                        [&] { registry.timeslice = ts_us; });
    });
}

XResult XHintLaxity(XQueueHandle xq, Laxity lax_us, Priority lax_prio, Priority crit_prio) {
    return with(xq, [&](XQueue& queue) {
        return store_if(lax_us >= NO_LAXITY && is_priority(lax_prio) && is_priority(crit_prio),
                        [&] {
                            queue.hints.laxity = lax_us;
                            queue.hints.lax_priority = lax_prio;
                            queue.hints.critical_priority = crit_prio;
                        });
    });
}

XResult XHintDeadline(XQueueHandle xq, Deadline ddl_us) {
    return with(xq, [&](XQueue& queue) {
        return store_if(ddl_us >= NO_DEADLINE, [&] { queue.hints.deadline = ddl_us; });
    });
}

XResult XHintKDeadline(size_t k) {
    return c_call(
        [&](Registry& registry) { return store_if(k != 0, [&] { registry.k_deadline = k; }); });
}
}
