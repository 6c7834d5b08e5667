// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Moves memory of held processes out of VRAM and back, and delays the restore
 * of evicted memory.
 */

#include "kfd_preempt_compat.h"
#include "kfd_preempt_trace.h"

/* Returns true if a restore was pending, which makes up for one eviction only. */
static bool restore_unless_gone(struct kfd_process *p)
{
	lockdep_assert_held(&p->preempt.lock);
	return !p->preempt.gone && kfd_preempt_restore_now(p);
}

/* No queue runs until the restore worker has mapped all buffers again. */
static void restore_later(struct kfd_process *p)
{
	bool pending;

	kfd_preempt_evict_queues(p);
	spin_lock(&p->preempt.lock);
	pending = p->preempt.restore_waits || restore_unless_gone(p);
	spin_unlock(&p->preempt.lock);
	if (pending)
		kfd_process_restore_queues(p);
}

/* Each errno has one meaning: see kfd_preempt_uapi.h. */
static int errno_of_move(int ret, bool leave)
{
	if (!ret || ret == -EINTR || ret == -EBUSY)
		return ret;
	return leave ? -ENOMEM : -ENOSPC;
}

static bool has_dead_queue(const struct kfd_process_device *pdd)
{
	struct queue *q;

	list_for_each_entry(q, &pdd->qpd.queues_list, list)
		if (READ_ONCE(q->properties.preempt_holds) & KFD_PREEMPT_HOLD_DEAD)
			return true;
	return false;
}

/* Moves what is charged at both places. The queues of the process are evicted. */
static int move(struct kfd_process_device *pdd)
{
	bool leaves = pdd->preempt.move.leaves, mapped = true;
	ktime_t start = ktime_get();
	u64 moved = 0, ns;
	int ret;

	ret = kfd_preempt_bos_move(pdd, leaves, &moved, &mapped);
	ret = errno_of_move(ret, leaves);
	kfd_preempt_bos_settle(pdd);
	kfd_preempt_flush_tlb(pdd);
	if (!mapped)
		restore_later(pdd->process);
	/* TTM counts copies that a GPU reset has ended as done. */
	if (!ret && leaves && has_dead_queue(pdd))
		ret = -EIO;

	ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	if (leaves) {
		pdd->preempt.yielded |= !!moved;
		pdd->preempt.yield_ns = ns;
	} else {
		pdd->preempt.yielded = ret || kfd_preempt_bos_are_away(pdd);
		pdd->preempt.reclaim_ns = ns;
	}
	trace_kfd_preempt_memory(pdd, leaves, moved, ret, ns);
	return ret;
}

static struct kfd_process_device *pdd_of(const struct queue *q)
{
	return kfd_get_process_device_data(q->device, q->process);
}

static bool lets_run(const struct kfd_preempt_req *req)
{
	return !req->skip && req->clear &&
	       req->clear == READ_ONCE(req->q->properties.preempt_holds);
}

/* Whether a queue is held once a batch is done. */
static bool will_be_held(const struct kfd_preempt_batch *batch, const struct queue *q)
{
	unsigned int i;

	for (i = 0; i < batch->num; i++)
		if (batch->reqs[i].q == q && !batch->reqs[i].skip)
			return batch->reqs[i].set || !lets_run(&batch->reqs[i]);
	return READ_ONCE(q->properties.preempt_holds);
}

static bool all_will_be_held(const struct kfd_preempt_batch *batch,
			     const struct kfd_process_device *pdd)
{
	struct queue *q;

	list_for_each_entry(q, &pdd->qpd.queues_list, list)
		if (!kfd_preempt_is_sdma(q) && !will_be_held(batch, q))
			return false;
	return true;
}

static bool all_are_stopped(const struct kfd_process_device *pdd)
{
	struct queue *q;

	list_for_each_entry(q, &pdd->qpd.queues_list, list)
		if (!kfd_preempt_is_sdma(q) &&
		    (!READ_ONCE(q->properties.preempt_holds) || q->preempt.hw_pending))
			return false;
	return true;
}

