// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Preempts and resumes queues that the firmware schedules: edit which are wanted on
 * the hardware, then one unmap and one map apply all edits. The unmap ends with a
 * fence after which every wave is saved; RUN_LIST has none.
 */
#include "kfd_preempt_hw.h"

static bool preempt_edit_cpsch(struct device_queue_manager *dqm,
			       struct kfd_preempt_req *req)
{
	struct queue *q = req->q;

	kfd_preempt_hw_edit_holds(req);
	if (!q->properties.is_active && QUEUE_IS_ACTIVE(q->properties) &&
	    dqm->sched_policy == KFD_SCHED_POLICY_HWS_NO_OVERSUBSCRIPTION &&
	    q->properties.type == KFD_QUEUE_TYPE_COMPUTE &&
	    dqm->active_cp_queue_count >= get_cp_queues_num(dqm)) {
		WRITE_ONCE(q->properties.preempt_holds, req->old_holds);
		req->applied = false;
		req->result = -ENOSPC;
		return false;
	}
	kfd_preempt_hw_set_active(dqm, q, QUEUE_IS_ACTIVE(q->properties));
	return q->properties.is_active != req->was_active;
}

/*
 * Sets the result of an edited request. kfd_hws_hang() and a queue reset mark the
 * queues they give up; for all others a failed unmap means that nothing was sent,
 * and the edit is reverted.
 */
static void preempt_settle(struct device_queue_manager *dqm,
			   struct kfd_preempt_req *req, int err)
{
	struct queue *q = req->q;

	if (q->properties.preempt_holds & KFD_PREEMPT_HOLD_DEAD) {
		req->result = -EIO;
	} else if (err && q->properties.is_active != req->was_active) {
		WRITE_ONCE(q->properties.preempt_holds, req->old_holds);
		kfd_preempt_hw_set_active(dqm, q, req->was_active);
		/* -EIO: the lock that a GPU reset takes is taken. */
		req->result = err == -EIO ? -EBUSY : err;
	}
}

/* Undo edits that were not sent. */
static void preempt_undo_cpsch(struct device_queue_manager *dqm,
			       struct kfd_preempt_batch *batch)
{
	struct kfd_preempt_req *req;

	kfd_preempt_for_each_req(req, batch, dqm) {
		if (!req->applied || req->result)
			continue;
		WRITE_ONCE(req->q->properties.preempt_holds, req->old_holds);
		kfd_preempt_hw_set_active(dqm, req->q, req->was_active);
		req->applied = false;
		req->result = -EBUSY;
	}
}

static void preempt_execute(struct device_queue_manager *dqm,
			    struct kfd_preempt_batch *batch)
{
	bool was_mapped = dqm->active_runlist;
	ktime_t start = ktime_get();
	struct kfd_preempt_req *req;
	int err;

	if (batch->fast)
		kfd_preempt_hw_check_grace(dqm);
	err = kfd_preempt_hw_by_doorbell(dqm, batch);
	if (err == -EAGAIN) {
		dqm->preempt.batch = batch;
		err = kfd_preempt_execute(dqm, batch->fast);
		dqm->preempt.batch = NULL;
	}
	/*
	 * -EIO: a reset is in progress and no unmap was sent. After a failed
	 * unmap the runlist counts as mapped, after a failed map it does not.
	 */
	if (was_mapped && err != -EIO)
		kfd_preempt_count_fence(dqm, batch, start, ktime_get(),
					err && dqm->active_runlist);
	if (err && batch->fast)
		kfd_preempt_hw_restore_grace(dqm);
	if (err && was_mapped && !dqm->active_runlist) {
		kfd_preempt_hw_map_failed(dqm);
		err = 0;
	}
	batch->hw_ns += ktime_to_ns(ktime_sub(ktime_get(), start));

	/* Queues that nothing has unmapped are not evicted, and no memory moves. */
	if (err && batch->evicts)
		kfd_preempt_hw_restore_all(dqm, batch);
	kfd_preempt_for_each_req(req, batch, dqm)
		if (req->applied)
			preempt_settle(dqm, req, err);
	/* No packet was sent, so edits without hardware can be undone as well. */
	if (err && kfd_preempt_hw_any_failed(dqm, batch))
		preempt_undo_cpsch(dqm, batch);
}

void kfd_preempt_hw_switch_cpsch(struct device_queue_manager *dqm,
				 struct kfd_preempt_batch *batch)
{
	struct kfd_preempt_req *req;
	bool changed = false, restored;
	int pass;

	dqm_lock(dqm);
	restored = !batch->evicts && kfd_preempt_hw_restore_all(dqm, batch);
	for (pass = 0; pass < KFD_PREEMPT_PASS_COUNT; pass++) {
		kfd_preempt_for_each_req(req, batch, dqm) {
			if (!kfd_preempt_hw_in_pass(req, pass))
				continue;
			kfd_preempt_hw_begin(req);
			req->result = kfd_preempt_hw_check(dqm, req);
			if (!req->result)
				changed |= preempt_edit_cpsch(dqm, req);
		}
	}
	if (kfd_preempt_hw_any_failed(dqm, batch)) {
		preempt_undo_cpsch(dqm, batch);
		changed = false;
	} else if (batch->evicts) {
		changed |= kfd_preempt_hw_evict_all(dqm, batch);
	}
	/* Do not access the hardware if nothing changes there. */
	if (changed || restored)
		preempt_execute(dqm, batch);
	kfd_preempt_hw_verify(dqm, batch, true);
	kfd_preempt_for_each_req(req, batch, dqm) {
		kfd_preempt_hw_finish(req, batch->start);
		kfd_preempt_hw_recheck_later(dqm, req);
	}
	dqm_unlock(dqm);
}
