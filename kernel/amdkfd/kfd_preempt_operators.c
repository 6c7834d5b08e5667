// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Operator records: which open file holds which queue, and which caller may
 * overrule it.
 */

#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/user_namespace.h>

#include "kfd_preempt_compat.h"

/**
 * struct kfd_preempt_operator - an open file that holds queues
 * @hash_node: in operators
 * @filep: the file, compared but never dereferenced; NULL while it is closed
 * @records: its records
 *
 * Lives until its last record is dropped or the file is closed.
 */
struct kfd_preempt_operator {
	struct hlist_node hash_node;
	struct file *filep;
	struct list_head records;
};

/**
 * struct kfd_preempt_record - one operator file holds one queue
 * @queue_node: in kfd_preempt_q.records
 * @operator_node: in kfd_preempt_operator.records
 * @op: the operator, NULL once its file is closed
 * @q: the queue, valid as long as the record is in its list
 * @setter: whose hold it is
 */
struct kfd_preempt_record {
	struct hlist_node queue_node;
	struct list_head operator_node;
	struct kfd_preempt_operator *op;
	struct queue *q;
	struct kfd_preempt_setter setter;
};

/*
 * Protects every record, operator and list. close() of a file finds its operator
 * by hash, so it costs the same however many records others have.
 */
static DEFINE_SPINLOCK(record_lock);
static DEFINE_HASHTABLE(operators, 10);

/**
 * kfd_preempt_setter_init - remember the caller as the owner of a hold
 * @setter: where; kfd_preempt_setter_fini() drops its reference
 * @right: what allows the caller to set it
 */
void kfd_preempt_setter_init(struct kfd_preempt_setter *setter,
			     enum kfd_preempt_right right)
{
	setter->user_ns = get_user_ns(current_user_ns());
	setter->uid = current_euid();
	setter->right = right;
}

void kfd_preempt_setter_copy(struct kfd_preempt_setter *to,
			     const struct kfd_preempt_setter *from)
{
	*to = *from;
	get_user_ns(to->user_ns);
}

void kfd_preempt_setter_fini(struct kfd_preempt_setter *setter)
{
	if (setter->user_ns)
		put_user_ns(setter->user_ns);
	setter->user_ns = NULL;
}

/**
 * kfd_preempt_may_overrule - whether the caller may clear another owner's hold
 * @setter: whose hold it is
 * @right: what allows the caller to act on the process
 *
 * A right over the process is not enough, because a tenant has it over its own
 * processes. The caller needs CAP_SYS_PTRACE in the user namespace of the
 * setter, or the right that the setter had.
 *
 * Return: true if the caller may.
 */
bool kfd_preempt_may_overrule(const struct kfd_preempt_setter *setter,
			      enum kfd_preempt_right right)
{
	if (!setter->user_ns || ns_capable(setter->user_ns, CAP_SYS_PTRACE))
		return true;
	if (setter->right == KFD_PREEMPT_BY_USER)
		return uid_eq(setter->uid, current_euid());
	return setter->right == KFD_PREEMPT_BY_FILE && right == KFD_PREEMPT_BY_FILE;
}

static struct kfd_preempt_operator *find_operator(struct file *filep)
{
	struct kfd_preempt_operator *op;

	lockdep_assert_held(&record_lock);
	hash_for_each_possible(operators, op, hash_node, (unsigned long)filep)
		if (op->filep == filep)
			return op;
	return NULL;
}

/* Returns NULL if the file is closed. */
static struct file *file_of(const struct kfd_preempt_record *rec)
{
	lockdep_assert_held(&record_lock);
	return rec->op ? rec->op->filep : NULL;
}

static struct kfd_preempt_record *find_record(struct file *filep, struct queue *q)
{
	struct kfd_preempt_record *rec;

	lockdep_assert_held(&record_lock);
	hlist_for_each_entry(rec, &q->preempt.records, queue_node)
		if (file_of(rec) == filep)
			return rec;
	return NULL;
}

static void unlink_record(struct kfd_preempt_record *rec)
{
	struct kfd_preempt_operator *op = rec->op;

	lockdep_assert_held(&record_lock);
	rec->q->preempt.num_records--;
	hlist_del(&rec->queue_node);
	list_del(&rec->operator_node);
	/* kfd_preempt_operator_close() frees that of a closed file. */
	if (file_of(rec) && list_empty(&op->records)) {
		hash_del(&op->hash_node);
		kfree(op);
	}
	kfd_preempt_setter_fini(&rec->setter);
	kfree(rec);
}

static struct kfd_preempt_record *alloc_record(struct file *filep, struct queue *q)
{
	struct kfd_preempt_record *rec;

	rec = kzalloc(sizeof(*rec), GFP_KERNEL_ACCOUNT);
	if (!rec)
		return NULL;
	/* Used if the file has none yet, which is known under the lock only. */
	rec->op = kzalloc(sizeof(*rec->op), GFP_KERNEL_ACCOUNT);
	if (!rec->op) {
		kfree(rec);
		return NULL;
	}
	INIT_LIST_HEAD(&rec->op->records);
	rec->op->filep = filep;
	rec->q = q;
	return rec;
}

/**
 * kfd_preempt_record_alloc - allocate a record for kfd_preempt_record_link()
 * @filep: file of the operator
 * @q: a queue of another process, whose mutex the caller holds
 * @right: what allows the caller to hold it
 *
 * The memory is accounted to the caller.
 *
 * Return: the record, or NULL without memory or with too many records of the
 * queue.
 */
struct kfd_preempt_record *kfd_preempt_record_alloc(struct file *filep,
						    struct queue *q,
						    enum kfd_preempt_right right)
{
	struct kfd_preempt_record *rec = NULL;

