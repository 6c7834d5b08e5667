/* SPDX-License-Identifier: MIT */
/* Hints of a program to xpreemptd(8), which schedules jobs of several processes on the GPUs. */
#ifndef XPREEMPT_HINT_H
#define XPREEMPT_HINT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A hint concerns the job of the process that calls, as xpreemptd sees jobs. It needs neither HIP
 * nor the hook. It never does more than the job's band allows, and ends with the handle or the
 * process.
 *
 * Each call waits for the daemon's reply, for 100 ms at most, and connects again when the daemon
 * was restarted. Without a daemon a call fails at once, and for the next 100 ms the calls after it
 * fail without a system call.
 *
 * Errors of all but open and close: -ENOENT or -ECONNREFUSED: xpreemptd is not running. -EACCES: its
 * socket is not for this user. -ETIMEDOUT: it did not reply; calls of the next second fail at once.
 * -ESRCH: the process' job has no queues on a GPU yet. -EAGAIN: too many hints; see each. -EPROTO:
 * the reply is none of this version. xp_last_detail() says more.
 */

/* One sequence of requests. Threads that serve requests at the same time open one each. */
typedef struct xp_hint {
	uint64_t handle;
} xp_hint_t;

#define XP_HINT_MAX_SOON_US 100000u
#define XP_HINT_MAX_DEADLINE_US 3600000000u /* an hour */

/* Bands of xpreemptd, highest first. */
enum xp_band {
	XP_BAND_DEFAULT = 0, /* that of the job's attributes: rules, `kfd-preempt run` and renice */
	XP_BAND_REALTIME = 1,
	XP_BAND_HIGH = 2,
	XP_BAND_NORMAL = 3,
	XP_BAND_IDLE = 4,
};

#define XP_HINT_DEFAULT_PRIORITY INT32_MIN /* that of the job's attributes */

/**
 * xp_hint_open() - a handle for hints
 * @socket: path of the daemon's socket; NULL: XPREEMPTD_SOCKET of the environment, or
 *	/run/xpreempt/xpreemptd.sock
 *
 * Does not connect: the first hint does, so that the daemon may be started later.
 */
int xp_hint_open(const char *socket, xp_hint_t *hint);

/**
 * xp_hint_begin() - a request begins
 * @deadline_us: from now on, for policies that use it; 0: none
 *
 * A handle has one request at a time; another begin takes the place of the one before.
 */
int xp_hint_begin(xp_hint_t hint, uint64_t deadline_us);

/**
 * xp_hint_end() - the request has ended, and no work follows soon
 *
 * Lower bands resume as soon as the job's queues are empty, without the resume_grace that would
 * otherwise wait for more work. Not while another handle of the job is in a request.
 */
int xp_hint_end(xp_hint_t hint);

/**
 * xp_hint_soon() - the job submits work within @us, 1 to XP_HINT_MAX_SOON_US
 *
 * Lower bands are preempted now, as if the work were there, until it comes or the time is over.
 * -EAGAIN: the work that was announced before did not come; announce again after nine times as long
 * as that held the GPU for nothing.
 */
int xp_hint_soon(xp_hint_t hint, uint32_t us);

/**
 * xp_hint_set_band() - the band of the job, as long as this handle is open
 * @band: XP_BAND_*
 *
 * The highest band that a handle of the job sets holds. -EPERM: no rule lets this user choose
 * it. Sent again to a daemon that was restarted.
 */
int xp_hint_set_band(xp_hint_t hint, uint32_t band);

/**
 * xp_hint_set_priority() - the same for the priority that policy HPF uses, -255 to 255
 *
 * -EPERM: above 0, and no rule lets this user choose band high.
 */
int xp_hint_set_priority(xp_hint_t hint, int32_t priority);

/** xp_hint_close() - closes the connection, which ends all its hints */
int xp_hint_close(xp_hint_t hint);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_HINT_H */
