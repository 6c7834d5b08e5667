// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* Holds of whole processes: the queues that a process creates later are born held. */

#include <linux/cred.h>
#include <linux/hashtable.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "kfd_preempt_compat.h"
#include "kfd_preempt_switch.h"

/**
 * struct kfd_preempt_process_hold - a hold of the queues that a process creates on a GPU
 * @process_node: in kfd_preempt_p.holds
 * @file_node: in files, if it is of an operator
 * @filep: the file of that operator, compared but never dereferenced; or NULL
 * @gpu_index: of the GPU in kfd_process.pdds
 * @bit: KFD_PREEMPT_HOLD_*
 * @setter: whose hold it is; unused for that of the process itself
 */
struct kfd_preempt_process_hold {
	struct hlist_node process_node;
	struct hlist_node file_node;
	struct file *filep;
	u32 gpu_index;
	u32 bit;
	struct kfd_preempt_setter setter;
};

/*
 * Protects every hold and list, outside the lock of operator records. Holds are
 * added under kfd_process.mutex, too.
 */
static DEFINE_SPINLOCK(hold_lock);
static DEFINE_HASHTABLE(files, 10);

static void free_hold(struct kfd_preempt_process_hold *hold)
{
	kfd_preempt_setter_fini(&hold->setter);
	kfree(hold);
}

static void unlink_hold(struct kfd_preempt_process_hold *hold)
{
	lockdep_assert_held(&hold_lock);
	hlist_del(&hold->process_node);
	if (hold->filep)
		hash_del(&hold->file_node);
	free_hold(hold);
}

/* Whether an entry acts on the queues of a GPU of its process. */
static bool is_on(const struct kfd_preempt_switch_entry *e,
		  const struct kfd_process *p, u32 gpu_index)
{
	return !e->gpu_id || p->pdds[gpu_index]->user_gpu_id == e->gpu_id;
}

/* The hold that a PREEMPT of the call sets, and a RESUME without FORCE ends. */
static u32 bit_of(const struct kfd_preempt_call *call,
		  const struct kfd_preempt_target *target)
{
	if (kfd_preempt_is_self(call, target))
		return KFD_PREEMPT_HOLD_SELF;
	return call->flags & KFD_PREEMPT_SWITCH_STICKY ? KFD_PREEMPT_HOLD_STICKY :
							 KFD_PREEMPT_HOLD_OPERATOR;
}

/* Whether a RESUME of the call ends a hold. */
static bool is_ended(const struct kfd_preempt_call *call, u32 i,
		     const struct kfd_preempt_process_hold *hold)
{
	const struct kfd_preempt_target *target = call->plans[i].target;
	u32 bit = bit_of(call, target);

	if (!is_on(&call->entries[i], target->p, hold->gpu_index))
		return false;
	if (call->flags & KFD_PREEMPT_SWITCH_FORCE)
		return hold->bit & KFD_PREEMPT_OPERATOR_HOLDS;
	return hold->bit == bit &&
	       (bit != KFD_PREEMPT_HOLD_OPERATOR || hold->filep == call->targets.filep);
}

/* Returns the hold that a PREEMPT of the call would set, or NULL. */
static struct kfd_preempt_process_hold *
find_hold(const struct kfd_preempt_call *call, struct kfd_process *p, u32 gpu_index,
	  u32 bit, unsigned int *num)
{
	struct kfd_preempt_process_hold *hold, *found = NULL;

	lockdep_assert_held(&hold_lock);
	*num = 0;
	hlist_for_each_entry(hold, &p->preempt.holds, process_node) {
		if (hold->gpu_index != gpu_index)
			continue;
		++*num;
		if (hold->bit == bit &&
		    (bit != KFD_PREEMPT_HOLD_OPERATOR || hold->filep == call->targets.filep))
			found = hold;
	}
	return found;
}

