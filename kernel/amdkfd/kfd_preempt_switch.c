// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * Runs a preemption call: validates it, locks its processes, orders its
 * entries, reports results.
 */

#include <linux/capability.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "kfd_preempt_compat.h"
#include "kfd_preempt_switch.h"
#include "kfd_preempt_trace.h"

#define TARGET_FLAGS						\
	(KFD_PREEMPT_SWITCH_TARGET_FD |				\
	 KFD_PREEMPT_SWITCH_TARGET_PID)

#define SWITCH_FLAGS						\
	(KFD_PREEMPT_SWITCH_ALL_OR_NOTHING |			\
	 KFD_PREEMPT_SWITCH_MATCH_UID |				\
	 KFD_PREEMPT_SWITCH_FAST |				\
	 KFD_PREEMPT_SWITCH_CHECKPOINT |			\
	 TARGET_FLAGS |						\
	 KFD_PREEMPT_SWITCH_STICKY |				\
	 KFD_PREEMPT_SWITCH_FORCE |				\
	 KFD_PREEMPT_SWITCH_YIELD_MEMORY)

static int check_entry(const struct kfd_preempt_switch_entry *e)
{
	bool whole = e->queue_id == KFD_PREEMPT_ALL_QUEUES;

	if (e->reserved || (e->gpu_id && !whole))
		return -EINVAL;
	/* Queues to come cannot be reset. */
	if (whole && e->preempt_type == KFD_PREEMPT_TYPE_RESET)
		return -EINVAL;
	if (e->op == KFD_PREEMPT_OP_PREEMPT)
		return e->preempt_type > KFD_PREEMPT_TYPE_SAVE ? -EINVAL : 0;
	if (e->op != KFD_PREEMPT_OP_RESUME || e->preempt_type)
		return -EINVAL;
	return 0;
}

/* Reject flags that no node of the caller advertises, like unknown ones. */
static u32 known_flags(u64 caps)
{
	u32 flags = SWITCH_FLAGS;

	if (!(caps & KFD_PREEMPT_CAP_FAST))
		flags &= ~KFD_PREEMPT_SWITCH_FAST;
	if (!(caps & KFD_PREEMPT_CAP_CHECKPOINT))
		flags &= ~KFD_PREEMPT_SWITCH_CHECKPOINT;
	if (!(caps & KFD_PREEMPT_CAP_YIELD_MEMORY))
		flags &= ~KFD_PREEMPT_SWITCH_YIELD_MEMORY;
	return flags;
}

static int check_args(const struct kfd_process *p,
		      const struct kfd_ioctl_preempt_switch_args *args)
{
	if (args->flags & ~known_flags(kfd_preempt_any_caps(p)) || args->reserved)
		return -EINVAL;
	if ((args->flags & TARGET_FLAGS) == TARGET_FLAGS)
		return -EINVAL;
	if (args->target_fd && !(args->flags & KFD_PREEMPT_SWITCH_TARGET_FD))
		return -EINVAL;
	if (args->target_pid && !(args->flags & KFD_PREEMPT_SWITCH_TARGET_PID))
		return -EINVAL;
	if (args->timeout_ms > KFD_PREEMPT_MAX_TIMEOUT_MS || !args->num_entries)
		return -EINVAL;
	if (args->num_entries > KFD_PREEMPT_MAX_BATCH)
		return -E2BIG;
	return 0;
}

/* Returns -EINVAL if the queues of a call are on several nodes. */
static int check_one_node(const struct kfd_preempt_call *call)
{
	struct device_queue_manager *dqm = NULL;
	struct queue *q;
	u32 i;

	for (i = 0; i < call->batch.num; i++) {
		q = call->batch.reqs[i].q;
		if (!q)
			continue;
		if (dqm && q->device->dqm != dqm)
			return -EINVAL;
		dqm = q->device->dqm;
	}
	return 0;
}

static void drop_entry(struct kfd_preempt_call *call, u32 i, int result)
{
	call->plans[i].req->skip = true;
	call->entries[i].result = result;
}

/*
 * With ALL_OR_NOTHING: if an entry has failed, drops those that are not done: all of
 * them, or the starts. Returns true if it drops them.
 */
static bool drop_rest(struct kfd_preempt_call *call, bool starts_only)
{
	const struct kfd_preempt_req *req;
	bool failed = false;
	u32 i;

	for (i = 0; i < call->batch.num; i++) {
		req = call->plans[i].req;
		failed |= call->entries[i].result || req->result || req->memory_result;
	}
	if (!failed || !call->batch.all_or_nothing)
		return false;
	for (i = 0; i < call->batch.num; i++)
		if (!call->plans[i].req->skip &&
		    (!starts_only || call->entries[i].op == KFD_PREEMPT_OP_RESUME))
			drop_entry(call, i, -EBUSY);
	return true;
}

