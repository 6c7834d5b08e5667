// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Files of a queue below /sys/class/kfd/kfd/proc/PID/queues/QUEUE_ID. */

#include <linux/sysfs.h>

#include "kfd_preempt_compat.h"

/*
 * Read only. The directory is KFD's and is removed before the queue: its
 * kobject_del() waits for readers and may run with locks held that other code
 * takes under the dqm lock. So no show function takes a lock, and its output
 * may mix two moments; STATUS is exact.
 *
 * The times of stops and holds reveal something about the work of the owner, so
 * only root may read those two files.
 */
#define QUEUE_ATTR(_name, _mode)				\
	static struct attribute attr_##_name = {		\
		.name = #_name,					\
		.mode = _mode,					\
	}

QUEUE_ATTR(preempt_state, 0444);
QUEUE_ATTR(preempt_holds, 0444);
QUEUE_ATTR(preempt_count, 0444);
QUEUE_ATTR(preempt_failures, 0444);
QUEUE_ATTR(preempt_latency_ns, 0400);
QUEUE_ATTR(preempt_held_ns, 0400);

static const struct attribute * const queue_attrs[] = {
	&attr_preempt_state,
	&attr_preempt_holds,
	&attr_preempt_count,
	&attr_preempt_failures,
	&attr_preempt_latency_ns,
	&attr_preempt_held_ns,
	NULL
};

static const char * const state_names[] = {
	[KFD_PREEMPT_STATE_RUNNING] = "running",
	[KFD_PREEMPT_STATE_HELD] = "held",
	[KFD_PREEMPT_STATE_PENDING] = "pending",
	[KFD_PREEMPT_STATE_INACTIVE] = "inactive",
	[KFD_PREEMPT_STATE_DEAD] = "dead",
};

/**
 * kfd_preempt_queue_add_sysfs - add our files to the directory of a queue
 * @q: a user queue whose directory was just made; they go with it
 */
void kfd_preempt_queue_add_sysfs(struct queue *q)
{
	if (!kfd_preempt_enabled())
		return;
	if (sysfs_create_files(&q->kobj, queue_attrs))
		pr_warn("Creating preempt files of queue %u failed\n",
			q->properties.queue_id);
}

/**
 * kfd_preempt_queue_show - contents of one of our files
 * @q: the queue, which can not go away meanwhile
 * @attr: the file
 * @buf: one page
 *
 * Return: bytes written, or -EIO for a file that is not ours.
 */
ssize_t kfd_preempt_queue_show(const struct queue *q,
			       const struct attribute *attr, char *buf)
{
	const struct kfd_preempt_q *pq = &q->preempt;
	u32 state;

	if (attr == &attr_preempt_state) {
		/* No lock, see above: the values may be of two moments. */
		state = data_race(kfd_preempt_queue_state(q));
		return sysfs_emit(buf, "%s\n", state_names[state]);
	}
	if (attr == &attr_preempt_holds)
		return sysfs_emit(buf, "0x%x\n",
				  READ_ONCE(q->properties.preempt_holds));
	if (attr == &attr_preempt_count)
		return sysfs_emit(buf, "%llu\n", READ_ONCE(pq->preempts));
	if (attr == &attr_preempt_failures)
		return sysfs_emit(buf, "%llu\n", READ_ONCE(pq->failures));
	if (attr == &attr_preempt_latency_ns)
		return sysfs_emit(buf, "%llu\n", READ_ONCE(pq->last_preempt_ns));
	if (attr == &attr_preempt_held_ns)
		return sysfs_emit(buf, "%llu\n", kfd_preempt_held_ns(q));
	return -EIO;
}
