// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Resumes the queues that an operator held, once its file is closed. */

#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "kfd_preempt_compat.h"
#include "kfd_preempt_trace.h"

/* Fill @reqs with the queues that only closed files hold. */
static unsigned int collect(struct kfd_process *p, struct mm_struct *mm,
			    struct kfd_preempt_req *reqs)
{
	struct process_queue_node *pqn;
	unsigned int num = 0;

	list_for_each_entry(pqn, &p->pqm.queues, process_queue_list) {
		if (!pqn->q || !kfd_preempt_records_closed(pqn->q))
			continue;
		reqs[num].q = pqn->q;
		reqs[num].mm = mm;
		reqs[num].clear = KFD_PREEMPT_HOLD_OPERATOR;
		num++;
	}
	return num;
}

/* One batch for all queues of a process. Returns true to be called again. */
static bool release_queues(struct kfd_process *p, struct mm_struct *mm)
{
	/* Do not wait for a stop that is still pending; retry later. */
	struct kfd_preempt_batch batch = { .timeout_ms = 1 };
	struct process_queue_node *pqn;
	struct kfd_preempt_req *req;
	unsigned int num = 0, i;
	bool again = false;

	list_for_each_entry(pqn, &p->pqm.queues, process_queue_list)
		num += !!pqn->q;
	batch.reqs = kvcalloc(max(num, 1u), sizeof(*batch.reqs), GFP_KERNEL);
	if (!batch.reqs)
		return true;
	batch.num = collect(p, mm, batch.reqs);
	kfd_preempt_memory_return(&batch);
	for (i = 0; i < batch.num; i++) {
		if (!batch.reqs[i].memory_result)
			continue;
		/* There is no VRAM for its memory yet. */
		batch.reqs[i].skip = true;
		again = true;
	}
	kfd_preempt_run(&batch);
	for (i = 0; i < batch.num; i++) {
		req = &batch.reqs[i];
		kvfree(req->checkpoint);
		if (req->skip)
			continue;
		/* A hold without a record would never be cleared. */
		if (req->result &&
		    !(req->q->properties.preempt_holds & KFD_PREEMPT_HOLD_DEAD))
			again = true;
		else
			kfd_preempt_record_drop_all(req->q);
	}
	kvfree(batch.reqs);
	kfd_preempt_memory_look(p);
	return again;
}

/*
 * Never waits for the mutex of the process, which may hold it without limit.
 * Returns true to be called again.
 */
static bool release_process(struct kfd_process *p)
{
	struct mm_struct *mm = NULL;
	bool again = false, alive;

	if (!mutex_trylock(&p->mutex))
		return true;
	alive = READ_ONCE(p->mm);
	if (alive && kfd_preempt_needs_mm(p)) {
		mm = kfd_preempt_get_mm(p);
		alive = mm;
	}
	/* Otherwise the process exits, and its queues are destroyed. */
	if (alive)
		again = release_queues(p, mm);
	mutex_unlock(&p->mutex);
	/* The last mmput() would run MMU notifiers in this context. */
	if (mm)
		mmput_async(mm);
	return again;
}

/**
 * kfd_preempt_release_worker - resume the queues of a process that closed files hold
 * @work: kfd_preempt_p.release
 */
void kfd_preempt_release_worker(struct work_struct *work)
{
	struct kfd_preempt_p *pp = container_of(to_delayed_work(work),
						struct kfd_preempt_p, release);
	struct kfd_process *p = container_of(pp, struct kfd_process, preempt);
	bool again;

	kfd_preempt_release_begins(p);
	again = release_process(p);
	trace_kfd_preempt_release(p, again);
	kfd_preempt_release_ended(p, again);
	kfd_unref_process(p);
}
