// SPDX-License-Identifier: MIT
// XHint*: priorities, attributes and the scheduler of this process.
//
// Priorities of laxity are checked, without effect: a request has none of its own here. Other hints
// that the policy does not use are stored for one that does.
#include "c_boundary.hpp"

#include <algorithm>
#include <cerrno>
#include <optional>

using namespace xpreempt::compat;

namespace {

bool is_priority(Priority priority) {
    return priority >= PRIORITY_NO_EXECUTE && priority <= PRIORITY_MAX;
}

XResult stop_scheduler() {
    const int answer = xp_sched_stop();
    return answer == -ENOENT ? kXSchedSuccess : result_of(answer);
}

xp_sched_parameters parameters_of(const Registry& registry) {
    xp_sched_parameters parameters{};
    parameters.sz = sizeof parameters;
    // The default is that of the policy.
    if (const Timeslice slice = registry.timeslice; slice != TIMESLICE_DEFAULT)
        parameters.slice_us = static_cast<std::uint64_t>(
            slice == static_cast<Timeslice>(TIMESLICE_UNLIMITED) ? TIMESLICE_MAX : slice);
    parameters.k = std::min<std::uint64_t>(registry.k_deadline, 1000);
    return parameters;
}

// 0: none.
XResult running_policy(std::uint32_t& policy) {
    xp_sched_state state{};
    state.sz = sizeof state;
    const int answer = xp_sched_query(&state);
    policy = state.policy;
    return result_of(answer);
}

// In the place of the one that runs.
XResult restart_scheduler(const Registry& registry, std::uint32_t running, std::uint32_t policy) {
    if (const XResult stopped = stop_scheduler(); stopped != kXSchedSuccess)
        return stopped;
    const xp_sched_parameters parameters = parameters_of(registry);
    const int answer = xp_sched_start_with(policy, &parameters);
    if (answer != 0 && running != 0)
        (void)xp_sched_start_with(running, &parameters);
    return result_of(answer);
}

XResult start_scheduler(const Registry& registry, std::uint32_t policy) {
    std::uint32_t running = 0;
    if (const XResult known = running_policy(running); known != kXSchedSuccess || running == policy)
        return known;
    return restart_scheduler(registry, running, policy);
}

// After a change of its parameters. A function of the program has none.
XResult renew_scheduler(const Registry& registry) {
    std::uint32_t running = 0;
    const XResult known = running_policy(running);
    if (known != kXSchedSuccess || running == 0 || running == XP_POLICY_DAEMON ||
        running == XP_POLICY_PROGRAM)
        return known;
    return restart_scheduler(registry, running, running);
}

// Nothing: a policy about processes.
std::optional<std::uint32_t> local_policy(XPolicyType policy) {
    switch (policy) {
    case kPolicyHighestPriorityFirst: return XP_POLICY_HIGHEST_PRIORITY_FIRST;
    case kPolicyHeterogeneousHighestPriorityFirst:
        return XP_POLICY_HETEROGENEOUS_HIGHEST_PRIORITY_FIRST;
    case kPolicyUtilizationPartition: return XP_POLICY_UTILIZATION_PARTITION;
    case kPolicyProcessUtilizationPartition: return XP_POLICY_PROCESS_UTILIZATION_PARTITION;
    case kPolicyKEarliestDeadlineFirst: return XP_POLICY_EARLIEST_DEADLINE_FIRST;
    case kPolicyLaxity: return XP_POLICY_LAXITY;
    case kPolicyCompletelyFairScheduler: return XP_POLICY_COMPLETELY_FAIR;
    case kPolicyMultiLevelFeedbackQueue: return XP_POLICY_MULTILEVEL_FEEDBACK;
    default: return std::nullopt;
    }
}

// Sets one of the attributes.
template <typename Change> XResult change_attributes(XQueue& queue, Change change) {
    const std::lock_guard lock(queue.control_mutex);
    xp_sched_attributes attributes{};
    attributes.sz = sizeof attributes;
    int answer = xp_xqueue_get_attributes(queue.native, &attributes);
    if (answer == 0) {
        change(attributes);
        answer = xp_xqueue_set_attributes(queue.native, &attributes);
    }
    return result_of(answer);
}

// A time of 0 is the shortest one here, where 0 stands for none.
std::uint64_t time_or_none(std::int64_t time_us) {
    constexpr std::int64_t longest = 3'600'000'000;
    return time_us < 0 ? 0
                       : static_cast<std::uint64_t>(std::clamp<std::int64_t>(time_us, 1, longest));
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
    return c_call([&](Registry& registry) {
        if (scheduler <= kSchedulerUnknown || scheduler >= kSchedulerMax)
            return kXSchedErrorInvalidValue;
        if (scheduler == kSchedulerAppManaged)
            return stop_scheduler();
        if (policy <= kPolicyUnknown || policy >= kPolicyMax)
            return kXSchedErrorInvalidValue;
        if (scheduler == kSchedulerGlobal)
            return start_scheduler(registry, XP_POLICY_DAEMON);
        const auto local = local_policy(policy);
        if (scheduler != kSchedulerLocal || !local)
            return kXSchedErrorNotSupported;
        return start_scheduler(registry, *local);
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
        if (util < UTILIZATION_MIN || util > UTILIZATION_MAX)
            return kXSchedErrorInvalidValue;
        return change_attributes(queue, [&](xp_sched_attributes& attributes) {
            attributes.utilization =
                util == 0 ? XP_NO_UTILIZATION : static_cast<std::uint32_t>(util);
        });
    });
}

XResult XHintTimeslice(Timeslice ts_us) {
    // UINT64_MAX, as the type has it.
    const bool unlimited = ts_us == static_cast<Timeslice>(TIMESLICE_UNLIMITED);
    return c_call([&](Registry& registry) {
        if (!unlimited && (ts_us < TIMESLICE_MIN || ts_us > TIMESLICE_MAX))
            return kXSchedErrorInvalidValue;
        if (registry.timeslice.exchange(ts_us) == ts_us)
            return kXSchedSuccess;
        return renew_scheduler(registry);
    });
}

XResult XHintLaxity(XQueueHandle xq, Laxity lax_us, Priority lax_prio, Priority crit_prio) {
    return with(xq, [&](XQueue& queue) {
        if (lax_us < NO_LAXITY || !is_priority(lax_prio) || !is_priority(crit_prio))
            return kXSchedErrorInvalidValue;
        return change_attributes(queue, [&](xp_sched_attributes& attributes) {
            attributes.laxity_us = time_or_none(lax_us);
        });
    });
}

XResult XHintDeadline(XQueueHandle xq, Deadline ddl_us) {
    return with(xq, [&](XQueue& queue) {
        if (ddl_us < NO_DEADLINE)
            return kXSchedErrorInvalidValue;
        return change_attributes(queue, [&](xp_sched_attributes& attributes) {
            attributes.deadline_us = time_or_none(ddl_us);
        });
    });
}

XResult XHintKDeadline(size_t k) {
    return c_call([&](Registry& registry) {
        if (k == 0)
            return kXSchedErrorInvalidValue;
        if (registry.k_deadline.exchange(k) == k)
            return kXSchedSuccess;
        return renew_scheduler(registry);
    });
}
}
