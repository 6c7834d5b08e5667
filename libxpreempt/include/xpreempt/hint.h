/* SPDX-License-Identifier: MIT */
/* Hints from a program to xpreemptd(8), which schedules the jobs of a machine on its GPUs. */
#ifndef XPREEMPT_HINT_H
#define XPREEMPT_HINT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A hint applies to the calling process' job, as xpreemptd groups processes into jobs. It needs
 * neither HIP nor the hook. It has no effect beyond what the job's band allows, and ends with the
 * handle or the process.
 *
 * Each call waits at most 100 ms for the daemon's reply, and reconnects if the daemon was
 * restarted. Without a daemon a call fails at once, and calls in the next 100 ms fail without a
 * system call.
 *
 * Errors of all functions but open and close:
 * -ENOENT, -ECONNREFUSED: xpreemptd is not running.
 * -EACCES: this user may not connect to its socket.
 * -ETIMEDOUT: it did not reply. Calls in the next second fail at once.
 * -ESRCH: the job of this process has no queues on a GPU yet.
 * -EAGAIN: too many hints, see each function.
 * -EPROTO: the reply is not of this version.
 * -EUSERS: the daemon has closed the connection for another client's. The next call connects again.
 * -ECONNRESET: the daemon closes each connection at once.
 * -ENAMETOOLONG: the path of the socket is empty, or has more than 107 bytes.
 * -EMFILE, -ENFILE: no descriptor is free in this process, in the daemon, or on the machine.
 * xp_last_detail() says more.
 */

/* One sequence of requests. Threads that serve requests concurrently open a handle each. */
typedef struct xp_hint {
	uint64_t handle;
} xp_hint_t;

#define XP_HINT_MAX_SOON_US 100000u
#define XP_HINT_MAX_DEADLINE_US 3600000000u /* an hour */

/* Bands of xpreemptd, highest first. */
enum xp_band {
	XP_BAND_DEFAULT = 0, /* as set by the rules, `kfd-preempt run` or renice */
	XP_BAND_REALTIME = 1,
	XP_BAND_HIGH = 2,
	XP_BAND_NORMAL = 3,
	XP_BAND_IDLE = 4,
};

#define XP_HINT_DEFAULT_PRIORITY INT32_MIN /* as set by the rules, `kfd-preempt run` or renice */

/**
 * xp_hint_open() - opens a handle for hints
 * @socket: path of the daemon's socket; NULL: XPREEMPTD_SOCKET of the environment, or
 *	/run/xpreempt/xpreemptd.sock
 *
 * Does not connect. The first hint connects, so the daemon may start later.
 */
int xp_hint_open(const char *socket, xp_hint_t *hint);

/**
 * xp_hint_begin() - a request begins
 * @deadline_us: counted from now, for policy K-EDF; 0: none
 *
 * A handle has one request at a time; another begin replaces it.
 */
int xp_hint_begin(xp_hint_t hint, uint64_t deadline_us);

/**
 * xp_hint_end() - the request has ended, and no work follows soon
 *
 * Lower bands resume as soon as the job's queues are empty, without the resume_grace that otherwise
 * waits for more work. Has no effect while another handle of the job is in a request.
 */
int xp_hint_end(xp_hint_t hint);

/**
 * xp_hint_soon() - the job will submit work within @us, 1 to XP_HINT_MAX_SOON_US
 *
 * Preempts lower bands now, as if the work were there, until the work or the end of that time.
 * -EAGAIN if earlier announced work did not come: announce again after nine times as long as the
 * GPU was kept free in vain.
 */
int xp_hint_soon(xp_hint_t hint, uint32_t us);

/**
 * xp_hint_set_band() - sets the band of the job while this handle is open
 * @band: XP_BAND_*
 *
 * If several handles of the job set a band, the highest one applies. A restarted daemon gets it
 * again. -EPERM if no rule lets this user choose the band.
 */
int xp_hint_set_band(xp_hint_t hint, uint32_t band);

/**
 * xp_hint_set_priority() - sets the job's priority for policy HPF likewise, -255 to 255
 *
 * -EPERM if it is above what the rules let this user choose.
 */
int xp_hint_set_priority(xp_hint_t hint, int32_t priority);

/** xp_hint_close() - closes the connection and ends all hints of the handle */
int xp_hint_close(xp_hint_t hint);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_HINT_H */
