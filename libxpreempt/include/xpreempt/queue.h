/* SPDX-License-Identifier: MIT */
/* KFD queues of this process, by id or by hsa_queue_t: hold and release, with HIP or without it. */
#ifndef XPREEMPT_QUEUE_H
#define XPREEMPT_QUEUE_H

#include <xpreempt/device.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Names one queue for ever: KFD reuses ids, the pair is unique in this process. It is a value that
 * is copied and never closed. xp_stream_query() reports both members for the queue of a stream.
 */
typedef struct xp_queue {
	uint32_t kfd_queue_id; /* the driver's id, from AMDKFD_IOC_CREATE_QUEUE */
	uint32_t generation;
} xp_queue_t;

/**
 * xp_queue_of_id() - the compute queue of this process with that KFD id
 *
 * -ENOSYS if libxpreempt-hook.so is not loaded. -ENOENT if this process has no such queue, or had
 * it before the hook was loaded; ids of other processes name nothing here. -EOPNOTSUPP for a queue
 * that runs no waves (SDMA).
 */
int xp_queue_of_id(uint32_t kfd_queue_id, xp_queue_t *queue);

/**
 * xp_queue_of_hsa() - the KFD queue of an hsa_queue_t, as hsa_queue_create() returns it
 *
 * Errors as xp_queue_of_id(). -ENOENT also for a soft queue, and for a profiler's stand-in.
 */
int xp_queue_of_hsa(const void *hsa_queue, xp_queue_t *queue);

/* flags of xp_queue_hold() */
#define XP_QUEUE_DRAIN 0x1u /* running waves complete; without it they are saved (CWSR) */
#define XP_QUEUE_FAST 0x2u /* shortest grace period of the firmware; see kfd_preempt(4) */

#define XP_QUEUE_MAX_TIMEOUT_MS 60000u

/**
 * xp_queue_hold() - stops the queue, with all streams on it
 * @timeout_ms: most time for the stop to be confirmed; 0: no bound, the queue is held and stops as
 *	soon as it can
 *
 * Returns 0 once the queue is stopped, or with @timeout_ms 0 once it is held. Counted, beside the
 * holds of streams and xqueues: each hold needs an xp_queue_release(), and the queue runs again
 * when the last one has ended. If the queue is stopped already, the flags have no effect. A hold
 * ends with its queue and with the process. With the hook, HIP calls that would wait for the queue
 * block outside of HIP, as after xp_stream_hold() with XP_HOLD_SHARED.
 *
 * -ENOSYS as xp_queue_of_id(). -ENOENT if the queue was destroyed. -ETIME if the stop was not
 * confirmed in time; then nothing is held. -EOPNOTSUPP if the driver cannot stop the queue this way.
 * -EIO if the queue is dead.
 */
int xp_queue_hold(xp_queue_t queue, uint32_t flags, uint32_t timeout_ms);

/**
 * xp_queue_release() - undoes one xp_queue_hold(). -ENOSYS as xp_queue_of_id(). -ENOENT if there is
 * none: also if the queue was destroyed, because its holds ended with it
 *
 * If the driver refuses the start, a thread of the library retries it.
 */
int xp_queue_release(xp_queue_t queue);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_QUEUE_H */
