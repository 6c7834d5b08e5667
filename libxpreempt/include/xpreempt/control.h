/* SPDX-License-Identifier: MIT */
/* The control socket, through which kfd-preempt(8) and other programs list and suspend the streams
 * of this process. */
#ifndef XPREEMPT_CONTROL_H
#define XPREEMPT_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* flags of xp_control_options */
#define XP_CONTROL_READ_ONLY 0x1u /* clients may query, but not suspend */

struct xp_control_options {
	size_t sz; /* in: sizeof(struct xp_control_options) */
	uint32_t flags; /* XP_CONTROL_READ_ONLY */
	uint32_t max_clients; /* connections at a time, at most 32; 0: 16 */
};

/**
 * xp_control_open() - opens this process' control socket
 * @options: NULL for the defaults
 *
 * Starts one thread, which serves clients of the same user and root. The library opens the socket
 * only on this call, or at its first use if the environment has XPREEMPT_CONTROL=1. It closes the
 * socket at exit and when it is unloaded. A forked child does not have the socket.
 *
 * -EALREADY if it is open. -EPERM if there is no directory that belongs to this user alone.
 */
int xp_control_open(const struct xp_control_options *options);

/**
 * xp_control_close() - closes the socket, and undoes every suspend that a client requested
 *
 * Waits for the request in progress. -ENOENT if the socket is not open.
 */
int xp_control_close(void);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_CONTROL_H */