static void finish_owners(struct kfd_preempt_plan *plan, struct file *filep,
			  const struct kfd_preempt_req *req)
{
	/* A hold is also set if its stop is not confirmed yet. */
	bool held = !req->result || req->result == -ETIME;

	if (plan->add && held) {
		kfd_preempt_record_link(plan->add);
		plan->add = NULL;
	}
	if (plan->set_sticky && held) {
		kfd_preempt_setter_fini(&req->q->preempt.sticky);
		kfd_preempt_setter_init(&req->q->preempt.sticky, plan->target->right);
	}
	if (req->result)
		return;
	if (plan->drop_all)
		kfd_preempt_record_drop_all(req->q);
	else if (plan->drop_own)
		kfd_preempt_record_drop(filep, req->q);
	if (plan->drop_sticky)
		kfd_preempt_setter_fini(&req->q->preempt.sticky);
}

static void finish_entry(struct kfd_preempt_call *call, u32 i)
{
	struct kfd_preempt_switch_entry *e = &call->entries[i];
	struct kfd_preempt_req *req = call->plans[i].req;
	struct queue *q = req->q;

	if (!req->skip) {
		e->result = req->result;
		e->latency_ns = req->latency_ns;
		finish_owners(&call->plans[i], call->targets.filep, req);
	}
	if (req->set && req->moves && (!e->result || e->result == -EALREADY)) {
		if (req->memory_result)
			e->result = req->memory_result;
		else if (req->moves->preempt.move.bytes)
			e->result = 0;
	}
	kfd_preempt_record_free(call->plans[i].add);
	kvfree(req->checkpoint);

	if (!q)
		return;
	dqm_lock(q->device->dqm);
	e->state = kfd_preempt_queue_state(q);
	e->holds = q->properties.preempt_holds;
	dqm_unlock(q->device->dqm);
}

/* Drops entries whose memory cannot move, except for stops that are done. */
static void drop_failed_moves(struct kfd_preempt_call *call, bool starts_only)
{
	u32 i;

	for (i = 0; i < call->batch.num; i++)
		if (call->plans[i].req->memory_result &&
		    (!starts_only || call->entries[i].op == KFD_PREEMPT_OP_RESUME))
			drop_entry(call, i, call->plans[i].req->memory_result);
}

/*
 * Memory leaves VRAM after the stops and returns before the starts. Queues without a
 * hold are evicted together with the stops and restored together with the starts.
 */
static void run_with_memory(struct kfd_preempt_call *call)
{
	struct kfd_preempt_batch stops = call->batch, starts = call->batch;

	stops.num = call->num_stops;
	stops.evicts = true;
	kfd_preempt_run(&stops);
	kfd_preempt_memory_move(&stops);
	kfd_preempt_memory_results(&call->batch);
	drop_failed_moves(call, true);
	drop_rest(call, true);
	starts.reqs += call->num_stops;
	starts.num -= call->num_stops;
	starts.fast = false;
	kfd_preempt_run(&starts);
	call->batch.hw_ns = stops.hw_ns + starts.hw_ns;
}

/* Plans all entries. The stops come first, so that each operation is a part of the batch. */
static void plan_entries(struct kfd_preempt_call *call)
{
	struct kfd_preempt_req *stop = call->batch.reqs, *start;
	struct kfd_preempt_switch_entry *e;
	u32 i;

	call->num_stops = 0;
	for (i = 0; i < call->batch.num; i++)
		call->num_stops += call->entries[i].op == KFD_PREEMPT_OP_PREEMPT;
	start = stop + call->num_stops;
	for (i = 0; i < call->batch.num; i++) {
		e = &call->entries[i];
		e->state = 0;
		e->holds = 0;
		e->latency_ns = 0;
		call->plans[i].req = e->op == KFD_PREEMPT_OP_PREEMPT ? stop++ : start++;
		kfd_preempt_plan_entry(call, i);
	}
}

