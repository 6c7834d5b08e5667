// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Moves memory of held processes out of VRAM and back, and delays the restore
 * of evicted memory.
 */

#include "kfd_preempt_compat.h"
#include "kfd_preempt_trace.h"

/**
 * kfd_preempt_memory_can_yield - whether a node has memory of its own
 * @dqm: the node
 *
 * Return: false for an APU, whose VRAM is system memory.
 */
bool kfd_preempt_memory_can_yield(const struct device_queue_manager *dqm)
{
	return !(dqm->dev->adev->flags & AMD_IS_APU);
}

/*
 * While memory moves, queues that have no hold are evicted. If the process is
 * evicted already, its restore would make them active in the middle of the move.
 */
static int evict_active(struct kfd_process_device *pdd, bool *evicted)
{
	struct device_queue_manager *dqm = pdd->dev->dqm;
	struct queue *q;
	bool active;
	int ret;

	dqm_lock(dqm);
	active = pdd->qpd.evicted;
	list_for_each_entry(q, &pdd->qpd.queues_list, list)
		active |= q->properties.is_active;
	dqm_unlock(dqm);
	*evicted = active;
	if (!active)
		return 0;
	ret = dqm->ops.evict_process_queues(dqm, &pdd->qpd);
	/* KFD counts them as evicted, whatever it returns. */
	return ret ? -EBUSY : 0;
}

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

	kfd_process_evict_queues(p, KFD_QUEUE_EVICTION_TRIGGER_TTM);
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

static int move(struct kfd_process_device *pdd, bool leave)
{
	struct device_queue_manager *dqm = pdd->dev->dqm;
	bool evicted, mapped = true;
	ktime_t start = ktime_get();
	u64 moved = 0, ns;
	int ret;

	ret = evict_active(pdd, &evicted);
	if (!ret)
		ret = errno_of_move(kfd_preempt_bos_move(pdd, leave, &moved, &mapped), leave);
	kfd_preempt_bos_settle(pdd);
	kfd_preempt_flush_tlb(pdd);
	if (!mapped)
		restore_later(pdd->process);
	if (evicted)
		dqm->ops.restore_process_queues(dqm, &pdd->qpd);

	ns = ktime_to_ns(ktime_sub(ktime_get(), start));
	if (leave) {
		pdd->preempt.yielded |= !!moved;
		pdd->preempt.yield_ns = ns;
	} else {
		pdd->preempt.yielded = ret || kfd_preempt_bos_are_away(pdd);
		pdd->preempt.reclaim_ns = ns;
	}
	trace_kfd_preempt_memory(pdd, leave, moved, ret, ns);
	return ret;
}

static int reclaim(struct kfd_process_device *pdd)
{
	u64 bytes;

	if (!pdd->preempt.yielded)
		return 0;
	if (kfd_preempt_bos_charge(pdd, false, &bytes))
		return -ENOSPC;
	return move(pdd, false);
}

static struct kfd_process_device *pdd_of(const struct queue *q)
{
	return kfd_get_process_device_data(q->device, q->process);
}

static bool stops(const struct kfd_preempt_batch *batch, const struct queue *q)
{
	unsigned int i;

	for (i = 0; i < batch->num; i++)
		if (batch->reqs[i].q == q && batch->reqs[i].set)
			return true;
	return false;
}

/*
 * Called with @batch before its stops, and with NULL after them, when they must
 * be confirmed.
 */
static bool all_held(const struct kfd_process_device *pdd,
		     const struct kfd_preempt_batch *batch)
{
	struct queue *q;

	list_for_each_entry(q, &pdd->qpd.queues_list, list) {
		if (kfd_preempt_is_sdma(q))
			continue;
		if (batch ? !READ_ONCE(q->properties.preempt_holds) && !stops(batch, q) :
			    !READ_ONCE(q->properties.preempt_holds) || q->preempt.hw_pending)
			return false;
	}
	return true;
}

/* The entry before @i that moves the same memory, or NULL. */
static const struct kfd_preempt_req *
yields_before(const struct kfd_preempt_batch *batch, unsigned int i,
	      const struct kfd_process_device *pdd)
{
	unsigned int j;

	for (j = 0; j < i; j++)
		if (batch->reqs[j].yields && pdd_of(batch->reqs[j].yields) == pdd)
			return &batch->reqs[j];
	return NULL;
}

static void plan_leave(struct kfd_preempt_batch *batch, unsigned int i)
{
	struct kfd_preempt_req *req = &batch->reqs[i];
	struct kfd_process_device *pdd = pdd_of(req->yields);
	const struct kfd_preempt_req *first = yields_before(batch, i, pdd);
	u64 bytes = 0;

	if (first) {
		req->memory_result = first->memory_result;
		req->has_memory = first->has_memory;
	} else if (!pdd) {
		req->memory_result = -ENODEV;
	} else if (!all_held(pdd, batch)) {
		req->memory_result = -EBUSY;
	} else {
		/* Charged at both places, so there is room when it moves. */
		req->memory_result = kfd_preempt_bos_charge(pdd, true, &bytes);
		req->has_memory = bytes;
	}
}

