/* SPDX-License-Identifier: MIT */
/* Notices of the library: completed commands, lost queues, messages. */
#ifndef XPREEMPT_NOTIFY_H
#define XPREEMPT_NOTIFY_H

#include <xpreempt/xqueue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Receives what xp_xqueue_wait() would return for the command. */
typedef void (*xp_complete_fn)(int status, void *argument);

/**
 * xp_xqueue_notify() - calls a function once the command has completed on the GPU
 *
 * Calls it once: now, in this thread, if the command is complete; otherwise in a thread of the
 * xqueue, which the first such call starts, or for a dropped command in the thread that drops. The
 * function may call the library, but xp_xqueue_destroy() of this xqueue returns -EDEADLK there.
 * While it runs, no other function of this xqueue is called. xp_xqueue_destroy() returns after all
 * of them. status is -ECANCELED if the command was dropped, and the launch's error if that failed;
 * a later wait does not report that error again.
 *
 * -EINVAL: no such ticket. -EDEADLK: in a launch function of the xqueue.
 */
int xp_xqueue_notify(xp_xqueue_t xqueue, uint64_t ticket, xp_complete_fn complete, void *argument);

/**
 * xp_xqueue_notify_fd() - adds 1 to an eventfd(2) once the command has completed on the GPU
 * @eventfd: the library keeps a duplicate until then; -EBADF or -EINVAL if it is no eventfd
 *
 * For poll(2), epoll(7) and event loops. Also if the command was dropped or its launch failed: ask
 * with xp_xqueue_wait_for() and a timeout of 0, which reports it.
 */
int xp_xqueue_notify_fd(xp_xqueue_t xqueue, uint64_t ticket, int eventfd);

struct xp_lost_queue {
	size_t sz; /* sizeof(struct xp_lost_queue) in the library */
	uint32_t kfd_queue_id;
	uint32_t generation;
	uint32_t gpu_id;
	int32_t status; /* the driver's answer: -EIO, -ENODEV; -EACCES of a stock driver */
};

typedef void (*xp_lost_fn)(const struct xp_lost_queue *lost, void *argument);

/**
 * xp_set_lost_fn() - a function to call when a queue is found to be lost in a GPU reset
 * @lost: NULL: none
 *
 * Calls it once for each queue, in the thread that finds out: one that holds or releases the queue,
 * the scheduler's, or the control socket's. Locks of the library are held: the function must not
 * call the library. A queue is checked only when it is stopped or started. Work on a lost queue never
 * completes; ROCm itself usually ends the process.
 */
int xp_set_lost_fn(xp_lost_fn lost, void *argument);

/* How important a message is. */
enum xp_log_level {
	XP_LOG_NONE = 0,
	XP_LOG_ERROR = 1, /* something was lost */
	XP_LOG_WARNING = 2, /* something works less well than it was asked for */
	XP_LOG_INFO = 3, /* what was chosen, and why */
	XP_LOG_DEBUG = 4, /* each error that a call returned */
};

typedef void (*xp_log_fn)(uint32_t level, const char *message, void *argument);

/**
 * xp_set_log_fn() - a function to call with messages
 * @log: NULL: standard error, each message a line that begins with "libxpreempt: "
 * @most: XP_LOG_*: the least important messages to report; XP_LOG_NONE: none
 *
 * The function may be called by any thread, with locks of the library held: it must not call the
 * library. Without this call the environment variable XPREEMPT_LOG chooses: error, warning, info or
 * debug, to standard error; nothing if it is not set.
 */
int xp_set_log_fn(xp_log_fn log, uint32_t most, void *argument);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_NOTIFY_H */
