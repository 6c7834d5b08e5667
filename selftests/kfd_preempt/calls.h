/* SPDX-License-Identifier: GPL-2.0-only */
/* Each ioctl under test as bytes, well formed, for tests that then break one. */
#ifndef KFD_PREEMPT_CALLS_H
#define KFD_PREEMPT_CALLS_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "kfd_device.h"
#include "preempt.h"

/* No process has so many queues: KFD queue ids are below 1024. */
#define NO_QUEUE 0x7fffffffu

enum call { CALL_PREEMPT, CALL_RESUME, CALL_QUERY, CALL_SWITCH, CALL_STATUS, NUM_CALLS };

struct call_facts {
	const char *name;
	unsigned long cmd;
	int answer;	/* to the well-formed call on NO_QUEUE */
};

static const struct call_facts call_facts[NUM_CALLS] = {
	[CALL_PREEMPT] = { "PREEMPT_QUEUE", AMDKFD_IOC_PREEMPT_QUEUE, -ENOENT },
	[CALL_RESUME] = { "RESUME_QUEUE", AMDKFD_IOC_RESUME_QUEUE, -ENOENT },
	[CALL_QUERY] = { "PREEMPT_QUERY", AMDKFD_IOC_PREEMPT_QUERY, 0 },
	/* the entry's own result is -ENOENT */
	[CALL_SWITCH] = { "PREEMPT_SWITCH", AMDKFD_IOC_PREEMPT_SWITCH, 0 },
	[CALL_STATUS] = { "PREEMPT_STATUS", AMDKFD_IOC_PREEMPT_STATUS, -ENOENT },
};

struct call_bytes {
	union {
		unsigned char bytes[1 << _IOC_SIZEBITS];
		struct kfd_ioctl_preempt_queue_args preempt;
		struct kfd_ioctl_resume_queue_args resume;
		struct kfd_ioctl_preempt_query_args query;
		struct kfd_ioctl_preempt_switch_args batch;
		struct kfd_ioctl_preempt_status_args status;
	};
	struct kfd_preempt_switch_entry entry[2];
};

static inline void call_init(struct call_bytes *call, enum call which)
{
	memset(call, 0, sizeof(*call));
	switch (which) {
	case CALL_PREEMPT:
		call->preempt.queue_id = NO_QUEUE;
		call->preempt.preempt_type = KFD_PREEMPT_TYPE_SAVE;
		break;
	case CALL_RESUME:
		call->resume.queue_id = NO_QUEUE;
		break;
	case CALL_SWITCH:
		call->batch.entries_ptr = (uintptr_t)call->entry;
		call->batch.num_entries = 1;
		call->entry[0].queue_id = NO_QUEUE;
		call->entry[0].op = KFD_PREEMPT_OP_PREEMPT;
		call->entry[0].preempt_type = KFD_PREEMPT_TYPE_SAVE;
		break;
	case CALL_STATUS:
		call->status.queue_id = NO_QUEUE;
		break;
	case CALL_QUERY:
	case NUM_CALLS:
		break;
	}
}

static inline int call_issue(int fd, enum call which, struct call_bytes *call)
{
	return kfd_ioctl(fd, call_facts[which].cmd, call->bytes);
}

/* The same command as its header says, but for another size. */
static inline unsigned long call_cmd_sized(enum call which, unsigned int size)
{
	unsigned long cmd = call_facts[which].cmd;

	return _IOC(_IOC_DIR(cmd), _IOC_TYPE(cmd), _IOC_NR(cmd), size);
}

#endif