/* Allocates the holds that a PREEMPT sets once its queues are stopped. */
static int plan_preempt(struct kfd_preempt_call *call, u32 i)
{
	struct kfd_preempt_plan *plan = &call->plans[i];
	struct kfd_process *p = plan->target->p;
	unsigned int num, max = kfd_preempt_max_owners(p == call->targets.self);
	u32 gpu_index, bit = bit_of(call, plan->target);
	struct kfd_preempt_process_hold *hold;
	bool any = false;

	for (gpu_index = 0; gpu_index < p->n_pdds; gpu_index++) {
		if (!is_on(&call->entries[i], p, gpu_index))
			continue;
		any = true;
		spin_lock(&hold_lock);
		hold = find_hold(call, p, gpu_index, bit, &num);
		if (hold && bit == KFD_PREEMPT_HOLD_STICKY)
			kfd_preempt_take_over(&hold->setter, plan->target->right);
		spin_unlock(&hold_lock);
		if (hold)
			continue;
		hold = num < max ? kzalloc(sizeof(*hold), GFP_KERNEL_ACCOUNT) : NULL;
		if (!hold)
			return -ENOMEM;
		hold->gpu_index = gpu_index;
		hold->bit = bit;
		if (bit == KFD_PREEMPT_HOLD_OPERATOR)
			hold->filep = call->targets.filep;
		if (bit != KFD_PREEMPT_HOLD_SELF)
			kfd_preempt_setter_init(&hold->setter, plan->target->right);
		hlist_add_head(&hold->process_node, &plan->holds);
	}
	plan->already = hlist_empty(&plan->holds);
	return any ? 0 : -ENODEV;
}

static int plan_resume(struct kfd_preempt_call *call, u32 i)
{
	struct kfd_preempt_plan *plan = &call->plans[i];
	struct kfd_process *p = plan->target->p;
	struct kfd_preempt_process_hold *hold;
	bool any = false;
	int ret = 0;
	u32 index;

	for (index = 0; index < p->n_pdds; index++)
		any |= is_on(&call->entries[i], p, index);
	plan->already = true;
	spin_lock(&hold_lock);
	hlist_for_each_entry(hold, &p->preempt.holds, process_node) {
		if (!is_ended(call, i, hold))
			continue;
		plan->already = false;
		if (hold->bit != KFD_PREEMPT_HOLD_SELF &&
		    hold->filep != call->targets.filep &&
		    !kfd_preempt_may_overrule(&hold->setter, plan->target->right))
			ret = -EPERM;
	}
	spin_unlock(&hold_lock);
	return any ? ret : -ENODEV;
}

/**
 * kfd_preempt_plan_holds - find what an entry changes for queues to come
 * @call: the call; the processes of it are locked
 * @i: number of the entry, which names a process
 *
 * Return: 0 or a negative errno.
 */
int kfd_preempt_plan_holds(struct kfd_preempt_call *call, u32 i)
{
	return call->entries[i].op == KFD_PREEMPT_OP_PREEMPT ? plan_preempt(call, i) :
							       plan_resume(call, i);
}

static void set_holds(struct kfd_preempt_call *call, u32 i)
{
	struct kfd_process *p = call->plans[i].target->p;
	struct kfd_preempt_process_hold *hold;
	struct hlist_node *next;

	lockdep_assert_held(&hold_lock);
	hlist_for_each_entry_safe(hold, next, &call->plans[i].holds, process_node) {
		hlist_del(&hold->process_node);
		hlist_add_head(&hold->process_node, &p->preempt.holds);
		if (hold->filep)
			hash_add(files, &hold->file_node, (unsigned long)hold->filep);
	}
}

static void end_holds(struct kfd_preempt_call *call, u32 i)
{
	struct kfd_process *p = call->plans[i].target->p;
	struct kfd_preempt_process_hold *hold;
	struct hlist_node *next;

	lockdep_assert_held(&hold_lock);
	hlist_for_each_entry_safe(hold, next, &p->preempt.holds, process_node)
		if (is_ended(call, i, hold))
			unlink_hold(hold);
}

