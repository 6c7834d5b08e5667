/* SPDX-License-Identifier: GPL-2.0-only */
/* A reset of the GPU that a probe of kfd_probes.ko holds at one moment. Needs root, debugfs, two CPUs. */
#ifndef SELFTESTS_HELD_RESET_H
#define SELFTESTS_HELD_RESET_H

#include <pthread.h>
#include <stdbool.h>

struct held_reset {
	const char *probe;	/* a parameter: hold_reset or hold_stopped */
	pthread_t thread;
};

/* Returns when the reset waits: 0 or a negative errno. kfd_probes.ko is loaded. */
int held_reset_begin(struct held_reset *reset, const char *probe);

/* False once it has waited for 30 s, the most that the probe allows. */
bool held_reset_waits(const struct held_reset *reset);

/* Releases it, and returns when it has ended: 0 or a negative errno. */
int held_reset_end(struct held_reset *reset);

#endif
