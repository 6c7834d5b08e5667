// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Marks queues dead that KFD gives up: after a reset, or with a hung scheduler. */

#include "kfd_preempt_compat.h"
#include "kfd_preempt_trace.h"

/**
 * kfd_preempt_queue_lost - a queue will never run again
 * @q: a user queue; the caller holds its dqm lock
 */
void kfd_preempt_queue_lost(struct queue *q)
{
	if (q->properties.preempt_holds & KFD_PREEMPT_HOLD_DEAD)
		return;
	trace_kfd_preempt_lost(q);
	WRITE_ONCE(q->properties.preempt_holds,
		   q->properties.preempt_holds | KFD_PREEMPT_HOLD_DEAD);
}

/**
 * kfd_preempt_node_lost - no queue of a node will ever run again
 * @dqm: its scheduler, locked by the caller
 */
void kfd_preempt_node_lost(struct device_queue_manager *dqm)
{
	struct device_process_node *cur;
	struct queue *q;

	list_for_each_entry(cur, &dqm->queues, list)
		list_for_each_entry(q, &cur->qpd->queues_list, list)
			kfd_preempt_queue_lost(q);
}

/**
 * kfd_preempt_pre_reset - a GPU is about to be reset
 * @kfd: the GPU, its queues already evicted
 *
 * Held queues are lost as well, although their waves were saved before: KFD
 * never restores a process that lived through a GPU reset (see
 * kgd2kfd_post_reset()), and its VRAM may be gone.
 */
void kfd_preempt_pre_reset(struct kfd_dev *kfd)
{
	struct device_queue_manager *dqm;
	unsigned int i;

	for (i = 0; (dqm = kfd_preempt_nth_dqm(kfd, i)); i++) {
		dqm_lock(dqm);
		kfd_preempt_node_lost(dqm);
		dqm_unlock(dqm);
	}
}
