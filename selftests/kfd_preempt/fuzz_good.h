/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of fuzz_ioctls that are well formed, and a model of the holds that says what they answer.
 *
 * Known exactly is a SELF hold on a queue of which one thread makes all SELF calls, and what one
 * file holds, for a file is used by one thread alone. Other holds on the same queue change neither.
 */
#ifndef KFD_PREEMPT_FUZZ_GOOD_H
#define KFD_PREEMPT_FUZZ_GOOD_H

#include <sys/syscall.h>

#include "fuzz_bad.h"

#define FILES 2u
#define FORCED_OWNER 0u		/* the only one whose operators are shaken off */
#define ENTRIES_TRIED 8u

struct worker {
	struct world *world;
	char name[24];
	struct random random;
	uint32_t slot;		/* its owner, or OWNERS for a mere operator */
	uint32_t thread;	/* of its owner; queue i is that of thread i % 2 */
	bool may_operate, inherited;
	uint64_t calls;		/* made so far */
	int file[FILES];
	bool held[QUEUES];			/* SELF holds */
	bool record[FILES][OWNERS][QUEUES];
	struct fenced_buffer args_buffer, entries_buffer;
	struct fuzz_call call;
};

/* The queue that an entry of a well-formed call names. */
struct subject {
	uint32_t owner;
	uint32_t queue;		/* QUEUES: none */
	bool late;		/* refused only after all entries were looked at */
};

static inline bool no_hws(const struct worker *w)
{
	return w->world->facts.sched_mode == KFD_PREEMPT_SCHED_NO_HWS;
}

/* A stop that only the hardware part of the driver refuses. */
static inline uint32_t refused_type(const struct worker *w, const struct world_queue *queue,
				    uint32_t type)
{
	if (type == KFD_PREEMPT_TYPE_RESET)
		return no_hws(w) && !queue->sdma ? MAY(EPERM) : MAY(EOPNOTSUPP);
	return type == KFD_PREEMPT_TYPE_DRAIN && !no_hws(w) ? MAY(EOPNOTSUPP) : 0;
}

static inline uint32_t expect_self(const struct worker *w, uint32_t index, uint32_t op,
				   uint32_t type, bool *late)
{
	const struct world_queue *queue = &w->world->owner[w->slot].queue[index];
	bool held = w->held[index];
	uint32_t refused = refused_type(w, queue, type);

	if (queue->kind == QUEUE_LOOSE)
		return documented_entry | MAY(OK);
	if (op == KFD_PREEMPT_OP_RESUME)
		return held ? MAY(OK) : MAY(EALREADY);
	if (held)
		return MAY(EALREADY);
	*late = refused;
	return refused ? refused : MAY(OK);
}

static inline uint32_t expect_operator(const struct worker *w, const struct subject *subject,
				       uint32_t file, uint32_t flags, uint32_t op, uint32_t type,
				       bool *late)
{
	const struct world_queue *queue = &w->world->owner[subject->owner].queue[subject->queue];
	bool record = w->record[file][subject->owner][subject->queue];
	bool exact = queue->kind == QUEUE_EXACT && subject->owner != FORCED_OWNER;
	bool stop = op == KFD_PREEMPT_OP_PREEMPT;
	uint32_t refused = stop ? refused_type(w, queue, type) : 0;

	if (!w->may_operate)
		return MAY(EPERM);
	if (queue->kind == QUEUE_LOOSE)
		return documented_entry | MAY(OK);
	if (stop && type == KFD_PREEMPT_TYPE_RESET)
		return MAY(EPERM);
	*late = refused;
	if (!exact || flags & (KFD_PREEMPT_SWITCH_STICKY | KFD_PREEMPT_SWITCH_FORCE))
		return (refused ? refused : MAY(OK)) | MAY(EALREADY);
	if (record == stop) {
		*late = false;
		return MAY(EALREADY);
	}
	return refused ? refused : MAY(OK);
}

