/* SPDX-License-Identifier: GPL-2.0-only */
/* A target with queues that get no packets besides its busy one. */
#ifndef KFD_PREEMPT_MANY_QUEUES_H
#define KFD_PREEMPT_MANY_QUEUES_H

#include <string.h>

#include "target.h"

#define MANY_QUEUES_MAX 200u	/* KFD allows a process 255 */

/* Shared with the target, which writes the ids before it is ready. */
struct many_queues_shared {
	uint32_t num;
	int (*create)(struct aql_queue *like, struct aql_queue *queue);
	uint32_t id[MANY_QUEUES_MAX];
};

struct many_queues {
	struct target target;
	uint32_t num;
	struct many_queues_shared *shared;
	struct kfd_preempt_switch_entry entry[MANY_QUEUES_MAX];
};

/* Filled by the next target that starts. */
static struct many_queues_shared *many_queues_wanted;

static inline void many_queues_create(struct aql_queue *queue)
{
	struct many_queues_shared *wanted = many_queues_wanted;
	struct aql_queue first, next;
	uint32_t i;
	int ret;

	ret = aql_queue_create(queue->dev, &first);
	wanted->id[0] = first.id;
	for (i = 1; i < wanted->num && !ret; i++) {
		ret = wanted->create(&first, &next);
		wanted->id[i] = next.id;
	}
	if (!ret)
		return;
	printf("# queue %u: %s\n", i, strerror(-ret));
	fflush(stdout);
	_exit(1);
}

static inline void many_queues_run(struct target_shared *shared)
{
	target_run_with(shared, many_queues_create);
}

/* `create` is aql_queue_create_idle or aql_queue_create_off. Returns 0 or a negative errno. */
static inline int many_queues_start(struct many_queues *many, uint32_t num,
				    int (*create)(struct aql_queue *, struct aql_queue *))
{
	many->num = num;
	many->shared = mmap(NULL, sizeof(*many->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (many->shared == MAP_FAILED)
		return -errno;
	many->shared->num = num;
	many->shared->create = create;
	many_queues_wanted = many->shared;
	return target_start_as(&many->target, many_queues_run);
}

/*
 * One SWITCH of all idle queues. Returns how many of them it stopped or started, or a negative
 * errno.
 */
static inline int many_queues_order(struct many_queues *many, int fd, uint16_t op)
{
	struct kfd_ioctl_preempt_switch_args args = {
		.flags = KFD_PREEMPT_SWITCH_TARGET_PID,
		.target_pid = many->target.pid,
		.entries_ptr = (uintptr_t)many->entry,
		.num_entries = many->num,
	};
	uint32_t i;
	int ret;

	for (i = 0; i < many->num; i++)
		many->entry[i] = (struct kfd_preempt_switch_entry){
			.queue_id = many->shared->id[i],
			.op = op,
			.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0,
		};
	ret = kfd_ioctl(fd, AMDKFD_IOC_PREEMPT_SWITCH, &args);
	return ret ? ret : (int)args.num_done;
}

#endif
