// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Preempts and resumes queues through the MES of gfx11 and newer, which handles
 * each queue on its own, so no other queue is disturbed.
 */
#include "kfd_preempt_hw.h"

static int preempt_check_mes(struct device_queue_manager *dqm,
			     const struct kfd_preempt_req *req, bool in_reset)
{
	int err = kfd_preempt_hw_check(dqm, req);

	/* KFD's calls have no type for these. */
	if (!err && req->q->properties.type == KFD_QUEUE_TYPE_SDMA_XGMI)
		return -EOPNOTSUPP;
	if (!err && in_reset)
		return -EBUSY;
	return err;
}

/*
 * Add a queue, or remove it. A call that fails ends in kfd_hws_hang(), which
 * marks every queue of the node; other errors come before the call is made,
 * from a reset that has begun since.
 *
 * A halted or stopped scheduler has given its queues up: the MES would not know
 * the queue to remove, and that failure ends in a GPU reset.
 */
static int preempt_call_mes(struct device_queue_manager *dqm, struct queue *q,
			    bool add, struct kfd_preempt_batch *batch)
{
	struct kfd_process_device *pdd =
		kfd_get_process_device_data(q->device, q->process);
	ktime_t start = ktime_get();
	int err;

	if (!dqm->sched_running || dqm->sched_halt)
		return 0;
	err = kfd_preempt_call_mes(dqm, &pdd->qpd, q, add);
	batch->hw_ns += ktime_to_ns(ktime_sub(ktime_get(), start));
	if (!err)
		return 0;
	if (!(q->properties.preempt_holds & KFD_PREEMPT_HOLD_DEAD))
		return -EBUSY;
	kfd_preempt_degrade(dqm, KFD_PREEMPT_DEGRADED_MES);
	return -EIO;
}

static void preempt_queue_mes(struct device_queue_manager *dqm, struct kfd_preempt_req *req,
			      struct kfd_preempt_batch *batch)
{
	struct queue *q = req->q;

	kfd_preempt_hw_edit_holds(req);
	if (!q->properties.is_active)
		return;
	req->result = preempt_call_mes(dqm, q, false, batch);
	if (req->result == -EBUSY) {
		WRITE_ONCE(q->properties.preempt_holds, req->old_holds);
		req->applied = false;
		return;
	}
	/* Also for a lost queue: it must not be removed a second time. */
	kfd_preempt_hw_set_active(dqm, q, false);
}

static void resume_queue_mes(struct device_queue_manager *dqm, struct kfd_preempt_req *req,
			     struct kfd_preempt_batch *batch)
{
	struct queue_properties *props = &req->q->properties;

	kfd_preempt_hw_edit_holds(req);
	if (!QUEUE_IS_ACTIVE(*props) || props->is_active)
		return;
	req->result = preempt_call_mes(dqm, req->q, true, batch);
	if (!req->result) {
		kfd_preempt_hw_set_active(dqm, req->q, true);
		return;
	}
	WRITE_ONCE(props->preempt_holds,
		   req->old_holds | (props->preempt_holds & KFD_PREEMPT_HOLD_DEAD));
	req->applied = false;
}

/*
 * Undo one request after another one has failed. A request that cannot be undone
 * stays in effect and keeps its result.
 */
static void preempt_undo_mes(struct device_queue_manager *dqm,
			     struct kfd_preempt_req *req,
			     struct kfd_preempt_batch *batch)
{
	struct queue_properties *props = &req->q->properties;

	if (req->result)
		return;
	if (req->applied && props->is_active != req->was_active &&
	    preempt_call_mes(dqm, req->q, req->was_active, batch))
		return;
	if (req->applied) {
		WRITE_ONCE(props->preempt_holds, req->old_holds);
		kfd_preempt_hw_set_active(dqm, req->q, req->was_active);
		req->applied = false;
	}
	req->result = -EBUSY;
}

static void preempt_pass_mes(struct device_queue_manager *dqm,
			     struct kfd_preempt_batch *batch, int pass)
{
	struct kfd_preempt_req *req;

	kfd_preempt_for_each_req(req, batch, dqm) {
		if (!kfd_preempt_hw_in_pass(req, pass) || req->result)
			continue;
		if (kfd_preempt_hw_any_failed(dqm, batch))
			return;
		/* An earlier call has lost the device. */
		if (req->q->properties.preempt_holds & KFD_PREEMPT_HOLD_DEAD)
			req->result = -EIO;
		else if (pass == KFD_PREEMPT_PASS_PREEMPT)
			preempt_queue_mes(dqm, req, batch);
		else
			resume_queue_mes(dqm, req, batch);
	}
}

static void preempt_settle_mes(struct device_queue_manager *dqm,
			       struct kfd_preempt_batch *batch)
{
	bool failed = kfd_preempt_hw_any_failed(dqm, batch);
	struct kfd_preempt_req *req;

	kfd_preempt_for_each_req(req, batch, dqm)
		if (failed && !(req->q->properties.preempt_holds & KFD_PREEMPT_HOLD_DEAD))
			preempt_undo_mes(dqm, req, batch);
	kfd_preempt_for_each_req(req, batch, dqm) {
		if (req->q->properties.preempt_holds & KFD_PREEMPT_HOLD_DEAD)
			req->result = -EIO;
		kfd_preempt_hw_finish(req, batch->start);
	}
}

void kfd_preempt_hw_switch_mes(struct device_queue_manager *dqm,
			       struct kfd_preempt_batch *batch)
{
	struct rw_semaphore *reset_sem = &dqm->dev->adev->reset_domain->sem;
	struct kfd_preempt_req *req;
	bool in_reset;
	int pass;

	if (!batch->evicts)
		kfd_preempt_hw_restore_each(dqm, batch);
	dqm_lock(dqm);
	in_reset = !down_read_trylock(reset_sem);
	kfd_preempt_for_each_req(req, batch, dqm) {
		kfd_preempt_hw_begin(req);
		req->result = preempt_check_mes(dqm, req, in_reset);
	}
	for (pass = 0; pass < KFD_PREEMPT_PASS_COUNT; pass++)
		preempt_pass_mes(dqm, batch, pass);
	preempt_settle_mes(dqm, batch);
	if (!in_reset)
		up_read(reset_sem);
	dqm_unlock(dqm);
	if (batch->evicts && !kfd_preempt_hw_any_failed(dqm, batch))
		kfd_preempt_hw_evict_each(dqm, batch);
}
