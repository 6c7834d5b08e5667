// SPDX-License-Identifier: GPL-2.0 OR MIT
/* Operator records: which open file holds which queue, and their end. */

#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "kfd_preempt_compat.h"
#include "kfd_preempt_trace.h"

/* Wait before trying again to start a queue whose operator has gone. */
#define RELEASE_RETRY_MS 100

/**
 * struct kfd_preempt_record - one operator file holds one queue
 * @queue_node: in kfd_preempt_q.records
 * @file_node: in records, orphans or deferred
 * @filep: the operator's file, compared but never dereferenced; NULL once that
 *	file is closed
 * @q: the queue, valid as long as the record is in its list
 */
struct kfd_preempt_record {
	struct hlist_node queue_node;
	struct list_head file_node;
	struct file *filep;
	struct queue *q;
};

/* Protects every record and the lists; a leaf. */
static DEFINE_SPINLOCK(record_lock);
static LIST_HEAD(records);
static LIST_HEAD(orphans);

static void release_worker(struct work_struct *work);
static DECLARE_DELAYED_WORK(release_work, release_worker);

static struct kfd_preempt_record *find_record(struct file *filep, struct queue *q)
{
	struct kfd_preempt_record *rec;

	lockdep_assert_held(&record_lock);
	hlist_for_each_entry(rec, &q->preempt.records, queue_node)
		if (rec->filep == filep)
			return rec;
	return NULL;
}

static void unlink_record(struct kfd_preempt_record *rec)
{
	lockdep_assert_held(&record_lock);
	hlist_del(&rec->queue_node);
	list_del(&rec->file_node);
	kfree(rec);
}

struct kfd_preempt_record *kfd_preempt_record_alloc(struct file *filep,
						    struct queue *q)
{
	struct kfd_preempt_record *rec = kzalloc(sizeof(*rec), GFP_KERNEL);

	if (rec) {
		rec->filep = filep;
		rec->q = q;
	}
	return rec;
}

/* For a record that was never linked. */
void kfd_preempt_record_free(struct kfd_preempt_record *rec)
{
	kfree(rec);
}

void kfd_preempt_record_link(struct kfd_preempt_record *rec)
{
	spin_lock(&record_lock);
	hlist_add_head(&rec->queue_node, &rec->q->preempt.records);
	list_add(&rec->file_node, &records);
	spin_unlock(&record_lock);
}

bool kfd_preempt_record_exists(struct file *filep, struct queue *q)
{
	bool exists;

	spin_lock(&record_lock);
	exists = find_record(filep, q);
	spin_unlock(&record_lock);
	return exists;
}

/* Whether no other file, closed ones included, holds the queue. */
bool kfd_preempt_record_is_last(struct file *filep, struct queue *q)
{
	struct kfd_preempt_record *rec;
	bool last = true;

	spin_lock(&record_lock);
	hlist_for_each_entry(rec, &q->preempt.records, queue_node)
		if (rec->filep != filep)
			last = false;
	spin_unlock(&record_lock);
	return last;
}

void kfd_preempt_record_drop(struct file *filep, struct queue *q)
{
	struct kfd_preempt_record *rec;

	spin_lock(&record_lock);
	rec = find_record(filep, q);
	if (rec)
		unlink_record(rec);
	spin_unlock(&record_lock);
}

void kfd_preempt_record_drop_all(struct queue *q)
{
	struct kfd_preempt_record *rec;
	struct hlist_node *next;

	spin_lock(&record_lock);
	hlist_for_each_entry_safe(rec, next, &q->preempt.records, queue_node)
		unlink_record(rec);
	spin_unlock(&record_lock);
}

/**
 * kfd_preempt_queue_fini - a queue is about to be freed
 * @q: the queue; NULL and kernel queues have no records
 */
void kfd_preempt_queue_fini(struct queue *q)
{
	if (!q)
		return;
	kfd_preempt_record_drop_all(q);
	kvfree(q->preempt.checkpoint);
}

/**
 * kfd_preempt_file_release - the last reference to a file of /dev/kfd is gone
 * @filep: the file
 *
 * Runs in exit and must not wait for hardware: a worker resumes the queues.
 */