/* A call that changed something, told to the model. */
static inline void learn(struct worker *w, const struct subject *subject, uint32_t file,
			 uint32_t flags, uint32_t op)
{
	bool stop = op == KFD_PREEMPT_OP_PREEMPT;

	if (subject->queue >= QUEUES)
		return;
	if (subject->owner == w->slot)
		w->held[subject->queue] = stop;
	else if (!(flags & KFD_PREEMPT_SWITCH_STICKY) &&
		 (stop || !(flags & KFD_PREEMPT_SWITCH_FORCE)))
		w->record[file][subject->owner][subject->queue] = stop;
}

static inline void count_answer(struct worker *w, enum call which, int ret)
{
	struct world *world = w->world;

	w->calls++;
	__atomic_add_fetch(&world->calls, 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&world->answers[which][answer_of(ret)], 1, __ATOMIC_RELAXED);
}

static inline void check_status(struct worker *w)
{
	const struct kfd_ioctl_preempt_status_args *s = &w->call.after.status;
	char text[160];

	if (status_is_sane(&w->call))
		return;
	fail(w->world, w->name, "%s: state %u holds %#x status %#x preempts %llu resumes %llu "
	     "failures %llu", fuzz_call_text(&w->call, text), s->state, s->holds, s->status,
	     (unsigned long long)s->preempts, (unsigned long long)s->resumes,
	     (unsigned long long)s->failures);
}

static inline void check_query(struct worker *w)
{
	bool of_gpu = w->call.args.query.gpu_id;
	char text[160];

	if (memcmp(&w->call.after.query, of_gpu ? &w->world->gpu_facts : &w->world->facts,
		   sizeof(w->call.after.query)))
		fail(w->world, w->name, "%s: tells something new", fuzz_call_text(&w->call, text));
}

static inline void check_batch(struct worker *w)
{
	const struct kfd_preempt_switch_entry *e = w->call.entry_after;
	char text[160], may_text[200];
	const char *why = "";
	uint32_t where = 0, i;

	for (i = 0; i < w->call.num; i++)
		__atomic_add_fetch(&w->world->entry_answers[answer_of(e[i].result)], 1,
				   __ATOMIC_RELAXED);
	if (batch_is_sane(&w->call, &why, &where))
		return;
	e += where;
	fail(w->world, w->name, "%s: entry %u: %s: queue %u op %u type %u pid %d: result %d, "
	     "state %u, holds %#x, uid %llu; want %s", fuzz_call_text(&w->call, text), where, why,
	     e->queue_id, e->op, e->preempt_type, e->target_pid, e->result, e->state, e->holds,
	     (unsigned long long)e->queue_uid,
	     answer_set_text(w->call.entry_may[where], may_text));
}

/* Makes the call and checks everything that needs no model. */
static inline int make_call(struct worker *w)
{
	struct fuzz_call *call = &w->call;
	char text[160], may_text[200];
	bool spoilt;
	int ret;

	if (call->may == MAY(ENOTTY))
		call->may = w->world->unknown_may;
	else if (w->inherited)
		call->may = MAY(EBADF);
	ret = fuzz_call_issue(call, &w->args_buffer, &w->entries_buffer, &spoilt);
	count_answer(w, call->which, ret);
	if (!answer_is_in(ret, (call->may | MAY(EINTR)) & documented[call->which]))
		fail(w->world, w->name, "%s: got %d (%s), want %s", fuzz_call_text(call, text), ret,
		     answer_text[answer_of(ret)], answer_set_text(call->may, may_text));
	else if (spoilt)
		fail(w->world, w->name, "%s: answered %d and changed its arguments",
		     fuzz_call_text(call, text), ret);
	if (ret)
		return ret;
	if (call->which == CALL_STATUS)
		check_status(w);
	else if (call->which == CALL_QUERY)
		check_query(w);
	else if (call->which == CALL_SWITCH)
		check_batch(w);
	return 0;
}

/* Never one whose SELF hold is another thread's to know. */
static inline bool may_use(const struct worker *w, uint32_t owner, uint32_t index)
{
	const struct world_owner *whose = &w->world->owner[owner];

	if (index >= whose->num_queues || whose->queue[index].kind == QUEUE_APART)
		return false;
	return owner != w->slot || whose->queue[index].kind == QUEUE_LOOSE ||
	       index % 2 == w->thread;
}

