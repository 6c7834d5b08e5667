/* SPDX-License-Identifier: GPL-2.0-only */
/* The well-formed SWITCH of fuzz_ioctls: several targets, stops and starts, all flags. */
#ifndef KFD_PREEMPT_FUZZ_SWITCH_H
#define KFD_PREEMPT_FUZZ_SWITCH_H

#include "fuzz_good.h"

struct composed {
	struct subject subject[ENTRIES_TRIED];
	uint32_t common;	/* owner that the call names */
	bool common_used, self_used, others_used;	/* others: than FORCED_OWNER */
};

static inline bool is_there(const struct fuzz_call *call, const struct composed *c, uint32_t owner,
			    uint32_t queue_id)
{
	uint32_t i;

	for (i = 0; i < call->num; i++)
		if (c->subject[i].owner == owner && call->entry[i].queue_id == queue_id)
			return true;
	return false;
}

static inline void compose_entry(struct worker *w, struct composed *c, uint32_t file)
{
	struct fuzz_call *call = &w->call;
	struct kfd_preempt_switch_entry *e = &call->entry[call->num];
	bool own_target = random_one_in(&w->random, 4);
	uint32_t owner = own_target ? random_below(&w->random, OWNERS) : c->common;
	uint32_t queue = pick_queue(w, owner), id = queue_id_of(w, owner, queue);

	if (is_there(call, c, owner, id))
		return;
	memset(e, 0, sizeof(*e));
	e->queue_id = id;
	e->target_pid = own_target ? w->world->owner[owner].pid : 0;
	e->op = (uint16_t)pick_op(w, owner, queue, file);
	if (e->op == KFD_PREEMPT_OP_PREEMPT)
		e->preempt_type = (uint16_t)pick_type(w, queue < QUEUES ?
						      &w->world->owner[owner].queue[queue] : NULL);
	c->subject[call->num] = (struct subject){ .owner = owner, .queue = queue };
	c->common_used |= !own_target;
	c->self_used |= owner == w->slot;
	c->others_used |= owner != FORCED_OWNER;
	call->num++;
}

static inline uint32_t pick_flags(struct worker *w, const struct composed *c)
{
	uint32_t flags = 0;

	if (random_one_in(&w->random, 4))
		flags |= KFD_PREEMPT_SWITCH_ALL_OR_NOTHING;
	if (random_one_in(&w->random, 4))
		flags |= KFD_PREEMPT_SWITCH_MATCH_UID;
	if (random_one_in(&w->random, 8))
		flags |= KFD_PREEMPT_SWITCH_STICKY;
	if (random_one_in(&w->random, 4) && !c->others_used)
		flags |= KFD_PREEMPT_SWITCH_FORCE;
	return flags | pick_extras(w, KFD_PREEMPT_SWITCH_FAST, KFD_PREEMPT_SWITCH_CHECKPOINT);
}

static inline uint32_t expect_entry(struct worker *w, struct composed *c, uint32_t i, uint32_t file)
{
	struct kfd_preempt_switch_entry *e = &w->call.entry[i];
	struct subject *subject = &c->subject[i];
	const struct world_queue *queue = &w->world->owner[subject->owner].queue[subject->queue];
	bool self = subject->owner == w->slot;
	uint32_t flags = w->call.args.batch.flags;

	if (!self && !w->may_operate)
		return MAY(EPERM);
	if (subject->queue >= QUEUES)
		return MAY(ENOENT);
	if (flags & KFD_PREEMPT_SWITCH_MATCH_UID) {
		bool wrong = random_one_in(&w->random, 4);

		e->queue_uid = wrong ? random_next(&w->random) : queue->uid;
		if (wrong && queue->kind != QUEUE_LOOSE)
			return MAY(ESTALE);
	}
	return self ? expect_self(w, subject->queue, e->op, e->preempt_type, &subject->late) :
		      expect_operator(w, subject, file, flags, e->op, e->preempt_type,
				      &subject->late);
}

