// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Begin and end of processes, queues and files: what each part has to do for them. */

#include "kfd_preempt_compat.h"

void kfd_preempt_process_init(struct kfd_process *p)
{
	spin_lock_init(&p->preempt.lock);
	init_waitqueue_head(&p->preempt.room);
	p->preempt.opened = jiffies;
	INIT_LIST_HEAD(&p->preempt.targets);
	INIT_LIST_HEAD(&p->preempt.queues);
	INIT_DELAYED_WORK(&p->preempt.release, kfd_preempt_release_worker);
	kfd_preempt_release_init(p);
}

/**
 * kfd_preempt_process_gone - a process exits or has called exec
 * @p: the process, whose mm is NULL by now
 */
void kfd_preempt_process_gone(struct kfd_process *p)
{
	kfd_preempt_watch_process_gone(p);
	kfd_preempt_memory_gone(p);
	kfd_preempt_release_cancel(p);
}

void kfd_preempt_process_fini(struct kfd_process *p)
{
	kfd_preempt_doorbells_fini(p);
	kfd_preempt_process_holds_fini(p);
}

/**
 * kfd_preempt_queue_created - a new queue can be found from now on
 * @q: a user queue
 */
void kfd_preempt_queue_created(struct queue *q)
{
	struct kfd_process_device *pdd = kfd_get_process_device_data(q->device, q->process);

	if (!pdd)
		return;
	kfd_preempt_watch_queue_created(q, pdd);
	kfd_preempt_memory_queue_created(q);
}

/**
 * kfd_preempt_queue_fini - a queue is about to be freed
 * @q: the queue, or NULL; of a user queue the caller does not hold the dqm lock
 */
void kfd_preempt_queue_fini(struct queue *q)
{
	/*
	 * The HIQ is freed with the dqm lock held; it has no preemption state.
	 */
	if (!q || q->properties.type == KFD_QUEUE_TYPE_HIQ)
		return;
	dqm_lock(q->device->dqm);
	kfd_preempt_recheck_cancel(q);
	dqm_unlock(q->device->dqm);
	kfd_preempt_record_drop_all(q);
	/* Not if its creation has failed. */
	if (q->preempt.process_node.next) {
		kfd_preempt_watch_queue_destroyed(q);
		kfd_preempt_memory_look(q->process);
	}
	kfd_preempt_setter_fini(&q->preempt.sticky);
	kvfree(q->preempt.checkpoint);
}

/**
 * kfd_preempt_file_release - the last reference to a file of /dev/kfd is gone
 * @filep: the file
 *
 * Runs in exit and must not wait for hardware: a worker resumes the queues.
 */
void kfd_preempt_file_release(struct file *filep)
{
	/* First, so that no more queues are born held. */
	kfd_preempt_process_file_release(filep);
	kfd_preempt_operator_close(filep);
	kfd_preempt_doorbell_file_release(filep);
}
