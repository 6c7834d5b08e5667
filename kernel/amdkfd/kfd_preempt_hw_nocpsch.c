// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Preempts and resumes queues without firmware scheduling, by the registers of
 * their HQD.
 */
#include "kfd_preempt_hw.h"

/* How long RESUME waits for the pending stop of a queue. */
#define PREEMPT_REPOLL_MS 100

/* Times for which a wait holds the dqm lock, then releases it. */
#define PREEMPT_SLICE_MS 2
#define PREEMPT_PAUSE_US 100

/*
 * Lock the scheduler. A reset takes its lock whenever a call does not hold the
 * dqm lock; from then on the call does not access the hardware.
 */
static void preempt_lock_nocpsch(struct device_queue_manager *dqm,
				 struct kfd_preempt_batch *batch)
{
	dqm_lock(dqm);
	batch->in_reset = !down_read_trylock(&dqm->dev->adev->reset_domain->sem);
}

static void preempt_unlock_nocpsch(struct device_queue_manager *dqm,
				   struct kfd_preempt_batch *batch)
{
	if (!batch->in_reset)
		up_read(&dqm->dev->adev->reset_domain->sem);
	dqm_unlock(dqm);
}

static bool preempt_on_hardware(const struct device_queue_manager *dqm,
				const struct queue *q)
{
	return dqm->sched_running &&
	       (q->properties.is_active || q->preempt.hw_pending);
}

/*
 * Ask the HQD to stop without waiting, so that all queues of the batch save at
 * the same time. A request that is still pending is not made twice.
 */
static void preempt_request_nocpsch(struct device_queue_manager *dqm,
				    struct kfd_preempt_req *req)
{
	struct mqd_manager *mqd_mgr = kfd_preempt_mqd_mgr(req->q);
	struct queue *q = req->q;

	if (!mqd_mgr->request_dequeue || !preempt_on_hardware(dqm, q) ||
	    (q->preempt.hw_pending && q->preempt.pending_type == req->type))
		return;
	/* The numbers of the uapi and of kgd are equal. */
	req->result = mqd_mgr->request_dequeue(mqd_mgr, q->mqd,
					       (enum kfd_preempt_type)req->type,
					       q->pipe, q->queue);
}

/*
 * Wait for the HQD to stop. After -ETIME the request stays latched and may
 * complete at any time: is_active stays, so that eviction and destruction ask
 * again before memory moves, and the HQD must not be loaded until a later check
 * finds it stopped.
 */
static int preempt_dequeue(struct device_queue_manager *dqm, struct queue *q,
			   u32 type, u32 timeout_ms,
			   struct kfd_preempt_batch *batch)
{
	struct mqd_manager *mqd_mgr = kfd_preempt_mqd_mgr(q);
	ktime_t start = ktime_get();
	int err;

	if (mqd_mgr->wait_dequeue)
		err = mqd_mgr->wait_dequeue(mqd_mgr, start, timeout_ms,
					    q->pipe, q->queue);
	else
		err = mqd_mgr->destroy_mqd(mqd_mgr, q->mqd,
					   (enum kfd_preempt_type)type,
					   timeout_ms, q->pipe, q->queue);
	batch->hw_ns += ktime_to_ns(ktime_sub(ktime_get(), start));

	if (!err) {
		q->preempt.hw_pending = false;
		kfd_preempt_hw_set_active(dqm, q, false);
	} else if (err == -ETIME) {
		q->preempt.hw_pending = true;
		q->preempt.pending_type = type;
	}
	return err;
}

/* The type of the dequeue that a request waits for. */
static u32 preempt_wait_type(const struct kfd_preempt_req *req)
{
	return req->set ? req->type : req->q->preempt.pending_type;
}

/* Whether a request waits for the hardware. */
static bool preempt_waits(const struct device_queue_manager *dqm,
			  const struct kfd_preempt_req *req)
{
	if (req->set)
		return preempt_on_hardware(dqm, req->q);
	return req->clear && req->q->preempt.hw_pending && dqm->sched_running;
}

static int preempt_poll_queue(struct device_queue_manager *dqm,
			      const struct kfd_preempt_req *req, u32 slice_ms,
			      struct kfd_preempt_batch *batch)
{
	if (req->q->properties.preempt_holds & KFD_PREEMPT_HOLD_DEAD)
		return -EIO;
	/* The reset is about to make it DEAD. */
	if (batch->in_reset)
		return req->result;
	if (!preempt_waits(dqm, req))
		return 0;
	return preempt_dequeue(dqm, req->q, preempt_wait_type(req), slice_ms,
			       batch);
}

