// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The entries of a call: their queues, and which hold each sets or clears. */

#include <linux/cred.h>

#include "kfd_preempt_compat.h"
#include "kfd_preempt_switch.h"

/**
 * kfd_preempt_is_self - whether a target is the caller itself
 * @call: the call
 * @target: a process of it
 *
 * Return: true if it is.
 */
bool kfd_preempt_is_self(const struct kfd_preempt_call *call,
			 const struct kfd_preempt_target *target)
{
	return target->p == call->targets.self;
}

/* Returns the queue of an entry, or NULL. */
static struct queue *find_queue(const struct kfd_preempt_call *call, u32 i)
{
	struct kfd_preempt_target *target = call->plans[i].target;

	if (!target || !target->locked || target->err)
		return NULL;
	if (call->plans[i].q)
		return call->plans[i].q;
	return pqm_get_user_queue(&target->p->pqm, call->entries[i].queue_id);
}

/* Whether the node supports what a stop requests beside its type. */
static int plan_extras(struct kfd_preempt_call *call, u32 i, struct queue *q)
{
	struct kfd_preempt_req *req = call->plans[i].req;
	u64 caps = kfd_preempt_node_caps(q->device->dqm);
	bool copy = call->flags & KFD_PREEMPT_SWITCH_CHECKPOINT;

	if ((call->flags & KFD_PREEMPT_SWITCH_FAST) &&
	    !(caps & KFD_PREEMPT_CAP_FAST))
		return -EOPNOTSUPP;
	if (copy && !(caps & KFD_PREEMPT_CAP_CHECKPOINT))
		return -EOPNOTSUPP;
	if (kfd_preempt_checkpoint_mode > 1)
		copy = caps & KFD_PREEMPT_CAP_CHECKPOINT;
	if (!copy)
		return 0;
	req->checkpoint = kfd_preempt_checkpoint_alloc(q);
	return req->checkpoint ? 0 : -ENOMEM;
}

/**
 * kfd_preempt_take_over - make the caller the owner of a STICKY hold
 * @sticky: whose hold it is
 * @right: what allows the caller to act on the process
 *
 * A hold that a tenant has set is not a hold of the host's operator: a caller
 * with more rights that requests the same hold becomes its owner.
 */
void kfd_preempt_take_over(struct kfd_preempt_setter *sticky, enum kfd_preempt_right right)
{
	if (right == KFD_PREEMPT_BY_CAPABILITY && sticky->user_ns &&
	    (sticky->right != right || sticky->user_ns != current_user_ns()) &&
	    kfd_preempt_may_overrule(sticky, right)) {
		kfd_preempt_setter_fini(sticky);
		kfd_preempt_setter_init(sticky, right);
	}
}

static bool already_sticky(struct kfd_preempt_call *call, u32 i, struct queue *q)
{
	if (!(READ_ONCE(q->properties.preempt_holds) & KFD_PREEMPT_HOLD_STICKY))
		return false;
	kfd_preempt_take_over(&q->preempt.sticky, call->plans[i].target->right);
	return true;
}

/* Plan a PREEMPT: the hold that it sets, and whether the caller may set it. */
static int plan_preempt(struct kfd_preempt_call *call, u32 i, struct queue *q)
{
	struct kfd_preempt_req *req = call->plans[i].req;
	struct kfd_preempt_plan *plan = &call->plans[i];
	struct file *filep = call->targets.filep;
	bool already;

	req->type = call->entries[i].preempt_type;
	if (kfd_preempt_is_self(call, plan->target)) {
		req->set = KFD_PREEMPT_HOLD_SELF;
		already = READ_ONCE(q->properties.preempt_holds) &
			  KFD_PREEMPT_HOLD_SELF;
	} else if (!kfd_preempt_sdma && kfd_preempt_is_sdma(q)) {
		/*
		 * Needs a parameter until hardware shows that a long copy stops
		 * in time.
		 */
		return -EOPNOTSUPP;
	} else if (req->type == KFD_PREEMPT_TYPE_RESET) {
		/* An operator may preempt a queue, not destroy its work. */
		return -EPERM;
	} else if (call->flags & KFD_PREEMPT_SWITCH_STICKY) {
		req->set = KFD_PREEMPT_HOLD_STICKY;
		already = already_sticky(call, i, q);
		plan->set_sticky = !already;
	} else {
		req->set = KFD_PREEMPT_HOLD_OPERATOR;
		already = kfd_preempt_record_exists(filep, q);
	}

	if (call->flags & KFD_PREEMPT_SWITCH_YIELD_MEMORY) {
		if (!(kfd_preempt_node_caps(q->device->dqm) & KFD_PREEMPT_CAP_YIELD_MEMORY))
			return -EOPNOTSUPP;
		req->moves = kfd_get_process_device_data(q->device, q->process);
	}
	if (already) {
		/* A repeated PREEMPT waits for a pending stop. */
		return q->preempt.hw_pending ? 0 : -EALREADY;
	}
	if (req->set == KFD_PREEMPT_HOLD_OPERATOR) {
		plan->add = kfd_preempt_record_alloc(filep, q, plan->target->right);
		if (!plan->add)
			return -ENOMEM;
	}
	return plan_extras(call, i, q);
}

