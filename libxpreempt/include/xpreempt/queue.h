/* SPDX-License-Identifier: MIT */
/* Preempt and resume KFD queues of this process directly, without an xqueue. */
#ifndef XPREEMPT_QUEUE_H
#define XPREEMPT_QUEUE_H

#include <xpreempt/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One queue, and the hold that this handle has on it. */
typedef struct xp_queue {
	uint64_t handle;
} xp_queue_t;

/* flags of xp_queue_open() and xp_xqueue_options */
#define XP_ALLOW_SHARED 0x1u /* stop the other streams on the queue too */

struct xp_queue_info {
	size_t sz; /* in: sizeof(struct xp_queue_info) */
	uint32_t kfd_queue_id;
	uint32_t generation;
	uint32_t gpu_id;
	uint32_t num_streams; /* streams seen on the queue; 0: an internal queue of HIP or ROCr */
	uint32_t holds; /* by this library, all handles together */
	uint32_t preempts_known; /* 1: the driver reports the fields below; 0 on a stock driver */
	uint64_t preempts; /* confirmed preemptions */
	uint64_t last_preempt_ns; /* time that the last one took in the driver */
	uint64_t max_preempt_ns;
};

/**
 * xp_queue_open() - opens the queue that the stream uses now
 * @flags: XP_ALLOW_SHARED, or 0: -EBUSY if other streams use the queue too
 *
 * Errors as xp_stream_query(). -EOPNOTSUPP if this machine cannot stop queues.
 */
int xp_queue_open(void *stream, uint32_t flags, xp_queue_t *queue);

/**
 * xp_queue_preempt() - stops the queue mid-kernel and saves its waves
 *
 * Returns when the queue has stopped. If the driver cannot confirm the stop in time, the queue is
 * held, and stops as soon as it can. Each handle has one hold, and the queue stays stopped while
 * any handle holds it; -EALREADY if this one already does. Meanwhile a HIP call that would wait for
 * the stream is blocked before it enters HIP (libxpreempt(7)).
 */
int xp_queue_preempt(xp_queue_t queue);

/**
 * xp_queue_resume() - drops this handle's hold; without holds the queue runs
 *
 * If the driver refuses the start, a thread of the library retries it.
 */
int xp_queue_resume(xp_queue_t queue);

/**
 * xp_queues_preempt() - stops several queues at once
 * @queues: different handles; -EINVAL if one occurs twice
 *
 * Stops all or none: if one cannot be stopped, it restarts the others and returns that error. On a
 * driver with SWITCH all queues of a GPU are unmapped in one update of the runlist; otherwise they
 * stop one by one, and each update disturbs the other queues of the GPU.
 */
int xp_queues_preempt(const xp_queue_t *queues, size_t count);

/**
 * xp_queues_resume() - drops the hold of each handle, at once as xp_queues_preempt()
 *
 * -ENOENT without any effect if one of the handles has no hold.
 */
int xp_queues_resume(const xp_queue_t *queues, size_t count);

/** xp_queue_query() - the queue and its holds. -ESTALE if the queue was destroyed */
int xp_queue_query(xp_queue_t queue, struct xp_queue_info *info);

/** xp_queue_close() - drops the hold, if any, and closes the handle */
int xp_queue_close(xp_queue_t queue);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_QUEUE_H */
