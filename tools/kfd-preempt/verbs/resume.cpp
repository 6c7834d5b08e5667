// SPDX-License-Identifier: MIT
// resume: drop the hold of suspend, or with force the hold of every operator.
#include "driver/switch_queues.hpp"
#include "verbs/verbs.hpp"

namespace cli {

Report resume(const Context& context, const QueueSelection& selection, bool force) {
    return switch_queues(context, selection,
                         {Verb::resume, KFD_PREEMPT_OP_RESUME, 0,
                          force ? KFD_PREEMPT_SWITCH_FORCE : KFD_PREEMPT_SWITCH_STICKY});
}

} // namespace cli