static bool lets_run(const struct kfd_preempt_req *req)
{
	return req->q && req->clear &&
	       req->clear == READ_ONCE(req->q->properties.preempt_holds);
}

/**
 * kfd_preempt_memory_plan - what a batch needs of memory
 * @batch: what is to be done; the caller holds the mutex of each process. An
 *	entry whose memory cannot leave VRAM gets its memory_result here
 *
 * Return: true if memory is to move; then kfd_preempt_memory_leave() must be called.
 */
bool kfd_preempt_memory_plan(struct kfd_preempt_batch *batch)
{
	struct kfd_process_device *pdd;
	struct kfd_preempt_req *req;
	bool needed = false;
	unsigned int i;

	for (i = 0; i < batch->num; i++)
		if (batch->reqs[i].yields)
			plan_leave(batch, i);
	for (i = 0; i < batch->num; i++) {
		req = &batch->reqs[i];
		if (req->memory_result)
			req->yields = NULL;
		pdd = lets_run(req) ? pdd_of(req->q) : NULL;
		needed |= req->yields || (pdd && pdd->preempt.yielded);
	}
	return needed;
}

static bool has_dead_queue(const struct kfd_process_device *pdd)
{
	struct queue *q;

	list_for_each_entry(q, &pdd->qpd.queues_list, list)
		if (READ_ONCE(q->properties.preempt_holds) & KFD_PREEMPT_HOLD_DEAD)
			return true;
	return false;
}

static bool stop_failed(const struct kfd_preempt_batch *batch,
			const struct kfd_process_device *pdd)
{
	unsigned int i;

	for (i = 0; i < batch->num; i++)
		if (batch->reqs[i].q && batch->reqs[i].set && batch->reqs[i].result &&
		    pdd_of(batch->reqs[i].q) == pdd)
			return true;
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
	return all_held(pdd, NULL) && !stop_failed(batch, pdd) ? 0 : -EBUSY;
}

static int leave(const struct kfd_preempt_batch *batch, const struct kfd_preempt_req *req)
{
	struct kfd_process_device *pdd = pdd_of(req->yields);
	int ret = check_stopped(batch, pdd);

	/* ALL_OR_NOTHING has cancelled the stop. */
	if (batch->all_or_nothing && !req->q)
		ret = -EBUSY;
	if (ret) {
		kfd_preempt_bos_settle(pdd);
		return ret;
	}
	ret = req->has_memory ? move(pdd, true) : 0;
	/* TTM counts copies that a GPU reset has ended as done. */
	if (!ret && READ_ONCE(req->yields->properties.preempt_holds) & KFD_PREEMPT_HOLD_DEAD)
		ret = -EIO;
	return ret;
}

/**
 * kfd_preempt_memory_leave - move the memory of stopped processes to system memory
 * @batch: what was planned; its stops are done
 */
void kfd_preempt_memory_leave(struct kfd_preempt_batch *batch)
{
	const struct kfd_preempt_req *first;
	struct kfd_preempt_req *req;
	unsigned int i;

	for (i = 0; i < batch->num; i++) {
		req = &batch->reqs[i];
		if (!req->yields)
			continue;
		first = yields_before(batch, i, pdd_of(req->yields));
		req->memory_result = first ? first->memory_result : leave(batch, req);
	}
}

/**
 * kfd_preempt_memory_return - bring back the memory that the starts of a batch need
 * @batch: what is to be done; a start whose memory stays away gets a memory_result
 */
void kfd_preempt_memory_return(struct kfd_preempt_batch *batch)
{
	struct kfd_preempt_req *req;
	struct kfd_process_device *pdd;
	unsigned int i, j;

	for (i = 0; i < batch->num; i++) {
		req = &batch->reqs[i];
		pdd = lets_run(req) ? pdd_of(req->q) : NULL;
		if (!pdd || !pdd->preempt.yielded)
			continue;
		/* One failure is that of all: each walks all buffers of the process. */
		for (j = 0; j < i && !req->memory_result; j++)
			if (lets_run(&batch->reqs[j]) && pdd_of(batch->reqs[j].q) == pdd)
				req->memory_result = batch->reqs[j].memory_result;
		if (!req->memory_result)
			req->memory_result = reclaim(pdd);
	}
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
	p->preempt.gone = true;
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
	struct kfd_process_device *pdd = pdd_of(q);
	struct queue *other;

	kfd_preempt_memory_look(q->process);
	if (!pdd || !pdd->preempt.yielded)
		return;
	list_for_each_entry(other, &pdd->qpd.queues_list, list)
		if (READ_ONCE(other->properties.preempt_holds))
			return;
	reclaim(pdd);
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
