// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Resumes the queues that an operator held, once its file is closed. */

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "kfd_preempt_compat.h"
#include "kfd_preempt_trace.h"

/* A failed release is retried after a delay that doubles each time. */
#define RETRY_MIN_MS 20u
#define RETRY_MAX_MS 1000u

/*
 * Freezable, because memory must not move while devices suspend. A release may
 * sleep for seconds, and no other one waits for it.
 */
struct workqueue_struct *kfd_preempt_wq;

/*
 * Protects the list and the fields of processes below. Taken under the lock of
 * operator records.
 */
static DEFINE_SPINLOCK(release_lock);

/* Processes whose release is running or will be retried: freed VRAM may help. */
static LIST_HEAD(retrying);

/* A release that is queued holds a reference to its process. */
static void queue_release(struct kfd_process *p, unsigned int ms)
{
	lockdep_assert_held(&release_lock);
	if (READ_ONCE(p->preempt.gone))
		return;
	kref_get(&p->ref);
	if (mod_delayed_work(kfd_preempt_wq, &p->preempt.release, msecs_to_jiffies(ms)))
		kfd_unref_process(p);
}

/**
 * kfd_preempt_release_schedule - release the queues that closed files hold
 * @p: a process with such queues
 */
void kfd_preempt_release_schedule(struct kfd_process *p)
{
	spin_lock(&release_lock);
	queue_release(p, 0);
	spin_unlock(&release_lock);
}

/**
 * kfd_preempt_vram_freed - VRAM is being freed, so yielded memory may return
 *
 * A release that has failed is retried after the shortest delay: VRAM may be
 * freed in many pieces, each a little after this call.
 */
void kfd_preempt_vram_freed(void)
{
	struct kfd_preempt_p *pp;

	if (list_empty_careful(&retrying))
		return;
	spin_lock(&release_lock);
	while (!list_empty(&retrying)) {
		pp = list_first_entry(&retrying, struct kfd_preempt_p, retry_node);
		list_del_init(&pp->retry_node);
		queue_release(container_of(pp, struct kfd_process, preempt), RETRY_MIN_MS);
	}
	spin_unlock(&release_lock);
}

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

static void release_worker(struct work_struct *work)
{
	struct kfd_preempt_p *pp = container_of(to_delayed_work(work),
						struct kfd_preempt_p, release);
	struct kfd_process *p = container_of(pp, struct kfd_process, preempt);
	bool again;

	spin_lock(&release_lock);
	list_move_tail(&pp->retry_node, &retrying);
	spin_unlock(&release_lock);

	again = release_process(p);
	trace_kfd_preempt_release(p, again);

	spin_lock(&release_lock);
	/* It is not in the list if VRAM was freed meanwhile. */
	if (!again || list_empty(&pp->retry_node))
		pp->retry_ms = RETRY_MIN_MS;
	if (again) {
		queue_release(p, pp->retry_ms);
		pp->retry_ms = min(2 * pp->retry_ms, RETRY_MAX_MS);
	}
	if (!again || READ_ONCE(pp->gone))
		list_del_init(&pp->retry_node);
	spin_unlock(&release_lock);
	kfd_unref_process(p);
}

/**
 * kfd_preempt_release_init - prepare the release of the queues of a process
 * @p: a new process; the caller has serialized the creation of processes
 */
void kfd_preempt_release_init(struct kfd_process *p)
{
	if (!kfd_preempt_wq)
		kfd_preempt_wq = alloc_workqueue("kfd_preempt", WQ_FREEZABLE | WQ_UNBOUND,
						 WQ_MAX_ACTIVE) ?: system_freezable_wq;
	INIT_DELAYED_WORK(&p->preempt.release, release_worker);
	INIT_LIST_HEAD(&p->preempt.retry_node);
	p->preempt.retry_ms = RETRY_MIN_MS;
}

/**
 * kfd_preempt_release_cancel - the address space of a process is gone
 * @p: the process, whose queues will be destroyed
 *
 * Does not wait for a release that is running.
 */
void kfd_preempt_release_cancel(struct kfd_process *p)
{
	spin_lock(&release_lock);
	list_del_init(&p->preempt.retry_node);
	if (cancel_delayed_work(&p->preempt.release))
		kfd_unref_process(p);
	spin_unlock(&release_lock);
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

/**
 * kfd_preempt_exit - the module is unloaded; no file of /dev/kfd is open
 */
void kfd_preempt_exit(void)
{
	if (kfd_preempt_wq && kfd_preempt_wq != system_freezable_wq)
		destroy_workqueue(kfd_preempt_wq);
}
