/* SPDX-License-Identifier: MIT */
/* XSched 1.2's queues and commands, on libxpreempt. */
#ifndef XPREEMPT_COMPAT_XSCHED_XQUEUE_H
#define XPREEMPT_COMPAT_XSCHED_XQUEUE_H

#include <xsched/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Errors, of every function: kXSchedErrorNotFound for a handle that is unknown or was destroyed,
 * kXSchedErrorInvalidValue for a missing pointer or a value out of range; xp_last_detail() has a
 * sentence when the library below refused. Outputs are left alone on failure. The process is never
 * ended. Any thread may call any function. Where XSched 1.2 behaves otherwise is told in
 * xpreempt-xsched(7).
 */

/*
 * An XQueue in front of a hardware queue (HipQueueCreate()); level: kPreemptLevel*, at which it will
 * be suspended. kXSchedErrorNotSupported: the queue cannot be stopped at that level, or flags asks
 * for blocking submits. There is one for each hardware queue: the second call returns the first's.
 */
XResult XQueueCreate(XQueueHandle *xq, HwQueueHandle hwq, int64_t level, int64_t flags);

/* Resumes, launches what waits, and waits until all of it is complete. */
XResult XQueueDestroy(XQueueHandle xq);

/* The XQueue of a hardware queue. */
XResult XQueueGet(XQueueHandle *xq, HwQueueHandle hwq);

/* Takes effect with the next suspend. kXSchedErrorNotSupported: as XQueueCreate(). */
XResult XQueueSetPreemptLevel(XQueueHandle xq, XPreemptLevel level);

/*
 * threshold: commands that may be in flight, batch_size: between two looks at completion; 0 or less
 * keeps a value. kXSchedErrorInvalidValue when batch_size would exceed threshold.
 */
XResult XQueueSetLaunchConfig(XQueueHandle xq, int64_t threshold, int64_t batch_size);

/*
 * Hands over a command, once: kXSchedErrorNotAllowed the second time. When it is launched at once
 * and its launch fails, that failure is the answer.
 */
XResult XQueueSubmit(XQueueHandle xq, HwCommandHandle hw_cmd);

/*
 * Until the command is complete on the GPU. The failure of its launch, if it failed.
 * kXSchedErrorNotAllowed: it was not submitted to this XQueue. kXSchedErrorNotFound: it was dropped.
 */
XResult XQueueWait(XQueueHandle xq, HwCommandHandle hw_cmd);

XResult XQueueWaitAll(XQueueHandle xq);
XResult XQueueQuery(XQueueHandle xq, XQueueState *state);

/* Not counted: one XQueueResume() undoes any number of suspends. Flags: kQueueSuspendFlag*. */
XResult XQueueSuspend(XQueueHandle xq, int64_t flags);
XResult XQueueResume(XQueueHandle xq, int64_t flags); /* kQueueResumeFlag* */

/* How many commands were submitted. */
XResult XQueueProfileHwCommandCount(XQueueHandle xq, int64_t *count);

/* Forgets the hardware queue; kXSchedErrorNotAllowed while it has an XQueue. */
XResult HwQueueDestroy(HwQueueHandle hwq);

/* Launches a command past the XQueue, at once, in this thread. */
XResult HwQueueLaunch(HwQueueHandle hwq, HwCommandHandle hw_cmd);

/* Waits for what was launched. Does not return while the queue is suspended mid-kernel. */
XResult HwQueueSynchronize(HwQueueHandle hwq);

/*
 * A command that is launched by a call of launch(hwq, data). Its handle lives until it is destroyed;
 * of those that were used and never destroyed, 65536 are kept, and pending ones always.
 */
XResult HwCommandCreateCallback(HwCommandHandle *hw_cmd, LaunchCallback launch, void *data);

/* Forgets the handle. A submitted command is still launched. */
XResult HwCommandDestroy(HwCommandHandle hw_cmd);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_COMPAT_XSCHED_XQUEUE_H */