/**
 * kfd_preempt_finish_holds - change what an entry changes for queues to come
 * @call: the call; the processes of it are locked, and its queues are done
 * @i: number of the entry, which names a process and has its result. The holds
 *	change if that is 0, or -ETIME of a stop
 *
 * Return: the holds that queues to come are born with on the GPUs of the entry.
 */
u32 kfd_preempt_finish_holds(struct kfd_preempt_call *call, u32 i)
{
	const struct kfd_preempt_switch_entry *e = &call->entries[i];
	struct kfd_process *p = call->plans[i].target->p;
	bool stops = e->op == KFD_PREEMPT_OP_PREEMPT;
	struct kfd_preempt_process_hold *hold;
	struct hlist_node *next;
	u32 bits = 0;

	spin_lock(&hold_lock);
	if (stops && (!e->result || e->result == -ETIME))
		set_holds(call, i);
	else if (!stops && !e->result)
		end_holds(call, i);
	hlist_for_each_entry(hold, &p->preempt.holds, process_node)
		if (is_on(e, p, hold->gpu_index))
			bits |= hold->bit;
	spin_unlock(&hold_lock);
	hlist_for_each_entry_safe(hold, next, &call->plans[i].holds, process_node)
		free_hold(hold);
	return bits;
}

/**
 * kfd_preempt_queue_born - hold a queue that is created while its process is held
 * @q: a new queue that is in no list yet; the caller holds the mutex of its process
 *
 * Return: 0 or -ENOMEM.
 */
int kfd_preempt_queue_born(struct queue *q)
{
	struct kfd_process_device *pdd = kfd_get_process_device_data(q->device, q->process);
	struct hlist_head *holds = &q->process->preempt.holds;
	struct kfd_preempt_process_hold *hold;
	HLIST_HEAD(records);
	u32 index, bits = 0, num = 0;

	if (!pdd || q->properties.type != KFD_QUEUE_TYPE_COMPUTE || hlist_empty(holds))
		return 0;
	index = kfd_preempt_gpu_index(pdd);
	spin_lock(&hold_lock);
	hlist_for_each_entry(hold, holds, process_node)
		num += hold->gpu_index == index && hold->filep;
	spin_unlock(&hold_lock);
	while (num && kfd_preempt_record_alloc_born(q, &records))
		num--;
	/* Until here files may have been closed, but no hold was added. */
	spin_lock(&hold_lock);
	hlist_for_each_entry(hold, holds, process_node) {
		if (num || hold->gpu_index != index)
			continue;
		bits |= hold->bit;
		if (hold->bit == KFD_PREEMPT_HOLD_STICKY)
			kfd_preempt_setter_copy(&q->preempt.sticky, &hold->setter);
		if (hold->filep)
			kfd_preempt_record_link_born(&records, hold->filep, &hold->setter);
	}
	spin_unlock(&hold_lock);
	kfd_preempt_record_free_born(&records);
	if (num)
		return -ENOMEM;
	q->properties.preempt_holds = bits;
	q->preempt.held_since = ktime_get();
	return 0;
}

/**
 * kfd_preempt_process_file_release - queues to come are not held by a closed file
 * @filep: the file; before its operator records are released
 */
void kfd_preempt_process_file_release(struct file *filep)
{
	struct kfd_preempt_process_hold *hold;
	struct hlist_node *next;

	spin_lock(&hold_lock);
	hash_for_each_possible_safe(files, hold, next, file_node, (unsigned long)filep)
		if (hold->filep == filep)
			unlink_hold(hold);
	spin_unlock(&hold_lock);
}

/**
 * kfd_preempt_process_holds_fini - a process is about to be freed
 * @p: the process
 */
void kfd_preempt_process_holds_fini(struct kfd_process *p)
{
	struct kfd_preempt_process_hold *hold;
	struct hlist_node *next;

	spin_lock(&hold_lock);
	hlist_for_each_entry_safe(hold, next, &p->preempt.holds, process_node)
		unlink_hold(hold);
	spin_unlock(&hold_lock);
}
