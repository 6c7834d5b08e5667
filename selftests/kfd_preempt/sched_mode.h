/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts of the running driver that decide what a test expects. */
#ifndef KFD_PREEMPT_SCHED_MODE_H
#define KFD_PREEMPT_SCHED_MODE_H

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "preempt.h"

/* Asks once; a driver without the interface reads as having no caps. */
static inline struct kfd_ioctl_preempt_query_args driver_facts(int fd)
{
	struct kfd_ioctl_preempt_query_args query;

	if (preempt_query(fd, 0, &query))
		return (struct kfd_ioctl_preempt_query_args){};
	return query;
}

static inline bool driver_has_no_hws(int fd)
{
	return driver_facts(fd).sched_mode == KFD_PREEMPT_SCHED_NO_HWS;
}

static inline bool kernel_is_since(unsigned int major, unsigned int minor)
{
	unsigned int now[2] = {};
	struct utsname name;

	if (!uname(&name))
		sscanf(name.release, "%u.%u", &now[0], &now[1]);
	return now[0] > major || (now[0] == major && now[1] >= minor);
}

/*
 * The capabilities of a driver with default parameters on a GPU with VRAM of its own from gfx9 on, or
 * without a GPU, where nothing depends on hardware.
 */
static inline uint64_t driver_caps_wanted(int fd, bool has_gpu, bool has_cwsr)
{
	uint64_t caps = KFD_PREEMPT_CAP_BATCH | KFD_PREEMPT_CAP_OPERATOR |
			KFD_PREEMPT_CAP_OPERATOR_FD | KFD_PREEMPT_CAP_WATCH |
			KFD_PREEMPT_CAP_GIVE_MEMORY | KFD_PREEMPT_CAP_PROCESS;

	if (preempt_queue(fd, 0x7fffffff) != -ENOENT)
		caps |= KFD_PREEMPT_CAP_SWITCH_ONLY;
	if (!has_gpu)
		return caps;
	if (has_cwsr)
		caps |= KFD_PREEMPT_CAP_SAVE | KFD_PREEMPT_CAP_CHECKPOINT;
	if (driver_has_no_hws(fd))
		return caps | KFD_PREEMPT_CAP_DRAIN | KFD_PREEMPT_CAP_YIELD_MEMORY |
		       KFD_PREEMPT_CAP_STOP_IS_PER_QUEUE | KFD_PREEMPT_CAP_TIMEOUT_BOUNDS_STOP;
	/* Under the HWS nothing can be stopped without CWSR, so no memory can be yielded. */
	if (has_cwsr)
		caps |= KFD_PREEMPT_CAP_YIELD_MEMORY;
	caps |= KFD_PREEMPT_CAP_RESUME_IS_ASYNC;
	/* Older drivers cannot change the grace period. */
	return kernel_is_since(6, 12) ? caps | KFD_PREEMPT_CAP_FAST : caps;
}

static inline bool driver_can(int fd, unsigned int type)
{
	return driver_facts(fd).type_mask & (1u << type);
}

#endif