/* A queue to use, or now and then QUEUES: none. */
static inline uint32_t pick_queue(struct worker *w, uint32_t owner)
{
	uint32_t tries, index;

	for (tries = random_one_in(&w->random, 16) ? 0 : 8; tries; tries--) {
		index = random_below(&w->random, QUEUES);
		if (may_use(w, owner, index))
			return index;
	}
	return QUEUES;
}

/* More often than not the op that changes something, as far as this caller knows. */
static inline uint32_t pick_op(struct worker *w, uint32_t owner, uint32_t queue, uint32_t file)
{
	bool held;

	if (queue >= QUEUES || random_one_in(&w->random, 4))
		return random_one_in(&w->random, 2) ? KFD_PREEMPT_OP_PREEMPT :
						      KFD_PREEMPT_OP_RESUME;
	held = owner == w->slot ? w->held[queue] : w->record[file][owner][queue];
	return held ? KFD_PREEMPT_OP_RESUME : KFD_PREEMPT_OP_PREEMPT;
}

static inline uint32_t queue_id_of(const struct worker *w, uint32_t owner, uint32_t queue)
{
	if (queue >= QUEUES)
		return 900 + owner;
	return world_get(&w->world->owner[owner].queue[queue].id);
}

static inline uint32_t pick_type(struct worker *w, const struct world_queue *queue)
{
	/* Under NO_HWS a drain waits for a kernel that doesn't end. */
	if (random_one_in(&w->random, 16) && (!no_hws(w) || !queue || queue->sdma))
		return KFD_PREEMPT_TYPE_DRAIN;
	return random_one_in(&w->random, 16) ? KFD_PREEMPT_TYPE_RESET : KFD_PREEMPT_TYPE_SAVE;
}

/* In a PREEMPT, FAST and CHECKPOINT have other bits than in a SWITCH. */
static inline uint32_t pick_extras(struct worker *w, uint32_t fast, uint32_t checkpoint)
{
	uint64_t caps = w->world->facts.caps;
	uint32_t flags = 0;

	if (random_one_in(&w->random, 4))
		flags |= fast;
	if (random_one_in(&w->random, 4))
		flags |= checkpoint;
	if ((flags & fast && !(caps & KFD_PREEMPT_CAP_FAST)) ||
	    (flags & checkpoint && !(caps & KFD_PREEMPT_CAP_CHECKPOINT)))
		w->call.may = MAY(EINVAL);
	return flags;
}

/* PREEMPT_QUEUE or RESUME_QUEUE on an own queue. */
static inline void good_v0(struct worker *w)
{
	struct subject subject = { .owner = w->slot, .queue = QUEUES };
	const struct world_queue *queue = NULL;
	struct fuzz_call *call = &w->call;
	uint32_t op;
	bool stop, late;

	if (w->slot < OWNERS)
		subject.queue = pick_queue(w, w->slot);
	op = pick_op(w, w->slot, subject.queue, 0);
	stop = op == KFD_PREEMPT_OP_PREEMPT;
	fuzz_call_init(call, stop ? CALL_PREEMPT : CALL_RESUME,
		       w->file[random_below(&w->random, FILES)]);
	if (w->slot == OWNERS)
		return;
	if (subject.queue < QUEUES)
		queue = &w->world->owner[w->slot].queue[subject.queue];
	call->args.preempt.queue_id = queue_id_of(w, w->slot, subject.queue);
	if (stop)
		call->args.preempt.preempt_type = pick_type(w, queue);
	if (subject.queue < QUEUES)
		call->may = expect_self(w, subject.queue, op, call->args.preempt.preempt_type,
					&late);
	if (stop)
		call->args.preempt.flags = pick_extras(w, KFD_PREEMPT_FLAG_FAST,
						       KFD_PREEMPT_FLAG_CHECKPOINT);
	if (!make_call(w))
		learn(w, &subject, 0, 0, op);
}

