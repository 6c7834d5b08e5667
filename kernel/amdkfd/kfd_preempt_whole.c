// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Entries that name a process: while a call runs each is replaced by entries of
 * its queues, whose results are then those of the entry.
 */

#include <linux/slab.h>

#include "kfd_preempt_compat.h"
#include "kfd_preempt_switch.h"

/* Queues of one call: a batch is walked for each of them. */
#define MAX_QUEUES (16 * KFD_PREEMPT_MAX_BATCH)

/**
 * struct kfd_preempt_whole - the entries of a call while those of queues run; before
 * and after that those of queues
 * @entries: entries
 * @plans: plans of them
 * @reqs: requests of them
 * @num: number of the three
 * @of: for each entry of a queue, the number of the one that it was made of
 */
struct kfd_preempt_whole {
	struct kfd_preempt_switch_entry *entries;
	struct kfd_preempt_plan *plans;
	struct kfd_preempt_req *reqs;
	u32 num;
	u32 of[];
};

/**
 * kfd_preempt_overlap - whether two entries of a process may name the same queue
 * @a: one of them
 * @b: the other
 *
 * Return: true also for a queue and the whole process.
 */
bool kfd_preempt_overlap(const struct kfd_preempt_switch_entry *a,
			 const struct kfd_preempt_switch_entry *b)
{
	if (a->queue_id != KFD_PREEMPT_ALL_QUEUES && b->queue_id != KFD_PREEMPT_ALL_QUEUES)
		return a->queue_id == b->queue_id;
	if (a->queue_id != b->queue_id)
		return true;
	return !a->gpu_id || !b->gpu_id || a->gpu_id == b->gpu_id;
}

/* Queues that are dead stay dead, whatever happens to their process. */
static bool is_named(const struct kfd_preempt_switch_entry *e, const struct queue *q)
{
	const struct kfd_process_device *pdd;

	if (!q || kfd_preempt_is_sdma(q) ||
	    READ_ONCE(q->properties.preempt_holds) & KFD_PREEMPT_HOLD_DEAD)
		return false;
	pdd = kfd_get_process_device_data(q->device, q->process);
	return !e->gpu_id || (pdd && pdd->user_gpu_id == e->gpu_id);
}

static bool is_locked(const struct kfd_preempt_plan *plan)
{
	return plan->target && plan->target->locked && !plan->target->err;
}

/* Counts the entries of a call once each process is replaced by its queues. */
static u32 count(const struct kfd_preempt_call *call)
{
	struct process_queue_node *pqn;
	u32 i, num = 0;

	for (i = 0; i < call->batch.num; i++) {
		num++;
		if (!call->plans[i].whole || !is_locked(&call->plans[i]))
			continue;
		list_for_each_entry(pqn, &call->plans[i].target->p->pqm.queues,
				    process_queue_list)
			num += is_named(&call->entries[i], pqn->q);
	}
	return num;
}

static void add_queue(struct kfd_preempt_call *call, struct kfd_preempt_whole *whole,
		      u32 i, struct queue *q)
{
	u32 j = call->batch.num++;

	call->entries[j] = whole->entries[i];
	call->entries[j].queue_id = q->properties.queue_id;
	call->entries[j].queue_uid = kfd_preempt_queue_uid(q);
	call->plans[j].target = whole->plans[i].target;
	call->plans[j].q = q;
	whole->of[j] = i;
}

/* An entry that is complete, or one of a queue: as it is. */
static void add_same(struct kfd_preempt_call *call, struct kfd_preempt_whole *whole, u32 i)
{
	u32 j = call->batch.num++;

	call->entries[j] = whole->entries[i];
	call->plans[j] = whole->plans[i];
	if (whole->plans[i].whole)
		call->plans[j].target = NULL;
	whole->of[j] = i;
}

static void fill(struct kfd_preempt_call *call, struct kfd_preempt_whole *whole, u32 i)
{
	struct process_queue_node *pqn;

	if (!whole->plans[i].whole || whole->entries[i].result) {
		add_same(call, whole, i);
		return;
	}
	list_for_each_entry(pqn, &whole->plans[i].target->p->pqm.queues, process_queue_list)
		if (is_named(&whole->entries[i], pqn->q))
			add_queue(call, whole, i, pqn->q);
}

static void plan_process(struct kfd_preempt_call *call, u32 i)
{
	struct kfd_preempt_plan *plan = &call->plans[i];
	struct kfd_preempt_switch_entry *e = &call->entries[i];

	e->state = 0;
	e->holds = 0;
	e->latency_ns = 0;
	e->queue_uid = 0;
	if (!plan->target)
		return; /* find_targets() has set the result */
	e->result = plan->target->err;
	if (!e->result)
		e->result = kfd_preempt_plan_holds(call, i);
}

