// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Marks queues dead that KFD gives up: after a reset, when the scheduler hangs,
 * or when the driver is unbound from a GPU.
 */

#include <drm/drm_drv.h>

#include "amdgpu.h"
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

static void lock_and_mark(struct device_queue_manager *dqm, void *data)
{
	dqm_lock(dqm);
	kfd_preempt_node_lost(dqm);
	dqm_unlock(dqm);
}

/**
 * kfd_preempt_pre_reset - a GPU is about to be reset
 *
 * KFD has evicted every process from every GPU, and after a reset it restores
 * none (kgd2kfd_post_reset()), so all queues of all GPUs are lost, including
 * held ones. The condition is that of kgd2kfd_suspend().
 */
void kfd_preempt_pre_reset(void)
{
	kfd_preempt_nodes_visit(lock_and_mark, NULL);
}

/**
 * kfd_preempt_suspended - KFD has stopped the nodes of a GPU
 * @adev: the GPU
 *
 * If the driver is unbound from it, KFD restores no process on any GPU
 * (kfd_locked), so all queues are lost. A store to a doorbell must not reach an
 * address without a device: unmapped here, it faults, and doorbell_fault()
 * rejects it.
 */
void kfd_preempt_suspended(struct amdgpu_device *adev)
{
	struct kfd_process *p;
	unsigned int bucket;
	int idx;

	if (!drm_dev_is_unplugged(adev_to_drm(adev)))
		return;
	kfd_preempt_nodes_visit(lock_and_mark, NULL);
	idx = srcu_read_lock(&kfd_processes_srcu);
	hash_for_each_rcu(kfd_processes_table, bucket, p, kfd_processes)
		kfd_preempt_doorbells_unmap(p);
	srcu_read_unlock(&kfd_processes_srcu, idx);
}
