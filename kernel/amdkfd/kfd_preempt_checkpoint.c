// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Copies of MQD and control stacks that a held queue is started from. */

#include <linux/slab.h>

#include "kfd_preempt_compat.h"

/**
 * kfd_preempt_checkpoint_alloc - allocate memory for a copy of a queue
 * @q: a user queue; the caller holds the mutex of its process
 *
 * May not be called under the dqm lock, where it would use emergency reserves.
 *
 * Return: memory to free by kvfree(), or NULL.
 */
struct kfd_preempt_checkpoint *kfd_preempt_checkpoint_alloc(struct queue *q)
{
	struct kfd_preempt_checkpoint *copy;
	u32 mqd_size, ctl_stack_size;

	if (kfd_preempt_checkpoint_size(q, &mqd_size, &ctl_stack_size))
		return NULL;
	copy = kvzalloc(struct_size(copy, data, (size_t)mqd_size + ctl_stack_size),
			GFP_KERNEL_ACCOUNT);
	if (copy) {
		copy->mqd_size = mqd_size;
		copy->ctl_stack_size = ctl_stack_size;
	}
	return copy;
}

/**
 * kfd_preempt_checkpoint_take - copy what the CP has saved
 * @mqd_mgr: of the queue
 * @req: a confirmed stop with room for the copy; the caller holds the dqm lock
 *
 * Only valid once the queue is off the hardware: before that its MQD is stale.
 */
void kfd_preempt_checkpoint_take(struct mqd_manager *mqd_mgr,
				 struct kfd_preempt_req *req)
{
	struct kfd_preempt_checkpoint *copy = req->checkpoint;
	struct kfd_preempt_q *pq = &req->q->preempt;

	mqd_mgr->checkpoint_mqd(mqd_mgr, req->q->mqd, copy->data,
				copy->data + copy->mqd_size);
	copy->valid = true;
	swap(pq->checkpoint, req->checkpoint);
}

/**
 * kfd_preempt_checkpoint_restore - restore the copy before the queue resumes
 * @mqd_mgr: of the queue
 * @q: a queue that is off the hardware; the caller holds its dqm lock
 */
void kfd_preempt_checkpoint_restore(struct mqd_manager *mqd_mgr, struct queue *q)
{
	struct kfd_preempt_checkpoint *copy = q->preempt.checkpoint;

	if (!copy || !copy->valid)
		return;
	mqd_mgr->restore_mqd(mqd_mgr, &q->mqd, q->mqd_mem_obj, &q->gart_mqd_addr,
			     &q->properties, copy->data,
			     copy->data + copy->mqd_size, copy->ctl_stack_size);
	/* restore_mqd() keeps only the offset of doorbell_control. */
	mqd_mgr->update_mqd(mqd_mgr, q->mqd, &q->properties, NULL);
	/* update_mqd() has set is_active, but the queue is not loaded yet. */
	q->properties.is_active = false;
}

/**
 * kfd_preempt_checkpoint_drop - give the copy of a resumed queue to its request
 * @req: the resume; the caller frees the memory after the lock is released
 */
void kfd_preempt_checkpoint_drop(struct kfd_preempt_req *req)
{
	swap(req->q->preempt.checkpoint, req->checkpoint);
}

/**
 * kfd_preempt_queue_updated - KFD has changed the MQD of a queue
 * @q: a user queue; the caller holds its dqm lock
 *
 * Restoring an older copy would lose the CU mask or the GWS setting.
 */
void kfd_preempt_queue_updated(struct queue *q)
{
	if (q->preempt.checkpoint)
		q->preempt.checkpoint->valid = false;
}