static int run_locked(struct kfd_preempt_call *call)
{
	bool memory;
	int ret = 0;
	u32 i;

	plan_entries(call);
	memory = kfd_preempt_memory_plan(&call->batch);
	drop_failed_moves(call, false);
	if (call->batch.all_or_nothing)
		ret = check_one_node(call);
	for (i = 0; ret && i < call->batch.num; i++)
		call->batch.reqs[i].skip = true;
	if (ret || drop_rest(call, false))
		kfd_preempt_memory_cancel(&call->batch);
	else if (memory)
		run_with_memory(call);
	else
		kfd_preempt_run(&call->batch);
	for (i = 0; i < call->batch.num; i++)
		finish_entry(call, i);
	for (i = 0; i < call->targets.num; i++)
		if (call->targets.list[i].locked)
			kfd_preempt_memory_look(call->targets.list[i].p);
	return ret;
}

static int lock_and_run(struct kfd_preempt_call *call)
{
	struct kfd_preempt_whole *whole;
	int ret;

	ret = kfd_preempt_targets_lock(&call->targets, call->batch.timeout_ms);
	if (ret)
		return ret;
	ret = call->common ? call->common->err : 0;
	/* An entry of a busy process returns that itself. */
	if (!ret || ret == -EBUSY)
		ret = kfd_preempt_widen(call, &whole);
	if (!ret) {
		ret = run_locked(call);
		kfd_preempt_narrow(call, whole, ret);
	}
	kfd_preempt_targets_unlock(&call->targets);
	return ret;
}

static u32 count_done(const struct kfd_preempt_call *call)
{
	u32 i, done = 0;

	for (i = 0; i < call->batch.num; i++)
		done += !call->entries[i].result;
	return done;
}

/* Returns 0 if every entry was processed. */
static int run_call(struct kfd_preempt_call *call)
{
	ktime_t start = ktime_get();
	int ret;

	/* A short grace period affects every tenant of the node. */
	call->batch.fast = call->flags & KFD_PREEMPT_SWITCH_FAST &&
			   capable(CAP_SYS_PTRACE);
	call->batch.all_or_nothing =
		call->flags & KFD_PREEMPT_SWITCH_ALL_OR_NOTHING;

	trace_kfd_preempt_switch_begin(call->flags, call->targets.num,
				       call->batch.num);
	ret = lock_and_run(call);
	if (trace_kfd_preempt_switch_end_enabled())
		trace_kfd_preempt_switch_end(ret, ret ? 0 : count_done(call),
					     call->batch.num,
					     ktime_to_ns(ktime_sub(ktime_get(), start)),
					     call->batch.hw_ns);
	return ret;
}

/**
 * kfd_preempt_do_own_queue - PREEMPT_QUEUE and RESUME_QUEUE: one own queue
 * @filep: file of /dev/kfd
 * @p: the caller's process
 * @op: KFD_PREEMPT_OP_*
 * @args: arguments of PREEMPT_QUEUE; for RESUME_QUEUE only the queue id is set
 *
 * Return: 0 or a negative errno, see kfd_preempt_uapi.h.
 */
int kfd_preempt_do_own_queue(struct file *filep, struct kfd_process *p, u32 op,
			     const struct kfd_ioctl_preempt_queue_args *args)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = args->queue_id,
		.op = op,
		.preempt_type = args->preempt_type,
	};
	struct kfd_preempt_target target = {};
	struct kfd_preempt_plan plan = { .target = &target };
	struct kfd_preempt_req req = {};
	struct kfd_preempt_call call = {
		.entries = &entry,
		.plans = &plan,
		.targets = { .self = p, .filep = filep, .list = &target },
		.batch = {
			.reqs = &req,
			.num = 1,
			.timeout_ms = args->timeout_ms,
		},
	};
	int ret;

	if (args->flags & KFD_PREEMPT_FLAG_FAST)
		call.flags |= KFD_PREEMPT_SWITCH_FAST;
	if (args->flags & KFD_PREEMPT_FLAG_CHECKPOINT)
		call.flags |= KFD_PREEMPT_SWITCH_CHECKPOINT;
	if (args->flags & ~(KFD_PREEMPT_FLAG_FAST | KFD_PREEMPT_FLAG_CHECKPOINT) ||
	    call.flags & ~known_flags(kfd_preempt_any_caps(p)) ||
	    args->preempt_type > KFD_PREEMPT_TYPE_SAVE ||
	    args->timeout_ms > KFD_PREEMPT_MAX_TIMEOUT_MS)
		return -EINVAL;

	call.common = kfd_preempt_target_add(&call.targets, 0, 0, 0);
	ret = run_call(&call);
	kfd_preempt_targets_put(&call.targets);
	return ret ? ret : entry.result;
}