/* Returns true if @pdd is new in the batch. */
static bool add_move(struct kfd_preempt_batch *batch, struct kfd_process_device *pdd,
		     bool leaves)
{
	struct kfd_process_device *other;

	kfd_preempt_for_each_move(other, batch)
		if (other == pdd)
			return false;
	pdd->preempt.move = (struct kfd_preempt_move){
		.node.next = batch->moves,
		.leaves = leaves,
	};
	batch->moves = &pdd->preempt.move.node;
	return true;
}

static void plan_return(struct kfd_preempt_batch *batch, struct kfd_preempt_req *req)
{
	struct kfd_process_device *pdd = lets_run(req) ? pdd_of(req->q) : NULL;

	if (!pdd || !pdd->preempt.yielded)
		return;
	add_move(batch, pdd, false);
	req->moves = pdd;
}

static void plan_leave(struct kfd_preempt_batch *batch, struct kfd_preempt_req *req)
{
	struct kfd_preempt_move *m = &req->moves->preempt.move;

	if (add_move(batch, req->moves, true)) {
		if (has_dead_queue(req->moves))
			m->result = -EIO;
		else if (!all_will_be_held(batch, req->moves))
			m->result = -EBUSY;
		else /* Charged at both places, so there is room when it moves. */
			m->result = kfd_preempt_bos_charge(req->moves, true, &m->bytes);
	}
	/* Memory that returns does not leave. */
	req->memory_result = m->leaves ? m->result : -EBUSY;
}

static void charge_return(struct kfd_process_device *pdd)
{
	struct kfd_preempt_move *m = &pdd->preempt.move;

	if (!m->leaves && !m->result && !m->bytes &&
	    kfd_preempt_bos_charge(pdd, false, &m->bytes))
		m->result = -ENOSPC;
}

static bool any_leaves(const struct kfd_preempt_batch *batch)
{
	struct kfd_process_device *pdd;

	kfd_preempt_for_each_move(pdd, batch)
		if (pdd->preempt.move.leaves && kfd_preempt_must_move(&pdd->preempt.move))
			return true;
	return false;
}

/**
 * kfd_preempt_memory_results - set the memory_result of each request
 * @batch: the requests, after kfd_preempt_memory_move()
 */
void kfd_preempt_memory_results(struct kfd_preempt_batch *batch)
{
	struct kfd_preempt_req *req;
	unsigned int i;

	for (i = 0; i < batch->num; i++) {
		req = &batch->reqs[i];
		if (req->moves && !req->memory_result)
			req->memory_result = req->moves->preempt.move.result;
	}
}

/*
 * Charges what returns before any queue is evicted for it. If memory leaves in the
 * same call there may be room only then.
 */
static bool finish_plan(struct kfd_preempt_batch *batch)
{
	struct kfd_process_device *pdd;
	bool needed = false;

	if (!any_leaves(batch))
		kfd_preempt_for_each_move(pdd, batch)
			charge_return(pdd);
	kfd_preempt_memory_results(batch);
	kfd_preempt_for_each_move(pdd, batch)
		needed |= kfd_preempt_must_move(&pdd->preempt.move);
	if (!needed)
		batch->moves = NULL;
	return needed;
}

/**
 * kfd_preempt_memory_plan - find what memory a batch moves
 * @batch: what is to be done; the caller holds the mutex of each process. An entry
 *	whose memory cannot move gets its memory_result here
 *
 * Return: true if memory is to move; then kfd_preempt_memory_move() or
 * kfd_preempt_memory_cancel() must be called.
 */
bool kfd_preempt_memory_plan(struct kfd_preempt_batch *batch)
{
	unsigned int i;

	for (i = 0; i < batch->num; i++)
		plan_return(batch, &batch->reqs[i]);
	for (i = 0; i < batch->num; i++)
		if (batch->reqs[i].set && batch->reqs[i].moves)
			plan_leave(batch, &batch->reqs[i]);
	return finish_plan(batch);
}

/**
 * kfd_preempt_memory_cancel - undo kfd_preempt_memory_plan()
 * @batch: what was planned
 */
