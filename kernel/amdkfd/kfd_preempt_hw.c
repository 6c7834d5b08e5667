// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Preempts and resumes queues on the hardware: what all schedulers share. */
#include "kfd_preempt_hw.h"

/*
 * Whether the type of a stop is supported. It is never replaced by another one.
 */
static int preempt_check_type(struct device_queue_manager *dqm,
			      const struct kfd_preempt_req *req)
{
	struct queue *q = req->q;

	if (kfd_preempt_is_sdma(q)) {
		/* One method, at a packet boundary: DRAIN and SAVE are equal. */
		if (req->type == KFD_PREEMPT_TYPE_RESET)
			return -EOPNOTSUPP;
		if (req->type == KFD_PREEMPT_TYPE_DRAIN &&
		    dqm->sched_policy != KFD_SCHED_POLICY_NO_HWS)
			return -EOPNOTSUPP;
		return 0;
	}
	if (req->type == KFD_PREEMPT_TYPE_RESET &&
	    dqm->sched_policy == KFD_SCHED_POLICY_NO_HWS &&
	    !kfd_preempt_allow_reset)
		return -EPERM;
	if (!(kfd_preempt_type_mask(dqm) & BIT(req->type)))
		return -EOPNOTSUPP;
	if (req->type == KFD_PREEMPT_TYPE_SAVE &&
	    !q->properties.ctx_save_restore_area_address)
		return -EOPNOTSUPP;
	return 0;
}

/* Checks that reject a request before it changes anything. */
int kfd_preempt_hw_check(struct device_queue_manager *dqm,
			 const struct kfd_preempt_req *req)
{
	struct queue *q = req->q;

	if (q->properties.preempt_holds & KFD_PREEMPT_HOLD_DEAD)
		return -EIO;
	if (!req->set)
		return 0;
	if (kfd_preempt_is_given_up(dqm))
		return -EOPNOTSUPP;
	/* The thread that destroys it waits for the debugger, without the lock. */
	if (q->properties.is_being_destroyed)
		return -EBUSY;
	return preempt_check_type(dqm, req);
}

void kfd_preempt_hw_begin(struct kfd_preempt_req *req)
{
	req->old_holds = req->q->properties.preempt_holds;
	req->old_state = kfd_preempt_queue_state(req->q);
	req->was_active = req->q->properties.is_active;
	req->was_pending = req->q->preempt.hw_pending;
}

void kfd_preempt_hw_edit_holds(struct kfd_preempt_req *req)
{
	struct queue_properties *props = &req->q->properties;

	req->applied = true;
	/* Set before the holds, because sysfs reads both without the lock. */
	if (!props->preempt_holds)
		WRITE_ONCE(req->q->preempt.held_since, ktime_get());
	WRITE_ONCE(props->preempt_holds,
		   (props->preempt_holds | req->set) & ~req->clear);
	/* A resume loads the saved MQD from here on. */
	if (!props->preempt_holds && !props->is_active)
		kfd_preempt_checkpoint_restore(kfd_preempt_mqd_mgr(req->q), req->q);
}

void kfd_preempt_hw_set_active(struct device_queue_manager *dqm,
			       struct queue *q, bool active)
{
	struct kfd_process_device *pdd;

	if (q->properties.is_active == active)
		return;
	pdd = kfd_get_process_device_data(q->device, q->process);
	q->properties.is_active = active;
	kfd_preempt_count_active(dqm, &pdd->qpd, q, active);
}

static void preempt_count_preempt(struct kfd_preempt_req *req, ktime_t start)
{
	struct kfd_preempt_q *pq = &req->q->preempt;

	if (req->result) {
		WRITE_ONCE(pq->failures, pq->failures + 1);
		return;
	}
	req->latency_ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	/* One more hold on a stopped queue does not count as a stop. */
	if (req->old_holds && !req->was_pending)
		return;
	WRITE_ONCE(pq->preempts, pq->preempts + 1);
	WRITE_ONCE(pq->last_preempt_ns, req->latency_ns);
	pq->max_preempt_ns = max(pq->max_preempt_ns, req->latency_ns);
}

static void preempt_count_resume(struct kfd_preempt_req *req, ktime_t start)
{
	struct kfd_preempt_q *pq = &req->q->preempt;
	ktime_t now = ktime_get();

	pq->resumes++;
	pq->last_resume_ns = ktime_to_ns(ktime_sub(now, start));
	WRITE_ONCE(pq->held_ns,
		   pq->held_ns + ktime_to_ns(ktime_sub(now, pq->held_since)));
}

/* Update copies and counters for a request that changed holds. */
static void preempt_account(struct kfd_preempt_req *req, ktime_t start)
{
	u32 holds = req->q->properties.preempt_holds;

	if (!holds)
		kfd_preempt_checkpoint_drop(req);
	else if (req->checkpoint && !req->result && !req->q->properties.is_active)
		kfd_preempt_checkpoint_take(kfd_preempt_mqd_mgr(req->q), req);
	if (req->set)
		preempt_count_preempt(req, start);
	else if (!req->result && req->old_holds && !holds)
		preempt_count_resume(req, start);
}

/* Finish a request once its result is known. */
void kfd_preempt_hw_finish(struct kfd_preempt_req *req, ktime_t start)
{
	if (req->applied)
		preempt_account(req, start);
	trace_kfd_preempt_queue(req);
}

/*
 * Returns true if an entry of an ALL_OR_NOTHING batch has failed on this node: the
 * others must fail with it.
 */
bool kfd_preempt_hw_any_failed(struct device_queue_manager *dqm,
			       struct kfd_preempt_batch *batch)
{
	const struct kfd_preempt_req *req;

	if (!batch->all_or_nothing)
		return false;
	kfd_preempt_for_each_req(req, batch, dqm)
		if (req->result)
			return true;
	return false;
}