void kfd_preempt_file_release(struct file *filep)
{
	struct kfd_preempt_record *rec, *next;
	bool any = false;

	spin_lock(&record_lock);
	list_for_each_entry_safe(rec, next, &records, file_node) {
		if (rec->filep != filep)
			continue;
		rec->filep = NULL;
		list_move_tail(&rec->file_node, &orphans);
		any = true;
	}
	spin_unlock(&record_lock);
	if (any)
		mod_delayed_work(kfd_preempt_wq, &release_work, 0);
}

static bool has_orphan(struct queue *q, bool *only)
{
	struct kfd_preempt_record *rec;
	bool orphan = false;

	*only = true;
	spin_lock(&record_lock);
	hlist_for_each_entry(rec, &q->preempt.records, queue_node) {
		if (rec->filep)
			*only = false;
		else
			orphan = true;
	}
	spin_unlock(&record_lock);
	return orphan;
}

static void drop_orphans(struct queue *q)
{
	struct kfd_preempt_record *rec;
	struct hlist_node *next;

	spin_lock(&record_lock);
	hlist_for_each_entry_safe(rec, next, &q->preempt.records, queue_node)
		if (!rec->filep)
			unlink_record(rec);
	spin_unlock(&record_lock);
}

/* True when something must be tried again later. */
static bool release_queue(struct queue *q, struct mm_struct *mm)
{
	struct kfd_preempt_req req = {
		.q = q,
		.mm = mm,
		.clear = KFD_PREEMPT_HOLD_OPERATOR,
	};
	struct kfd_preempt_batch batch = { .reqs = &req, .num = 1 };
	bool only;

	if (!has_orphan(q, &only))
		return false;
	if (only) {
		kfd_preempt_run(&batch);
		kvfree(req.checkpoint);
		/* A hold without its record would never end. */
		if (req.result &&
		    !(q->properties.preempt_holds & KFD_PREEMPT_HOLD_DEAD))
			return true;
	}
	drop_orphans(q);
	return false;
}

static bool release_process(struct kfd_process *p)
{
	struct process_queue_node *pqn;
	struct mm_struct *mm = get_task_mm(p->lead_thread);
	bool again = false;

	/* Without an mm the process is going, and its queues with it. */
	if (!mm)
		return false;

	mutex_lock(&p->mutex);
	list_for_each_entry(pqn, &p->pqm.queues, process_queue_list)
		if (pqn->q)
			again |= release_queue(pqn->q, mm);
	mutex_unlock(&p->mutex);
	/* The last mmput() runs MMU notifiers: not here. */
	mmput_async(mm);
	return again;
}

/* Take all orphans of one process off the list; NULL when there are none. */
static struct kfd_process *next_process(struct list_head *deferred)
{
	struct kfd_preempt_record *rec, *next;
	struct kfd_process *p = NULL;

	spin_lock(&record_lock);
	list_for_each_entry_safe(rec, next, &orphans, file_node) {
		if (!p) {
			p = rec->q->process;
			/* At zero the queues are on their way out as well. */
			if (!kref_get_unless_zero(&p->ref))
				p = NULL;
		}
		if (!p)
			list_del_init(&rec->file_node);
		else if (rec->q->process == p)
			list_move_tail(&rec->file_node, deferred);
	}
	spin_unlock(&record_lock);
	return p;
}

static void release_worker(struct work_struct *work)
{
	struct kfd_process *p;
	LIST_HEAD(deferred);
	bool again = false;

	while ((p = next_process(&deferred))) {
		again |= release_process(p);
		kfd_unref_process(p);
	}

	spin_lock(&record_lock);
	list_splice_tail_init(&deferred, &orphans);
	spin_unlock(&record_lock);
	if (again)
		mod_delayed_work(kfd_preempt_wq, &release_work,
				 msecs_to_jiffies(RELEASE_RETRY_MS));
}

/**
 * kfd_preempt_exit - the module goes; no file of /dev/kfd is open any more
 */
void kfd_preempt_exit(void)
{
	cancel_delayed_work_sync(&release_work);
}