void kfd_preempt_memory_cancel(struct kfd_preempt_batch *batch)
{
	struct kfd_process_device *pdd;
	unsigned int i;

	kfd_preempt_for_each_move(pdd, batch)
		kfd_preempt_bos_settle(pdd);
	for (i = 0; i < batch->num; i++)
		batch->reqs[i].moves = NULL;
	batch->moves = NULL;
}

/* Returns true if a stop of the batch has failed, of one process or of any. */
static bool stop_failed(const struct kfd_preempt_batch *batch,
			const struct kfd_process_device *pdd)
{
	const struct kfd_preempt_req *req;
	unsigned int i;

	for (i = 0; i < batch->num; i++) {
		req = &batch->reqs[i];
		if (!req->skip && req->set && req->result && (!pdd || pdd_of(req->q) == pdd))
			return true;
	}
	return false;
}

/* Returns 0 if no wave of the process can still run. */
static int check_stopped(const struct kfd_preempt_batch *batch,
			 const struct kfd_process_device *pdd)
{
	/* Its waves may run until the GPU is reset. */
	if (has_dead_queue(pdd))
		return -EIO;
	/* The hold of a stop that was not confirmed stays. */
	if (!pdd->preempt.move.evicted || !all_are_stopped(pdd) || stop_failed(batch, pdd))
		return -EBUSY;
	return 0;
}

static void leave_all(struct kfd_preempt_batch *batch)
{
	bool cancelled = batch->all_or_nothing && stop_failed(batch, NULL);
	struct kfd_process_device *pdd;
	struct kfd_preempt_move *m;

	kfd_preempt_for_each_move(pdd, batch) {
		m = &pdd->preempt.move;
		if (!m->leaves || !m->bytes)
			continue;
		if (!m->result)
			m->result = cancelled ? -EBUSY : check_stopped(batch, pdd);
		if (m->result)
			kfd_preempt_bos_settle(pdd);
		else
			m->result = move(pdd);
	}
}

static bool move_failed(const struct kfd_preempt_batch *batch)
{
	struct kfd_process_device *pdd;

	kfd_preempt_for_each_move(pdd, batch)
		if (pdd->preempt.move.result)
			return true;
	return false;
}

/* All of it is charged before the first byte moves. */
static void return_all(struct kfd_preempt_batch *batch)
{
	bool all = batch->all_or_nothing;
	bool cancelled = all && (stop_failed(batch, NULL) || move_failed(batch));
	struct kfd_process_device *pdd;
	struct kfd_preempt_move *m;

	kfd_preempt_for_each_move(pdd, batch) {
		m = &pdd->preempt.move;
		if (!m->leaves && !m->result && (cancelled || !m->evicted))
			m->result = -EBUSY;
		charge_return(pdd);
	}
	cancelled = all && move_failed(batch);
	kfd_preempt_for_each_move(pdd, batch) {
		m = &pdd->preempt.move;
		if (m->leaves)
			continue;
		if (!m->result && cancelled)
			m->result = -EBUSY;
		if (m->result)
			kfd_preempt_bos_settle(pdd);
		else
			m->result = move(pdd);
	}
}

/**
 * kfd_preempt_memory_move - move the memory of a batch
 * @batch: its stops, which are done, and its moves, whose queues are evicted
 *
 * First memory leaves VRAM, then other memory returns to it. The caller must run a
 * batch with the same moves that restores the queues.
 */
void kfd_preempt_memory_move(struct kfd_preempt_batch *batch)
{
	leave_all(batch);
	return_all(batch);
}

/**
 * kfd_preempt_memory_return - bring back the memory that the starts of a batch need
 * @batch: what is to be done; a start whose memory stays away gets a memory_result.
 *	The caller must run it, also without a request
 */
void kfd_preempt_memory_return(struct kfd_preempt_batch *batch)
{
	struct kfd_preempt_batch eviction = { .evicts = true };
	unsigned int i;

	for (i = 0; i < batch->num; i++)
		plan_return(batch, &batch->reqs[i]);
	if (!finish_plan(batch))
		return;
	eviction.moves = batch->moves;
	kfd_preempt_run(&eviction);
	kfd_preempt_memory_move(&eviction);
	kfd_preempt_memory_results(batch);
}

