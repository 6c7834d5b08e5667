// SPDX-License-Identifier: MIT
// suspend: stop queues of a process where they are; they stay stopped until resume.
#include "driver/switch_queues.hpp"
#include "verbs/verbs.hpp"

namespace cli {

Report suspend(const Context& context, const QueueSelection& selection, bool attach, bool yield) {
    // STICKY: the hold outlives this process, as a SIGSTOP outlives kill(1). Attached, it is the
    // hold of an operator, which ends with the operator's file.
    return switch_queues(context, selection,
                         {Verb::suspend, KFD_PREEMPT_OP_PREEMPT, KFD_PREEMPT_TYPE_SAVE,
                          attach ? 0U : KFD_PREEMPT_SWITCH_STICKY, attach, yield});
}

} // namespace cli
