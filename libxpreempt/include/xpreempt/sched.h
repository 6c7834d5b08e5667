/* SPDX-License-Identifier: MIT */
/* Which xqueue runs first. */
#ifndef XPREEMPT_SCHED_H
#define XPREEMPT_SCHED_H

#include <xpreempt/xqueue.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Priorities of xqueues; a higher number runs first. Not those of HIP streams. */
#define XP_PRIORITY_MIN (-255)
#define XP_PRIORITY_DEFAULT 0
#define XP_PRIORITY_MAX 255

/**
 * xp_xqueue_set_priority() - XP_PRIORITY_MIN to XP_PRIORITY_MAX, else -EINVAL
 *
 * Any thread may call. Without a scheduler it is only remembered.
 */
int xp_xqueue_set_priority(xp_xqueue_t xqueue, int32_t priority);

/** xp_xqueue_get_priority() - what was set last, XP_PRIORITY_DEFAULT before */
int xp_xqueue_get_priority(xp_xqueue_t xqueue, int32_t *priority);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_SCHED_H */