/* One that must fail early takes all others along; else one that must fail late does. */
static inline void expect_all_or_nothing(struct fuzz_call *call, const struct composed *c)
{
	bool early = false, late = false, sure = true;
	uint32_t i;

	for (i = 0; i < call->num; i++) {
		uint32_t may = call->entry_may[i];

		sure &= !(may & (may - 1));
		if (c->subject[i].late)
			late = true;
		else
			early |= !(may & MAY(OK));
	}
	for (i = 0; i < call->num; i++) {
		bool passes = call->entry_may[i] & MAY(OK);

		if (!sure)
			call->entry_may[i] |= passes || c->subject[i].late ? MAY(EBUSY) : 0;
		else if (early && (passes || c->subject[i].late))
			call->entry_may[i] = MAY(EBUSY);
		else if (late && passes)
			call->entry_may[i] = MAY(EBUSY);
	}
}

/* Whether each answer is known: then the model need not read results that can't be written. */
static inline bool all_is_known(const struct fuzz_call *call)
{
	uint32_t i;

	for (i = 0; i < call->num; i++)
		if (call->entry_may[i] & (call->entry_may[i] - 1))
			return false;
	return call->may == MAY(OK);
}

static inline void good_switch(struct worker *w)
{
	struct composed c = { .common = random_below(&w->random, OWNERS) };
	uint32_t file = random_below(&w->random, FILES), tries, i;
	struct fuzz_call *call = &w->call;
	struct kfd_ioctl_preempt_switch_args *args = &call->args.batch;
	int borrowed, ret;

	fuzz_call_init(call, CALL_SWITCH, w->file[file]);
	if (random_one_in(&w->random, 2) && w->slot < OWNERS)
		c.common = w->slot;
	call->num = 0;
	call->may = MAY(OK);
	for (tries = 1 + random_below(&w->random, ENTRIES_TRIED); tries; tries--)
		compose_entry(w, &c, file);
	args->num_entries = call->num;
	/* On a busy machine other processes may keep themselves locked for longer than 100 ms. */
	args->timeout_ms = 20000;
	args->flags = pick_flags(w, &c);
	args->flags |= name_target(w, c.common, &args->target_fd, &args->target_pid, &borrowed);
	for (i = 0; i < call->num; i++)
		call->entry_may[i] = expect_entry(w, &c, i, file);
	if (args->flags & KFD_PREEMPT_SWITCH_ALL_OR_NOTHING)
		expect_all_or_nothing(call, &c);
	if (c.common_used && c.common != w->slot && !w->may_operate && call->may == MAY(OK))
		call->may = MAY(EPERM);
	if (c.self_used && args->flags & (KFD_PREEMPT_SWITCH_STICKY | KFD_PREEMPT_SWITCH_FORCE))
		call->may = MAY(EINVAL);
	if (random_one_in(&w->random, 16) && all_is_known(call)) {
		call->entries_read_only = true;
		call->may = MAY(EFAULT);
	}

	ret = make_call(w);
	for (i = 0; i < call->num && (!ret || (ret == -EFAULT && call->entries_read_only)); i++)
		if (ret ? call->entry_may[i] == MAY(OK) : !call->entry_after[i].result)
			learn(w, &c.subject[i], file, args->flags, call->entry[i].op);
	if (borrowed >= 0)
		close(borrowed);
}

/*
 * Stops or starts a whole process: the one whose records of operators are not known exactly.
 * Without the HWS one thread alone uses its queue to drain.
 */
static inline void good_process(struct worker *w)
{
	struct fuzz_call *call = &w->call;
	struct kfd_ioctl_preempt_switch_args *args = &call->args.batch;
	struct kfd_preempt_switch_entry *e = &call->entry[0];
	struct composed c = { .common = FORCED_OWNER };
	int borrowed;

	if (w->slot == FORCED_OWNER || no_hws(w) || !w->world->gpu_facts.gpu_id)
		return;
	fuzz_call_init(call, CALL_SWITCH, w->file[random_below(&w->random, FILES)]);
	call->may = w->may_operate ? MAY(OK) : MAY(EPERM);
	call->entry_may[0] = MAY(OK) | MAY(EALREADY);
	e->queue_id = KFD_PREEMPT_ALL_QUEUES;
	e->gpu_id = random_one_in(&w->random, 2) ? w->world->gpu_facts.gpu_id : 0;
	if (random_one_in(&w->random, 2)) {
		e->op = KFD_PREEMPT_OP_RESUME;
		e->preempt_type = 0;
	}
	args->timeout_ms = 20000;
	args->flags = pick_flags(w, &c);
	args->flags |= name_target(w, FORCED_OWNER, &args->target_fd, &args->target_pid, &borrowed);
	make_call(w);
	if (borrowed >= 0)
		close(borrowed);
}

#endif
