/* SPDX-License-Identifier: MIT */
/* Notifications: completed commands, lost queues, log messages. */
#ifndef XPREEMPT_NOTIFY_H
#define XPREEMPT_NOTIFY_H

#include <xpreempt/xqueue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @status: what xp_xqueue_wait() would return for the command */
typedef void (*xp_complete_fn)(int status, void *argument);

/**
 * xp_xqueue_notify() - calls a function once the command has completed on the GPU
 *
 * Calls the function once. If the command is already complete, the call is made here; for a dropped
 * command, by the thread that drops it; otherwise by a thread of the xqueue, which the first such
 * request starts. An xqueue calls one function at a time, and xp_xqueue_destroy() returns after all
 * of them. The function may call the library, except that xp_xqueue_destroy() of this xqueue
 * returns -EDEADLK.
 *
 * status is -ECANCELED if the command was dropped, or the error of its launch; a later wait does
 * not report that error again.
 *
 * -EINVAL if there is no such ticket. -EDEADLK in a launch function of the xqueue.
 */
int xp_xqueue_notify(xp_xqueue_t xqueue, uint64_t ticket, xp_complete_fn complete, void *argument);

/**
 * xp_xqueue_notify_fd() - adds 1 to an eventfd(2) once the command has completed on the GPU
 * @eventfd: the library keeps a duplicate until then; -EBADF or -EINVAL if it is no eventfd
 *
 * For poll(2), epoll(7) and event loops. A dropped command and a failed launch count as complete:
 * xp_xqueue_wait_for() with a timeout of 0 reports the error.
 */
int xp_xqueue_notify_fd(xp_xqueue_t xqueue, uint64_t ticket, int eventfd);

struct xp_lost_queue {
	size_t sz; /* sizeof(struct xp_lost_queue) in the library */
	uint32_t kfd_queue_id;
	uint32_t generation;
	uint32_t gpu_id;
	int32_t status; /* errno of the driver: -EIO, -ENODEV; -EACCES from a stock driver */
};

typedef void (*xp_lost_fn)(const struct xp_lost_queue *lost, void *argument);

/**
 * xp_set_lost_fn() - sets a function that is called for each queue lost in a GPU reset
 * @lost: NULL: none
 *
 * Called once per queue, by the thread that detects the loss: one that holds or releases the queue,
 * the scheduler's, or the control socket's. The thread may hold locks of the library, so the
 * function must not call the library, but it may end the process. A queue is only checked when it
 * is stopped or started. Work on a lost queue never completes; ROCm usually ends the process.
 */
int xp_set_lost_fn(xp_lost_fn lost, void *argument);

/* Severity of a log message. */
enum xp_log_level {
	XP_LOG_NONE = 0,
	XP_LOG_ERROR = 1, /* something was lost */
	XP_LOG_WARNING = 2, /* something works less well than requested */
	XP_LOG_INFO = 3, /* choices of the library and their reasons */
	XP_LOG_DEBUG = 4, /* each error that a call returns */
};

typedef void (*xp_log_fn)(uint32_t level, const char *message, void *argument);

/**
 * xp_set_log_fn() - sets a function that receives log messages
 * @log: NULL: standard error, each message a line that begins with "libxpreempt: "
 * @most: XP_LOG_*: the least severe messages to report; XP_LOG_NONE: none
 *
 * Any thread may call the function with locks of the library: it must call neither it nor exit(3).
 * Without this call XPREEMPT_LOG=error, warning, info or debug in the environment sends messages to
 * standard error; if it is not set there are none.
 */
int xp_set_log_fn(xp_log_fn log, uint32_t most, void *argument);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_NOTIFY_H */
