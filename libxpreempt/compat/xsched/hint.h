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
 * kSchedulerAppManaged: none. kSchedulerLocal: xp_sched_start_with(), with each policy but the three
 * about processes (CPUHighestPriorityFirst, StrictProcessUtilizationPartition, ActiveWindowFirst).
 * kSchedulerGlobal with any policy: xpreemptd(8), whose policy is the administrator's choice; then
 * the highest priority of this process' XQueues and streams is that of its job, and so are their
 * other attributes (XP_POLICY_DAEMON).
 * kXSchedErrorNotSupported if it does not run, kXSchedErrorNotAllowed if the priority is above what
 * the user may choose there. Anything else that has a name is kXSchedErrorNotSupported. After an
 * error no scheduler runs that did not before.
 */
XResult XHintSetScheduler(XSchedulerType scheduler, XPolicyType policy);

/*
 * kXSchedErrorNotAllowed: the global scheduler does not let this user choose it; set anyway.
 * PRIORITY_MIN to PRIORITY_MAX. PRIORITY_NO_EXECUTE keeps the XQueue suspended until it is given
 * another priority, even if another caller resumes it meanwhile.
 */
XResult XHintPriority(XQueueHandle xq, Priority prio);

/*
 * Attributes and parameters of the policies that use them: the two utilization partitions; the
 * time slice of these, of CompletelyFairScheduler and of MultiLevelFeedbackQueue; laxity and
 * deadline of Laxity and KEarliestDeadlineFirst. The two priorities of XHintLaxity are checked and
 * have no effect. Under another policy a value in range is stored, and kXSchedSuccess returned.
 */
XResult XHintUtilization(XQueueHandle xq, Utilization util);
XResult XHintTimeslice(Timeslice ts_us);
XResult XHintLaxity(XQueueHandle xq, Laxity lax_us, Priority lax_prio, Priority crit_prio);
XResult XHintDeadline(XQueueHandle xq, Deadline ddl_us);
XResult XHintKDeadline(size_t k);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_COMPAT_XSCHED_HINT_H */
