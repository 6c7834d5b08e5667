// SPDX-License-Identifier: MIT
// suspend: stop queues of a process where they are; they stay stopped until resume.
#include "driver/switch_queues.hpp"
#include "verbs/verbs.hpp"

namespace cli {

Report suspend(const Context& context, const QueueSelection& selection,
               const SuspendOptions& options) {
    SwitchPlan plan{Verb::suspend, KFD_PREEMPT_OP_PREEMPT, KFD_PREEMPT_TYPE_SAVE};
    if (options.drain)
        plan.preempt_type = KFD_PREEMPT_TYPE_DRAIN;
    if (options.kill)
        plan.preempt_type = KFD_PREEMPT_TYPE_RESET;
    // STICKY: the hold outlives this process, as a SIGSTOP outlives kill(1). Attached, it is the
    // hold of an operator, which ends with the operator's file.
    if (!options.attach)
        plan.flags |= KFD_PREEMPT_SWITCH_STICKY;
    if (options.all_or_nothing)
        plan.flags |= KFD_PREEMPT_SWITCH_ALL_OR_NOTHING;
    plan.attach = options.attach;
    plan.yields = options.yield;
    plan.timeout_ms = options.timeout_ms;
    return switch_queues(context, selection, plan);
}

} // namespace cli