/* Finds the target of the whole call, or that of one entry. */
static int find_target(struct kfd_preempt_call *call, u32 i,
		       const struct kfd_ioctl_preempt_switch_args *args)
{
	struct kfd_preempt_switch_entry *e = &call->entries[i];
	struct kfd_preempt_target *target = call->common;

	if (e->target_pid) {
		target = kfd_preempt_target_add(&call->targets,
						KFD_PREEMPT_SWITCH_TARGET_PID,
						0, e->target_pid);
		if (IS_ERR(target)) {
			e->result = PTR_ERR(target);
			return 0;
		}
	} else if (!target) {
		target = kfd_preempt_target_add(&call->targets, args->flags,
						args->target_fd,
						args->target_pid);
		if (IS_ERR(target))
			return PTR_ERR(target);
		call->common = target;
	}
	target->preempts |= e->op == KFD_PREEMPT_OP_PREEMPT;
	call->plans[i].target = target;
	call->plans[i].whole = e->queue_id == KFD_PREEMPT_ALL_QUEUES;
	return 0;
}

static int find_targets(struct kfd_preempt_call *call,
			const struct kfd_ioctl_preempt_switch_args *args)
{
	u32 i, j;
	int ret;

	for (i = 0; i < args->num_entries; i++) {
		ret = find_target(call, i, args);
		if (ret)
			return ret;
		for (j = 0; j < i && call->plans[i].target; j++)
			if (call->plans[j].target == call->plans[i].target &&
			    kfd_preempt_overlap(&call->entries[j], &call->entries[i]))
				return -EINVAL;
	}
	for (i = 0; i < call->targets.num; i++) {
		/*
		 * With FORCE a process could clear the holds of its operators.
		 */
		if (kfd_preempt_is_self(call, &call->targets.list[i]) &&
		    args->flags & (KFD_PREEMPT_SWITCH_STICKY |
				   KFD_PREEMPT_SWITCH_FORCE))
			return -EINVAL;
		kfd_preempt_target_authorize(&call->targets, &call->targets.list[i]);
	}
	return 0;
}

static int switch_entries(struct kfd_preempt_call *call,
			  struct kfd_ioctl_preempt_switch_args *args)
{
	size_t size = array_size(args->num_entries, sizeof(*call->entries));
	int ret;

	ret = find_targets(call, args);
	if (!ret)
		ret = run_call(call);
	kfd_preempt_targets_put(&call->targets);
	if (ret)
		return ret;

	args->num_done = count_done(call);
	args->hw_ns = call->batch.hw_ns;
	if (copy_to_user(u64_to_user_ptr(args->entries_ptr), call->entries, size))
		return -EFAULT;
	return 0;
}

/**
 * kfd_preempt_do_switch - SWITCH: stop and start queues of several processes
 * @filep: file of /dev/kfd, owner of operator holds
 * @p: the caller's process
 * @data: struct kfd_ioctl_preempt_switch_args, validated here
 *
 * The whole call fails only before anything has changed; from then on each
 * entry carries its own result.
 *
 * Return: 0 if every entry was processed, or a negative errno.
 */
int kfd_preempt_do_switch(struct file *filep, struct kfd_process *p, void *data)
{
	struct kfd_ioctl_preempt_switch_args *args = data;
	struct kfd_preempt_call call = {
		.flags = args->flags,
		.targets = { .self = p, .filep = filep, .fops = filep->f_op },
		.batch = {
			.num = args->num_entries,
			.timeout_ms = args->timeout_ms,
		},
	};
	u32 i;
	int ret;

	ret = check_args(p, args);
	if (ret)
		return ret;
	call.entries = vmemdup_array_user(u64_to_user_ptr(args->entries_ptr),
					  args->num_entries,
					  sizeof(*call.entries));
	if (IS_ERR(call.entries))
		return PTR_ERR(call.entries);
	for (i = 0; !ret && i < args->num_entries; i++)
		ret = check_entry(&call.entries[i]);
	if (ret)
		goto out_entries;

	ret = -ENOMEM;
	call.batch.reqs = kvcalloc(args->num_entries, sizeof(*call.batch.reqs),
				   GFP_KERNEL);
	call.plans = kvcalloc(args->num_entries, sizeof(*call.plans), GFP_KERNEL);
	call.targets.list = kvcalloc(args->num_entries,
				     sizeof(*call.targets.list), GFP_KERNEL);
	if (call.batch.reqs && call.plans && call.targets.list)
		ret = switch_entries(&call, args);

	kvfree(call.targets.list);
	kvfree(call.plans);
	kvfree(call.batch.reqs);
out_entries:
	kvfree(call.entries);
	return ret;
}