/* Plan a RESUME with FORCE, which clears all holds of operators. */
static int plan_force(struct kfd_preempt_call *call, u32 i, struct queue *q)
{
	enum kfd_preempt_right right = call->plans[i].target->right;
	u32 holds = READ_ONCE(q->properties.preempt_holds);
	struct kfd_preempt_req *req = call->plans[i].req;

	req->clear = holds & KFD_PREEMPT_OPERATOR_HOLDS;
	if (!req->clear)
		return -EALREADY;
	if (!kfd_preempt_records_overrulable(call->targets.filep, q, right) ||
	    !kfd_preempt_may_overrule(&q->preempt.sticky, right))
		return -EPERM;
	call->plans[i].drop_all = true;
	call->plans[i].drop_sticky = true;
	return 0;
}

/* Plan a RESUME: the holds that it clears. */
static int plan_resume(struct kfd_preempt_call *call, u32 i, struct queue *q)
{
	struct kfd_preempt_req *req = call->plans[i].req;
	struct kfd_preempt_plan *plan = &call->plans[i];
	struct file *filep = call->targets.filep;
	u32 holds = READ_ONCE(q->properties.preempt_holds);

	if (kfd_preempt_is_self(call, plan->target)) {
		req->clear = holds & KFD_PREEMPT_HOLD_SELF;
		return req->clear ? 0 : -EALREADY;
	}
	if (call->flags & KFD_PREEMPT_SWITCH_FORCE)
		return plan_force(call, i, q);
	if (call->flags & KFD_PREEMPT_SWITCH_STICKY) {
		req->clear = holds & KFD_PREEMPT_HOLD_STICKY;
		if (!req->clear)
			return -EALREADY;
		plan->drop_sticky = true;
		return kfd_preempt_may_overrule(&q->preempt.sticky,
						plan->target->right) ? 0 : -EPERM;
	}
	if (!kfd_preempt_record_exists(filep, q))
		return -EALREADY;
	plan->drop_own = true;
	if (kfd_preempt_record_is_last(filep, q))
		req->clear = KFD_PREEMPT_HOLD_OPERATOR;
	return 0;
}

/**
 * kfd_preempt_plan_entry - find what an entry changes, or why it fails
 * @call: the call; the processes of it are locked
 * @i: number of the entry
 *
 * Sets the result of the entry to 0 if there is something to do; else its request is
 * skipped.
 */
void kfd_preempt_plan_entry(struct kfd_preempt_call *call, u32 i)
{
	struct kfd_preempt_target *target = call->plans[i].target;
	struct kfd_preempt_switch_entry *e = &call->entries[i];
	struct kfd_preempt_req *req = call->plans[i].req;
	struct queue *q = find_queue(call, i);
	u64 wanted = e->queue_uid;

	e->queue_uid = 0;
	req->q = q;
	req->skip = true;
	if (!target)
		return; /* find_targets() has set the result */
	e->result = target->err ? target->err : -ENOENT;
	if (!q)
		return;

	e->queue_uid = kfd_preempt_queue_uid(q);
	if ((call->flags & KFD_PREEMPT_SWITCH_MATCH_UID) &&
	    wanted != e->queue_uid) {
		e->result = -ESTALE;
		return;
	}
	if (READ_ONCE(q->properties.preempt_holds) & KFD_PREEMPT_HOLD_DEAD) {
		e->result = -EIO;
		return;
	}

	e->result = e->op == KFD_PREEMPT_OP_PREEMPT ? plan_preempt(call, i, q) :
						     plan_resume(call, i, q);
	/* A queue that is held already may still have memory in VRAM. */
	if (e->result && e->result != -EALREADY)
		req->moves = NULL;
	if (e->result) {
		/* Its process may have other queues. */
		call->plans[i].already = call->plans[i].q && e->result == -EALREADY;
		if (call->plans[i].already)
			e->result = 0;
		return;
	}
	req->skip = false;
	req->mm = target->mm;
}
