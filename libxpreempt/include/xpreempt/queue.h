/* SPDX-License-Identifier: MIT */
/* KFD queues of this process: preempt and resume, without an xqueue. */
#ifndef XPREEMPT_QUEUE_H
#define XPREEMPT_QUEUE_H

#include <xpreempt/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One queue, and the holds that this handle has on it. */
typedef struct xp_queue {
	uint64_t handle;
} xp_queue_t;

/* flags of xp_queue_open() and xp_xqueue_options */
#define XP_ALLOW_SHARED 0x1u /* stop the other streams of the queue as well */

struct xp_queue_info {
	size_t sz; /* in: sizeof(struct xp_queue_info) */
	uint32_t kfd_queue_id;
	uint32_t generation;
	uint32_t gpu_id;
	uint32_t num_streams; /* seen on the queue; 0: one of HIP's or ROCr's own */
	uint32_t holds; /* of this library, all handles together */
	uint32_t preempts_known; /* the fields below are the driver's; 0 on a stock one */
	uint64_t preempts; /* confirmed stops */
	uint64_t last_preempt_ns; /* driver time of the last */
	uint64_t max_preempt_ns;
};

/**
 * xp_queue_open() - the queue that the stream is on now
 * @flags: XP_ALLOW_SHARED, or 0: -EBUSY when other streams use the queue too
 *
 * Errors as xp_stream_query(), and -EOPNOTSUPP when queues cannot be stopped here.
 */
int xp_queue_open(void *stream, uint32_t flags, xp_queue_t *queue);

/**
 * xp_queue_preempt() - stops the queue mid-kernel and saves its waves
 *
 * Returns when it has stopped. -EALREADY when this handle holds it; holds of several handles add up.
 * While held, a call into HIP that waits for the stream waits outside of HIP (libxpreempt(7)).
 */
int xp_queue_preempt(xp_queue_t queue);

/** xp_queue_resume() - drops this handle's hold; the queue runs when it was the last */
int xp_queue_resume(xp_queue_t queue);

/**
 * xp_queues_preempt() - stops several queues at once
 * @queues: different handles; -EINVAL when one is there twice
 *
 * All of them, or none: when one cannot be stopped, those that were are started again, and its error
 * is returned. On a driver with SWITCH the queues of one GPU go off it in one update of the runlist,
 * which otherwise each queue costs its neighbours; elsewhere they stop one by one.
 */
int xp_queues_preempt(const xp_queue_t *queues, size_t count);

/**
 * xp_queues_resume() - drops the hold of each handle, at once as xp_queues_preempt()
 *
 * -ENOENT, and nothing done, when one of them holds nothing. When a start is refused the others
 * are done, and the first error is returned.
 */
int xp_queues_resume(const xp_queue_t *queues, size_t count);

/** xp_queue_query() - the queue and who holds it. -ESTALE: it was destroyed */
int xp_queue_query(xp_queue_t queue, struct xp_queue_info *info);

/** xp_queue_close() - drops the hold, if there is one, and the handle */
int xp_queue_close(xp_queue_t queue);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_QUEUE_H */