static bool is_held_by_operator(const struct kfd_preempt_p *pp)
{
	const struct queue *q;
	bool held = false;

	list_for_each_entry(q, &pp->queues, preempt.process_node) {
		if (kfd_preempt_is_sdma(q))
			continue;
		if (!(READ_ONCE(q->properties.preempt_holds) & KFD_PREEMPT_OPERATOR_HOLDS))
			return false;
		held = true;
	}
	return held;
}

/**
 * kfd_preempt_memory_waits - whether to delay the restore of evicted memory
 * @p: the process, whose memory is about to be restored
 *
 * Return: true if an operator holds all its compute queues; then
 * kfd_preempt_memory_look() has it restored after the hold. A hold of its own
 * does not count: the process may need its copies before it resumes itself.
 */
bool kfd_preempt_memory_waits(struct kfd_process *p)
{
	bool waits;

	spin_lock(&p->preempt.lock);
	waits = is_held_by_operator(&p->preempt);
	p->preempt.restore_waits = waits;
	spin_unlock(&p->preempt.lock);
	return waits;
}

/**
 * kfd_preempt_memory_look - restore evicted memory of a process that is not
 * held
 * @p: the process, whose queues or holds have changed
 */
void kfd_preempt_memory_look(struct kfd_process *p)
{
	spin_lock(&p->preempt.lock);
	if (p->preempt.restore_waits && !is_held_by_operator(&p->preempt)) {
		p->preempt.restore_waits = false;
		restore_unless_gone(p);
	}
	spin_unlock(&p->preempt.lock);
}

/**
 * kfd_preempt_memory_gone - the address space of a process is gone
 * @p: the process
 */
void kfd_preempt_memory_gone(struct kfd_process *p)
{
	spin_lock(&p->preempt.lock);
	WRITE_ONCE(p->preempt.gone, true);
	spin_unlock(&p->preempt.lock);
	/*
	 * KFD has cancelled it before; cancel what kfd_preempt_memory_look()
	 * queued since.
	 */
	cancel_delayed_work_sync(&p->restore_work);
}

/**
 * kfd_preempt_memory_queue_created - bring memory back for a new queue
 * @q: a new queue; the caller holds the mutex of its process
 *
 * If a queue of the process is still held there, the memory returns with its
 * resume. Otherwise it returns now, if there is room. If there is none, the
 * queue runs on system memory: its page tables have the place of each buffer.
 */
void kfd_preempt_memory_queue_created(struct queue *q)
{
	struct kfd_preempt_batch batch = { .evicts = true };
	struct kfd_process_device *pdd = pdd_of(q);
	struct queue *other;

	kfd_preempt_memory_look(q->process);
	if (!pdd || !pdd->preempt.yielded)
		return;
	list_for_each_entry(other, &pdd->qpd.queues_list, list)
		if (READ_ONCE(other->properties.preempt_holds))
			return;
	add_move(&batch, pdd, false);
	if (!finish_plan(&batch))
		return;
	kfd_preempt_run(&batch);
	kfd_preempt_memory_move(&batch);
	batch.evicts = false;
	kfd_preempt_run(&batch);
}

/**
 * kfd_preempt_memory_status - the memory fields of STATUS
 * @pdd: the process on the GPU of a queue
 * @args: out: those fields
 */
void kfd_preempt_memory_status(const struct kfd_process_device *pdd,
			       struct kfd_ioctl_preempt_status_args *args)
{
	struct kfd_preempt_memory memory = {};

	args->yield_ns = pdd->preempt.yield_ns;
	args->reclaim_ns = pdd->preempt.reclaim_ns;
	if (pdd->preempt.yielded)
		args->status |= KFD_PREEMPT_STATUS_YIELDED;
	if (args->flags & KFD_PREEMPT_STATUS_COUNT_MEMORY) {
		kfd_preempt_bos_count(pdd, &memory);
		args->valid |= KFD_PREEMPT_VALID_MEMORY;
	}
	args->vram_bytes = memory.resident;
	args->yielded_bytes = memory.yielded;
	args->pinned_bytes = memory.pinned;
	args->shared_bytes = memory.shared;
	args->peer_bytes = memory.peer;
}