/* One call on an own queue with the answers that it may get. */
static inline int call_v0(struct worker *w, enum call which, uint32_t queue, uint32_t type,
			  uint32_t timeout_ms, uint32_t may)
{
	fuzz_call_init(&w->call, which, w->file[0]);
	w->call.args.preempt.queue_id = queue_id_of(w, w->slot, queue);
	if (which == CALL_PREEMPT) {
		w->call.args.preempt.preempt_type = type;
		w->call.args.preempt.timeout_ms = timeout_ms;
	}
	w->call.may = may;
	return make_call(w);
}

/* A file of /dev/kfd of an owner, as pidfd_getfd gives it to who may have it; -1 to others. */
static inline int file_of(const struct world_owner *owner)
{
	int pidfd = (int)syscall(SYS_pidfd_open, owner->pid, 0), fd;

	if (pidfd < 0)
		return -1;
	fd = (int)syscall(SYS_pidfd_getfd, pidfd, owner->kfd_fd, 0);
	close(pidfd);
	return fd;
}

/* How a call names its target; the file to close afterwards is in *borrowed. */
static inline uint32_t name_target(struct worker *w, uint32_t owner, int *target_fd,
				   int *target_pid, int *borrowed)
{
	*borrowed = -1;
	if (owner == w->slot && random_one_in(&w->random, 2))
		return 0;
	if (random_one_in(&w->random, 4)) {
		if (owner == w->slot) {
			*target_fd = w->file[0];
			return KFD_PREEMPT_SWITCH_TARGET_FD;
		}
		*target_fd = *borrowed = file_of(&w->world->owner[owner]);
		if (*borrowed >= 0)
			return KFD_PREEMPT_SWITCH_TARGET_FD;
		*target_fd = 0;
	}
	*target_pid = w->world->owner[owner].pid;
	return KFD_PREEMPT_SWITCH_TARGET_PID;
}

static inline void good_status(struct worker *w)
{
	uint32_t owner = random_below(&w->random, OWNERS), queue = pick_queue(w, owner), file;
	struct kfd_ioctl_preempt_status_args *args = &w->call.args.status;
	const struct kfd_ioctl_preempt_status_args *s = &w->call.after.status;
	bool self = owner == w->slot, record = false, exact;
	int borrowed;

	fuzz_call_init(&w->call, CALL_STATUS, w->file[0]);
	args->flags = name_target(w, owner, &args->target_fd, &args->target_pid, &borrowed);
	args->queue_id = queue_id_of(w, owner, queue);
	if (!self && !w->may_operate)
		w->call.may = MAY(EPERM);
	else if (queue < QUEUES)
		w->call.may = MAY(OK);
	/* It may keep itself locked for longer than the call waits. */
	if (!self && w->may_operate)
		w->call.may |= MAY(EBUSY);
	exact = queue < QUEUES && w->world->owner[owner].queue[queue].kind == QUEUE_EXACT;
	if (queue < QUEUES && w->world->owner[owner].queue[queue].kind == QUEUE_LOOSE) {
		w->call.may |= MAY(ENOENT);
		w->call.may_be_born_held = owner == FORCED_OWNER;
	}
	if (!make_call(w) && exact) {
		for (file = 0; file < FILES; file++)
			record |= w->record[file][owner][queue];
		if ((self && !(s->holds & KFD_PREEMPT_HOLD_SELF) == w->held[queue]) ||
		    (record && owner != FORCED_OWNER && !(s->holds & KFD_PREEMPT_HOLD_OPERATOR)) ||
		    s->queue_uid != w->world->owner[owner].queue[queue].uid)
			fail(w->world, w->name, "queue %u of owner %u: holds %#x uid %llu, but "
			     "SELF is %d and own records %d", s->queue_id, owner, s->holds,
			     (unsigned long long)s->queue_uid, self && w->held[queue], record);
	}
	if (borrowed >= 0)
		close(borrowed);
}

static inline void good_query(struct worker *w)
{
	fuzz_call_init(&w->call, CALL_QUERY, w->file[0]);
	if (random_one_in(&w->random, 2))
		w->call.args.query.gpu_id = w->world->gpu_facts.gpu_id;
	make_call(w);
}

#endif