/*
 * Poll the queues whose stop is pending: the first for at most @slice_ms, the
 * others once. Returns whether any is still pending.
 */
static bool preempt_poll_nocpsch(struct device_queue_manager *dqm,
				 struct kfd_preempt_batch *batch, int pass,
				 u32 slice_ms)
{
	struct kfd_preempt_req *req;
	bool left = false;

	kfd_preempt_for_each_req(req, batch, dqm) {
		if (!kfd_preempt_hw_in_pass(req, pass) ||
		    (req->result && req->result != -ETIME))
			continue;
		req->result = preempt_poll_queue(dqm, req, slice_ms, batch);
		if (req->result == -ETIME) {
			left = true;
			slice_ms = 0;
		}
	}
	return left;
}

/*
 * The lock is about to be released. A process that is restored in between must
 * find the holds of the queues whose stop was requested.
 */
static void preempt_hold_nocpsch(struct device_queue_manager *dqm,
				 struct kfd_preempt_batch *batch)
{
	struct kfd_preempt_req *req;

	kfd_preempt_for_each_req(req, batch, dqm)
		if (req->set && !req->applied && (!req->result || req->result == -ETIME))
			kfd_preempt_hw_edit_holds(req);
}

/*
 * Wait for the queues of a pass, all until the same deadline. Evictions and
 * other calls wait for the dqm lock meanwhile, and a DRAIN may take as long as
 * a kernel runs, so the lock is held only for slices of the wait. In between
 * the queues are held and hw_pending, so they are not loaded. Late entries get
 * the result -ETIME.
 */
static void preempt_wait_nocpsch(struct device_queue_manager *dqm,
				 struct kfd_preempt_batch *batch, int pass)
{
	u32 timeout_ms = batch->timeout_ms;
	s64 left_ms;

	if (!timeout_ms)
		timeout_ms = pass == KFD_PREEMPT_PASS_PREEMPT ? KFD_UNMAP_LATENCY_MS :
						    PREEMPT_REPOLL_MS;
	timeout_ms = min_t(u32, timeout_ms, queue_preemption_timeout_ms);
	for (;;) {
		left_ms = timeout_ms -
			  ktime_ms_delta(ktime_get(), batch->pass_start);
		if (!preempt_poll_nocpsch(dqm, batch, pass,
					  clamp_t(s64, left_ms, 0, PREEMPT_SLICE_MS)) ||
		    left_ms <= 0)
			return;
		if (pass == KFD_PREEMPT_PASS_PREEMPT)
			preempt_hold_nocpsch(dqm, batch);
		preempt_unlock_nocpsch(dqm, batch);
		usleep_range(PREEMPT_PAUSE_US, 2 * PREEMPT_PAUSE_US);
		preempt_lock_nocpsch(dqm, batch);
	}
}

static void preempt_queue_nocpsch(struct kfd_preempt_req *req)
{
	if (req->result && req->result != -ETIME) {
		if (req->applied && req->result != -EIO) {
			WRITE_ONCE(req->q->properties.preempt_holds, req->old_holds);
			req->applied = false;
		}
		return;
	}
	if (!req->applied)
		kfd_preempt_hw_edit_holds(req);
	/*
	 * Killed waves never complete their signals, so there is nothing to
	 * resume.
	 */
	if (req->type == KFD_PREEMPT_TYPE_RESET)
		WRITE_ONCE(req->q->properties.preempt_holds,
			   req->q->properties.preempt_holds | KFD_PREEMPT_HOLD_DEAD);
}

static void resume_queue_nocpsch(struct device_queue_manager *dqm,
				 struct kfd_preempt_req *req,
				 struct kfd_preempt_batch *batch)
{
	struct queue *q = req->q;
	struct mqd_manager *mqd_mgr = kfd_preempt_mqd_mgr(q);
	ktime_t start;
	int err;

	if (!req->result && req->clear && q->preempt.hw_pending)
		req->result = -EBUSY;
	if (req->result == -ETIME || (!req->result && batch->in_reset))
		req->result = -EBUSY;
	if (req->result)
		return;
	kfd_preempt_hw_edit_holds(req);
	if (!QUEUE_IS_ACTIVE(q->properties) || q->properties.is_active ||
	    !dqm->sched_running)
		return;

	start = ktime_get();
	err = mqd_mgr->load_mqd(mqd_mgr, q->mqd, q->pipe, q->queue,
				&q->properties, req->mm);
	batch->hw_ns += ktime_to_ns(ktime_sub(ktime_get(), start));
	if (err) {
		WRITE_ONCE(q->properties.preempt_holds, req->old_holds);
		req->applied = false;
		req->result = err;
		return;
	}
	kfd_preempt_hw_set_active(dqm, q, true);
}

