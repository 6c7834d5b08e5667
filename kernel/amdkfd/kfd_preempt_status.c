// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Identity and state of a queue, and the STATUS call. */

#include "kfd_preempt_target.h"

/**
 * kfd_preempt_queue_uid - identity of a queue that is never reused
 * @q: a user queue; the caller holds the mutex of its process
 *
 * Return: the uid, which is never 0: 0 means that the queue has none yet.
 */
u64 kfd_preempt_queue_uid(struct queue *q)
{
	static atomic64_t next = ATOMIC64_INIT(0);

	lockdep_assert_held(&q->process->mutex);
	if (!q->preempt.uid)
		q->preempt.uid = atomic64_inc_return(&next);
	return q->preempt.uid;
}

/**
 * kfd_preempt_queue_state - KFD_PREEMPT_STATE_* of a queue
 * @q: a user queue; the caller holds its dqm lock
 *
 * Return: the state.
 */
u32 kfd_preempt_queue_state(const struct queue *q)
{
	u32 holds = q->properties.preempt_holds;

	if (holds & KFD_PREEMPT_HOLD_DEAD)
		return KFD_PREEMPT_STATE_DEAD;
	if (q->preempt.hw_pending)
		return KFD_PREEMPT_STATE_PENDING;
	if (holds)
		return KFD_PREEMPT_STATE_HELD;
	if (!QUEUE_IS_ACTIVE(q->properties))
		return KFD_PREEMPT_STATE_INACTIVE;
	return KFD_PREEMPT_STATE_RUNNING;
}

/**
 * kfd_preempt_held_ns - total time of the holds of a queue, including the
 * present one
 * @q: a user queue; without its dqm lock the time is approximate
 *
 * Return: nanoseconds.
 */
u64 kfd_preempt_held_ns(const struct queue *q)
{
	const struct kfd_preempt_q *pq = &q->preempt;
	u64 held_ns = READ_ONCE(pq->held_ns);

	if (READ_ONCE(q->properties.preempt_holds) & ~KFD_PREEMPT_HOLD_DEAD)
		held_ns += ktime_to_ns(ktime_sub(ktime_get(),
						 READ_ONCE(pq->held_since)));
	return held_ns;
}

static u32 status_bits(const struct queue *q)
{
	const struct kfd_preempt_q *pq = &q->preempt;
	u32 status = 0;

	if (q->properties.is_evicted)
		status |= KFD_PREEMPT_STATUS_EVICTED;
	if (q->properties.is_suspended)
		status |= KFD_PREEMPT_STATUS_DBG_SUSPENDED;
	if (pq->hw_pending)
		status |= KFD_PREEMPT_STATUS_HW_PENDING;
	if (pq->checkpoint && pq->checkpoint->valid)
		status |= KFD_PREEMPT_STATUS_CHECKPOINTED;
	if (delayed_work_pending(&q->device->dqm->preempt.remap) ||
	    q->device->dqm->preempt.degraded)
		status |= KFD_PREEMPT_STATUS_DEGRADED;
	return status;
}

static void read_status(struct queue *q,
			struct kfd_ioctl_preempt_status_args *args)
{
	struct kfd_process_device *pdd = kfd_get_process_device_data(q->device, q->process);
	struct device_queue_manager *dqm = q->device->dqm;
	struct kfd_preempt_q *pq = &q->preempt;

	args->queue_uid = kfd_preempt_queue_uid(q);
	args->valid = 0;
	dqm_lock(dqm);
	args->state = kfd_preempt_queue_state(q);
	args->holds = q->properties.preempt_holds;
	args->status = status_bits(q);
	args->preempts = pq->preempts;
	args->resumes = pq->resumes;
	args->failures = pq->failures;
	args->held_ns = kfd_preempt_held_ns(q);
	args->last_preempt_ns = pq->last_preempt_ns;
	args->last_resume_ns = pq->last_resume_ns;
	args->max_preempt_ns = pq->max_preempt_ns;
	memset(args->reserved, 0, sizeof(args->reserved));
	args->doorbell = pdd ? kfd_preempt_doorbell_bytes(pdd, q) : 0;
	dqm_unlock(dqm);
	if (pdd)
		kfd_preempt_memory_status(pdd, args);
}

/* Reads memory of the process, which can change it at any time. */
static void read_ring(const struct kfd_process *p, const struct queue_properties *ring,
		      struct kfd_ioctl_preempt_status_args *args)
{
	struct mm_struct *mm = kfd_preempt_indexes_lock(p);

	if (kfd_preempt_indexes_read(mm, (unsigned long)ring->read_ptr,
				     (__force unsigned long)ring->write_ptr,
				     &args->read_index, &args->write_index)) {
		args->valid |= KFD_PREEMPT_VALID_INDEXES;
		if (ring->format == KFD_QUEUE_FORMAT_AQL)
			args->valid |= kfd_preempt_signal_read(mm, ring->queue_address,
							       ring->queue_size,
							       args->write_index,
							       &args->last_signal);
	}
	kfd_preempt_indexes_unlock(mm);
}

static int check_args(const struct kfd_ioctl_preempt_status_args *args)
{
	const u32 both = KFD_PREEMPT_SWITCH_TARGET_FD |
			 KFD_PREEMPT_SWITCH_TARGET_PID;

	if (args->flags & ~(both | KFD_PREEMPT_STATUS_COUNT_MEMORY) ||
	    (args->flags & both) == both || args->pad)
		return -EINVAL;
	if (args->target_fd && !(args->flags & KFD_PREEMPT_SWITCH_TARGET_FD))
		return -EINVAL;
	if (args->target_pid && !(args->flags & KFD_PREEMPT_SWITCH_TARGET_PID))
		return -EINVAL;
	return 0;
}

/**
 * kfd_preempt_do_status - STATUS: state and counters of one queue
 * @filep: file of /dev/kfd
 * @p: the caller's process
 * @data: struct kfd_ioctl_preempt_status_args, validated here
 *
 * Return: 0 or a negative errno, see kfd_preempt_uapi.h.
 */
int kfd_preempt_do_status(struct file *filep, struct kfd_process *p, void *data)
{
	struct kfd_ioctl_preempt_status_args *args = data;
	struct kfd_preempt_target one = {}, *target;
	struct kfd_preempt_targets targets = {
		.self = p,
		.filep = filep,
		.fops = filep->f_op,
		.list = &one,
	};
	struct queue_properties ring;
	struct queue *q;
	int ret;

	ret = check_args(args);
	if (ret)
		return ret;
	target = kfd_preempt_target_add(&targets, args->flags, args->target_fd,
					args->target_pid);
	if (IS_ERR(target))
		return PTR_ERR(target);
	kfd_preempt_target_authorize(&targets, target);
	ret = kfd_preempt_targets_lock(&targets, 0);
	if (!ret)
		ret = target->err;
	q = ret ? NULL : pqm_get_user_queue(&target->p->pqm, args->queue_id);
	if (q) {
		read_status(q, args);
		ring = q->properties;
	}
	kfd_preempt_targets_unlock(&targets);
	if (q)
		read_ring(target->p, &ring, args);
	else if (!ret)
		ret = -ENOENT;
	kfd_preempt_targets_put(&targets);
	return ret;
}
