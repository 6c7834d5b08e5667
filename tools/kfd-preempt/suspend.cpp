// SPDX-License-Identifier: MIT
// suspend: stop queues of a process where they are; they stay stopped until resume.
#include "switch_queues.hpp"

namespace cli {

Report suspend(const Context& context, const QueueSelection& selection) {
    // STICKY: the hold must outlive this process, as a SIGSTOP outlives kill(1).
    return switch_queues(
        context, selection,
        {Verb::suspend, KFD_PREEMPT_OP_PREEMPT, KFD_PREEMPT_TYPE_SAVE, KFD_PREEMPT_SWITCH_STICKY});
}

} // namespace cli