static void preempt_check_nocpsch(struct device_queue_manager *dqm,
				  struct kfd_preempt_req *req,
				  const struct kfd_preempt_batch *batch)
{
	kfd_preempt_hw_begin(req);
	req->result = kfd_preempt_hw_check(dqm, req);
	/* A late resume cannot be guaranteed together with others. */
	if (!req->result && (batch->in_reset ||
			     (batch->all_or_nothing && !req->set &&
			      req->q->preempt.hw_pending)))
		req->result = -EBUSY;
}

/*
 * Undo a stop after another one has failed. A queue that cannot be loaded stays
 * held and keeps its result.
 */
static void preempt_undo_nocpsch(struct device_queue_manager *dqm,
				 struct kfd_preempt_req *req,
				 const struct kfd_preempt_batch *batch)
{
	struct queue_properties *props = &req->q->properties;
	u32 new_holds = props->preempt_holds;
	int err = 0;

	if (!req->applied || req->result || new_holds & KFD_PREEMPT_HOLD_DEAD)
		return;
	WRITE_ONCE(props->preempt_holds, req->old_holds);
	/* The queue may have been evicted while the lock was released. */
	if (QUEUE_IS_ACTIVE(*props) && !props->is_active) {
		struct mqd_manager *mqd_mgr = kfd_preempt_mqd_mgr(req->q);

		err = batch->in_reset ? -EBUSY :
			mqd_mgr->load_mqd(mqd_mgr, req->q->mqd, req->q->pipe,
					  req->q->queue, props, req->mm);
		if (err) {
			WRITE_ONCE(props->preempt_holds, new_holds);
			return;
		}
		kfd_preempt_hw_set_active(dqm, req->q, true);
	}
	req->applied = false;
	req->result = -EBUSY;
}

static void preempt_pass_nocpsch(struct device_queue_manager *dqm,
				 struct kfd_preempt_batch *batch, int pass)
{
	struct kfd_preempt_req *req;

	batch->pass_start = ktime_get();
	kfd_preempt_for_each_req(req, batch, dqm)
		if (pass == KFD_PREEMPT_PASS_PREEMPT && req->set && !req->result)
			preempt_request_nocpsch(dqm, req);
	batch->hw_ns += ktime_to_ns(ktime_sub(ktime_get(), batch->pass_start));
	preempt_wait_nocpsch(dqm, batch, pass);

	kfd_preempt_for_each_req(req, batch, dqm) {
		if (!kfd_preempt_hw_in_pass(req, pass))
			continue;
		if (pass == KFD_PREEMPT_PASS_PREEMPT)
			preempt_queue_nocpsch(req);
		else
			resume_queue_nocpsch(dqm, req, batch);
	}
}

static void preempt_run_nocpsch(struct device_queue_manager *dqm,
				struct kfd_preempt_batch *batch)
{
	struct kfd_preempt_req *req;

	if (!kfd_preempt_hw_any_failed(dqm, batch))
		preempt_pass_nocpsch(dqm, batch, KFD_PREEMPT_PASS_PREEMPT);
	if (!kfd_preempt_hw_any_failed(dqm, batch)) {
		preempt_pass_nocpsch(dqm, batch, KFD_PREEMPT_PASS_RESUME);
		return;
	}
	kfd_preempt_for_each_req(req, batch, dqm) {
		preempt_undo_nocpsch(dqm, req, batch);
		if (!req->applied && !req->result)
			req->result = -EBUSY;
	}
}

void kfd_preempt_hw_switch_nocpsch(struct device_queue_manager *dqm,
				   struct kfd_preempt_batch *batch)
{
	struct kfd_preempt_req *req;

	if (!batch->evicts)
		kfd_preempt_hw_restore_each(dqm, batch);
	preempt_lock_nocpsch(dqm, batch);
	kfd_preempt_for_each_req(req, batch, dqm)
		preempt_check_nocpsch(dqm, req, batch);
	kfd_preempt_hw_verify(dqm, batch, false);
	preempt_run_nocpsch(dqm, batch);
	kfd_preempt_hw_verify(dqm, batch, true);
	kfd_preempt_for_each_req(req, batch, dqm) {
		kfd_preempt_hw_finish(req, batch->start);
		kfd_preempt_hw_recheck_later(dqm, req);
	}
	preempt_unlock_nocpsch(dqm, batch);
	if (batch->evicts && !kfd_preempt_hw_any_failed(dqm, batch))
		kfd_preempt_hw_evict_each(dqm, batch);
}
