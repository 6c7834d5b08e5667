// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdint.h>

#include "gpu_debugfs.h"
#include "held_reset.h"
#include "probes.h"
#include "wait.h"

/* As the probe says it. */
enum { GO_ON = 0, THE_NEXT = 1, WAITS = 2 };

/* A GPU that is slow to reset isn't an error. */
#define BEGIN_MS 30000u

static void *reset_gpu(void *unused)
{
	(void)unused;
	return (void *)(intptr_t)gpu_debugfs_read("amdgpu_gpu_recover");
}

bool held_reset_waits(const struct held_reset *reset)
{
	return probes_get(reset->probe) == WAITS;
}

static bool waits(const void *reset)
{
	return held_reset_waits(reset);
}

int held_reset_begin(struct held_reset *reset, const char *probe)
{
	int ret;

	reset->probe = probe;
	ret = probes_set(probe, THE_NEXT);
	if (ret)
		return ret;
	ret = -pthread_create(&reset->thread, NULL, reset_gpu, NULL);
	if (ret)
		return ret;
	return wait_until(waits, reset, BEGIN_MS) ? 0 : -ETIME;
}

int held_reset_end(struct held_reset *reset)
{
	int ret = probes_set(reset->probe, GO_ON);
	void *failed;

	if (ret)
		return ret;
	ret = -pthread_join(reset->thread, &failed);
	return ret ? ret : (int)(intptr_t)failed;
}