static void free_whole(struct kfd_preempt_whole *whole)
{
	kvfree(whole->entries);
	kvfree(whole->plans);
	kvfree(whole->reqs);
	kvfree(whole);
}

static void exchange(struct kfd_preempt_call *call, struct kfd_preempt_whole *whole)
{
	swap(call->entries, whole->entries);
	swap(call->plans, whole->plans);
	swap(call->batch.reqs, whole->reqs);
	swap(call->batch.num, whole->num);
}

/**
 * kfd_preempt_widen - replace each entry of a process by entries of its queues
 * @call: the call; the processes of it are locked
 * @whole: what kfd_preempt_narrow() needs; NULL if no entry names a process
 *
 * Return: 0, -ENOMEM, or -E2BIG if these are too many queues.
 */
int kfd_preempt_widen(struct kfd_preempt_call *call, struct kfd_preempt_whole **whole)
{
	struct kfd_preempt_whole *w;
	bool any = false;
	u32 i, num;

	*whole = NULL;
	for (i = 0; i < call->batch.num; i++)
		any |= call->plans[i].whole;
	if (!any)
		return 0;
	num = count(call);
	if (num > MAX_QUEUES)
		return -E2BIG;
	w = kvzalloc(struct_size(w, of, num), GFP_KERNEL);
	if (!w)
		return -ENOMEM;
	w->entries = kvcalloc(num, sizeof(*w->entries), GFP_KERNEL);
	w->plans = kvcalloc(num, sizeof(*w->plans), GFP_KERNEL);
	w->reqs = kvcalloc(num, sizeof(*w->reqs), GFP_KERNEL);
	if (!w->entries || !w->plans || !w->reqs) {
		free_whole(w);
		return -ENOMEM;
	}
	for (i = 0; i < call->batch.num; i++)
		if (call->plans[i].whole)
			plan_process(call, i);
	exchange(call, w);
	call->batch.num = 0;
	for (i = 0; i < w->num; i++)
		fill(call, w, i);
	*whole = w;
	return 0;
}

/* A process runs as long as one of its queues does. */
static u32 least_stopped(u32 a, u32 b)
{
	static const u32 order[] = {
		KFD_PREEMPT_STATE_RUNNING,
		KFD_PREEMPT_STATE_PENDING,
		KFD_PREEMPT_STATE_HELD,
		KFD_PREEMPT_STATE_INACTIVE,
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return KFD_PREEMPT_STATE_DEAD;
}

/* Adds the result of one queue to that of its process. */
static void fold(struct kfd_preempt_call *call, const struct kfd_preempt_whole *queues, u32 j)
{
	const struct kfd_preempt_switch_entry *in = &queues->entries[j];
	struct kfd_preempt_switch_entry *e = &call->entries[queues->of[j]];
	struct kfd_preempt_plan *plan = &call->plans[queues->of[j]];
	const struct kfd_process_device *moves;

	if (!plan->whole) {
		*e = *in;
		return;
	}
	if (!e->result)
		e->result = in->result;
	if (!queues->plans[j].q)
		return;
	e->state = plan->q ? least_stopped(e->state, in->state) : in->state;
	e->holds = plan->q ? e->holds & in->holds : in->holds;
	e->latency_ns = max(e->latency_ns, in->latency_ns);
	plan->q = queues->plans[j].q;
	moves = queues->plans[j].req->moves;
	plan->already &= queues->plans[j].already && !(moves && moves->preempt.move.bytes);
}

static void finish(struct kfd_preempt_call *call, u32 i)
{
	struct kfd_preempt_switch_entry *e = &call->entries[i];
	u32 bits;

	if (!e->result && call->plans[i].already)
		e->result = -EALREADY;
	bits = kfd_preempt_finish_holds(call, i);
	if (call->plans[i].q || (e->result && e->result != -EALREADY))
		return;
	e->holds = bits;
	e->state = bits ? KFD_PREEMPT_STATE_HELD : KFD_PREEMPT_STATE_INACTIVE;
}

/**
 * kfd_preempt_narrow - give each entry of a process the result of its queues
 * @call: the call, which has run; the processes of it are locked
 * @whole: what kfd_preempt_widen() made; NULL does nothing
 * @err: error of the whole call, or 0
 */
void kfd_preempt_narrow(struct kfd_preempt_call *call, struct kfd_preempt_whole *whole, int err)
{
	bool failed = false;
	u32 i;

	if (!whole)
		return;
	exchange(call, whole);
	for (i = 0; i < whole->num; i++) {
		failed |= whole->entries[i].result;
		fold(call, whole, i);
	}
	for (i = 0; i < call->batch.num; i++) {
		if (!call->plans[i].whole || !is_locked(&call->plans[i]))
			continue;
		if (!call->entries[i].result && call->batch.all_or_nothing && failed)
			call->entries[i].result = -EBUSY;
		if (err)
			call->entries[i].result = err;
		finish(call, i);
	}
	free_whole(whole);
}