	if (q->preempt.num_records < kfd_preempt_max_owners(false))
		rec = alloc_record(filep, q);
	if (rec)
		kfd_preempt_setter_init(&rec->setter, right);
	return rec;
}

/* Frees a record that was never linked. */
void kfd_preempt_record_free(struct kfd_preempt_record *rec)
{
	if (!rec)
		return;
	kfd_preempt_setter_fini(&rec->setter);
	kfree(rec->op);
	kfree(rec);
}

void kfd_preempt_record_link(struct kfd_preempt_record *rec)
{
	struct kfd_preempt_operator *op, *spare = NULL;

	spin_lock(&record_lock);
	op = find_operator(rec->op->filep);
	if (op) {
		spare = rec->op;
		rec->op = op;
	} else {
		hash_add(operators, &rec->op->hash_node, (unsigned long)rec->op->filep);
	}
	list_add(&rec->operator_node, &rec->op->records);
	hlist_add_head(&rec->queue_node, &rec->q->preempt.records);
	rec->q->preempt.num_records++;
	spin_unlock(&record_lock);
	kfree(spare);
}

/**
 * kfd_preempt_record_alloc_born - allocate a record of a queue that is born held
 * @q: that queue
 * @records: the list to which the record is added
 *
 * Return: false without memory.
 */
bool kfd_preempt_record_alloc_born(struct queue *q, struct hlist_head *records)
{
	struct kfd_preempt_record *rec = alloc_record(NULL, q);

	if (rec)
		hlist_add_head(&rec->queue_node, records);
	return rec;
}

/**
 * kfd_preempt_record_link_born - link a record of a queue that is born held
 * @records: what kfd_preempt_record_alloc_born() made, with at least one record
 * @filep: file of the operator that holds the process; it cannot be closed now
 * @setter: whose hold it is
 */
void kfd_preempt_record_link_born(struct hlist_head *records, struct file *filep,
				  const struct kfd_preempt_setter *setter)
{
	struct kfd_preempt_record *rec = hlist_entry(records->first, struct kfd_preempt_record,
						     queue_node);

	hlist_del(&rec->queue_node);
	rec->op->filep = filep;
	kfd_preempt_setter_copy(&rec->setter, setter);
	kfd_preempt_record_link(rec);
}

void kfd_preempt_record_free_born(struct hlist_head *records)
{
	struct kfd_preempt_record *rec;
	struct hlist_node *next;

	hlist_for_each_entry_safe(rec, next, records, queue_node)
		kfd_preempt_record_free(rec);
}

bool kfd_preempt_record_exists(struct file *filep, struct queue *q)
{
	bool exists;

	spin_lock(&record_lock);
	exists = find_record(filep, q);
	spin_unlock(&record_lock);
	return exists;
}

/* Whether no other file, open or closed, holds the queue. */
bool kfd_preempt_record_is_last(struct file *filep, struct queue *q)
{
	struct kfd_preempt_record *rec;
	bool last = true;

	spin_lock(&record_lock);
	hlist_for_each_entry(rec, &q->preempt.records, queue_node)
		if (file_of(rec) != filep)
			last = false;
	spin_unlock(&record_lock);
	return last;
}

/**
 * kfd_preempt_records_overrulable - whether the caller may drop all records
 * @filep: file of the caller, which may always drop its own record
 * @q: a queue, the mutex of whose process the caller holds
 * @right: what allows the caller to act on that process
 *
 * Return: true if the caller may.
 */
bool kfd_preempt_records_overrulable(struct file *filep, struct queue *q,
				     enum kfd_preempt_right right)
{
	struct kfd_preempt_record *rec;
	bool may = true;

	spin_lock(&record_lock);
	hlist_for_each_entry(rec, &q->preempt.records, queue_node)
		if (file_of(rec) != filep &&
		    !kfd_preempt_may_overrule(&rec->setter, right))
			may = false;
	spin_unlock(&record_lock);
	return may;
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
 * kfd_preempt_records_closed - whether only closed files hold a queue
 * @q: a queue, the mutex of whose process the caller holds
 *
 * If an open file holds it too, the records of closed ones are dropped.
 *
 * Return: true if there are records, and all are of closed files.
 */
bool kfd_preempt_records_closed(struct queue *q)
{
	struct kfd_preempt_record *rec;
	struct hlist_node *next;
	bool any, open = false;

	spin_lock(&record_lock);
	any = !hlist_empty(&q->preempt.records);
	hlist_for_each_entry(rec, &q->preempt.records, queue_node)
		open |= !!file_of(rec);
	hlist_for_each_entry_safe(rec, next, &q->preempt.records, queue_node)
		if (open && !file_of(rec))
			unlink_record(rec);
	spin_unlock(&record_lock);
	return any && !open;
}

/**
 * kfd_preempt_operator_close - a file of /dev/kfd is closed
 * @filep: the file
 *
 * Schedules the release of the queues that it holds, for each of their processes.
 */
void kfd_preempt_operator_close(struct file *filep)
{
	struct kfd_process *last = NULL;
	struct kfd_preempt_operator *op;
	struct kfd_preempt_record *rec;

	spin_lock(&record_lock);
	op = find_operator(filep);
	if (op) {
		hash_del(&op->hash_node);
		/* From here on all its records count as closed. */
		op->filep = NULL;
	}
	while (op && !list_empty(&op->records)) {
		rec = list_first_entry(&op->records, struct kfd_preempt_record,
				       operator_node);
		list_del_init(&rec->operator_node);
		rec->op = NULL;
		if (rec->q->process != last)
			kfd_preempt_release_schedule(rec->q->process);
		last = rec->q->process;
		cond_resched_lock(&record_lock);
	}
	spin_unlock(&record_lock);
	kfree(op);
}
