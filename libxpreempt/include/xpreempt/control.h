/* SPDX-License-Identifier: MIT */
/* The control socket: kfd-preempt(8) and other programs see and stop this process' streams. */
#ifndef XPREEMPT_CONTROL_H
#define XPREEMPT_CONTROL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* flags of xp_control_options */
#define XP_CONTROL_READ_ONLY 0x1u /* others may query, but suspend nothing */

struct xp_control_options {
	size_t sz; /* in: sizeof(struct xp_control_options) */
	uint32_t flags; /* XP_CONTROL_READ_ONLY */
	uint32_t max_clients; /* programs that may be connected at a time; 0: 16; at most 32 */
};

/**
 * xp_control_open() - opens this process' control socket
 * @options: NULL for the defaults
 *
 * Starts one thread. Served are programs of the same user, and root. The library never opens the
 * socket by itself; the environment variable XPREEMPT_CONTROL=1 asks for it too, at the library's
 * first use. Closed at exit and when the library is unloaded; a forked child does not have it.
 *
 * -EALREADY: it is open. -EPERM: no directory of the user's own can be had for it.
 */
int xp_control_open(const struct xp_control_options *options);

/**
 * xp_control_close() - closes it, and undoes every suspend that was asked for through it
 *
 * Waits for the request that is being carried out. -ENOENT: it is not open.
 */
int xp_control_close(void);

#ifdef __cplusplus
}
#endif

#endif /* XPREEMPT_CONTROL_H */
