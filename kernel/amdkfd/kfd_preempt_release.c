// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Resumes the queues that an operator held, once its file is closed. */

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "kfd_preempt_compat.h"

/* Delay before a failed resume is retried. */
#define RETRY_MS 20

static void release_worker(struct work_struct *work);
static DECLARE_DELAYED_WORK(release_work, release_worker);

/* Fill @reqs with the queues that only closed files hold. */
static unsigned int collect(struct kfd_process *p, struct mm_struct *mm,
			    struct kfd_preempt_req *reqs, unsigned int max)
{
	struct process_queue_node *pqn;
	unsigned int num = 0;
	bool only;

	list_for_each_entry(pqn, &p->pqm.queues, process_queue_list) {
		if (!pqn->q || !kfd_preempt_record_closed(pqn->q, &only))
			continue;
		if (!only) {
			kfd_preempt_record_drop_closed(pqn->q);
			continue;
		}
		if (num == max)
			break;
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
	batch.num = collect(p, mm, batch.reqs, num);
	kfd_preempt_memory_return(&batch);
	for (i = 0; i < batch.num; i++) {
		if (!batch.reqs[i].memory_result)
			continue;
		/* There is no VRAM for its memory yet. */
		batch.reqs[i].q = NULL;
		again = true;
	}
	kfd_preempt_run(&batch);
	for (i = 0; i < batch.num; i++) {
		req = &batch.reqs[i];
		kvfree(req->checkpoint);
		if (!req->q)
			continue;
		/* A hold without a record would never be cleared. */
		if (req->result &&
		    !(req->q->properties.preempt_holds & KFD_PREEMPT_HOLD_DEAD))
			again = true;
		else
			kfd_preempt_record_drop_closed(req->q);
	}
	kvfree(batch.reqs);
	kfd_preempt_memory_look(p);
	return again;
}

/*
 * Never waits for the mutex of the process, which may hold it without limit
 * while other processes wait for this worker. Returns true to be called again.
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
	static u64 pass;
	struct kfd_process *p;
	bool again = false;

	pass++;
	while ((p = kfd_preempt_operator_next(pass))) {
		again |= release_process(p);
		kfd_unref_process(p);
	}
	if (again)
		mod_delayed_work(kfd_preempt_wq, &release_work,
				 msecs_to_jiffies(RETRY_MS));
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
	if (kfd_preempt_operator_close(filep))
		mod_delayed_work(kfd_preempt_wq, &release_work, 0);
	kfd_preempt_doorbell_file_release(filep);
}

/**
 * kfd_preempt_exit - the module is unloaded; no file of /dev/kfd is open
 */
void kfd_preempt_exit(void)
{
	cancel_delayed_work_sync(&release_work);
}
