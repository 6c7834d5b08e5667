/* SPDX-License-Identifier: GPL-2.0-only */
/* Facts of the running driver that decide what a test expects. */
#ifndef KFD_PREEMPT_SCHED_MODE_H
#define KFD_PREEMPT_SCHED_MODE_H

#include <stdbool.h>

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

static inline bool driver_can(int fd, unsigned int type)
{
	return driver_facts(fd).type_mask & (1u << type);
}

#endif
