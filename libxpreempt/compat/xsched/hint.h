/* SPDX-License-Identifier: MIT */
/* XSched 1.2's hints to the scheduler. */
#ifndef XPREEMPT_COMPAT_XSCHED_HINT_H
#define XPREEMPT_COMPAT_XSCHED_HINT_H

#include <xsched/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Errors and threads as in <xsched/xqueue.h>. */

/*
 * kSchedulerAppManaged: none. kSchedulerLocal with kPolicyHighestPriorityFirst: xp_sched_start().
 * Anything else that has a name is kXSchedErrorNotSupported, and leaves what runs as it is.
 */
XResult XHintSetScheduler(XSchedulerType scheduler, XPolicyType policy);

/*
 * PRIORITY_MIN to PRIORITY_MAX. PRIORITY_NO_EXECUTE keeps the XQueue suspended until it is given
 * another priority, whoever resumes it meanwhile.
 */
XResult XHintPriority(XQueueHandle xq, Priority prio);

/* Of policies that do not exist yet: kXSchedErrorNotSupported for values in range. */
XResult XHintUtilization(XQueueHandle xq, Utilization util);
XResult XHintTimeslice(Timeslice ts_us);
XResult XHintLaxity(XQueueHandle xq, Laxity lax_us, Priority lax_prio, Priority crit_prio);
XResult XHintDeadline(XQueueHandle xq, Deadline ddl_us);
XResult XHintKDeadline(size_t k);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_COMPAT_XSCHED_HINT_H */
