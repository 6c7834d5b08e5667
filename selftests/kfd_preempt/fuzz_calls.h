/* SPDX-License-Identifier: GPL-2.0-only */
/* One call of fuzz_ioctls: where its memory lies, what it may answer, whether it did. */
#ifndef KFD_PREEMPT_FUZZ_CALLS_H
#define KFD_PREEMPT_FUZZ_CALLS_H

#include <sys/ioctl.h>
#include <sys/mman.h>

#include "fuzz_world.h"

#define PAGE_BYTES 4096u
#define BUFFER_BYTES (5 * PAGE_BYTES)	/* the largest struct of a command, or 257 entries */
#define ENTRIES_MAX (KFD_PREEMPT_MAX_BATCH + 1u)

/* Memory right before an address where there is none, and the same memory read-only. */
struct fenced_buffer {
	unsigned char *start;
	unsigned char *read_only;
};

struct fuzz_call {
	enum call which;
	unsigned long cmd;
	int fd;
	bool may_be_born_held;		/* the queue of a STATUS: then it started without a stop */
	union {
		unsigned char bytes[128];
		struct kfd_ioctl_preempt_queue_args preempt;
		struct kfd_ioctl_resume_queue_args resume;
		struct kfd_ioctl_preempt_query_args query;
		struct kfd_ioctl_preempt_switch_args batch;
		struct kfd_ioctl_preempt_status_args status;
	} args, after;
	struct kfd_preempt_switch_entry entry[ENTRIES_MAX], entry_after[ENTRIES_MAX];
	uint32_t num;			/* entries that are there, whatever num_entries says */
	unsigned int tail_at;		/* offset of a byte that isn't 0, or 0 */
	uint64_t args_at, entries_at;	/* a pointer to give instead, or 0 */
	bool args_read_only, entries_read_only;
	uint32_t may;			/* answers to the call */
	uint32_t entry_may[ENTRIES_MAX];	/* and of each entry, when that is 0 */
};

static inline int fenced_buffer_make(struct fenced_buffer *buffer)
{
	int fd = memfd_create("buffer", MFD_CLOEXEC);
	unsigned char **view[2] = { &buffer->start, &buffer->read_only };
	unsigned int i;

	if (fd < 0 || ftruncate(fd, BUFFER_BYTES))
		return -errno;
	for (i = 0; i < 2; i++) {
		unsigned char *at = mmap(NULL, BUFFER_BYTES + PAGE_BYTES, PROT_NONE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED ||
		    mmap(at, BUFFER_BYTES, i ? PROT_READ : PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED)
			return -errno;
		*view[i] = at;
	}
	close(fd);
	return 0;
}

static inline uint64_t fenced_buffer_end(const struct fenced_buffer *buffer)
{
	return (uintptr_t)buffer->start + BUFFER_BYTES;
}

/* The well-formed call on a queue that doesn't exist. */
static inline void fuzz_call_init(struct fuzz_call *call, enum call which, int fd)
{
	memset(call, 0, offsetof(struct fuzz_call, entry));
	memset(call->entry, 0, sizeof(call->entry[0]));
	call->which = which;
	call->cmd = call_facts[which].cmd;
	call->fd = fd;
	call->may = 1u << answer_of(call_facts[which].answer);
	call->num = 0;
	call->tail_at = 0;
	call->args_at = call->entries_at = 0;
	call->args_read_only = call->entries_read_only = false;
	switch (which) {
	case CALL_PREEMPT:
		call->args.preempt.preempt_type = KFD_PREEMPT_TYPE_SAVE;
		__attribute__((fallthrough));	/* queue_id comes first in both */
	case CALL_RESUME:
		call->args.resume.queue_id = NO_QUEUE;
		break;
	case CALL_SWITCH:
		call->num = call->args.batch.num_entries = 1;
		call->entry[0].queue_id = NO_QUEUE;
		call->entry[0].op = KFD_PREEMPT_OP_PREEMPT;
		call->entry[0].preempt_type = KFD_PREEMPT_TYPE_SAVE;
		call->entry_may[0] = MAY(ENOENT);
		break;
	case CALL_STATUS:
		call->args.status.queue_id = NO_QUEUE;
		break;
	case CALL_QUERY:
	case NUM_CALLS:
		break;
	}
}

static inline const char *fuzz_call_text(const struct fuzz_call *call, char text[160])
{
	const uint32_t *words = (const uint32_t *)call->args.bytes;

	snprintf(text, 160,
		 "%s cmd %#lx fd %d at %#llx, %u entries at %#llx, args %x %x %x %x %x %x",
		 call_facts[call->which].name, call->cmd, call->fd,
		 (unsigned long long)call->args_at, call->num, (unsigned long long)call->entries_at,
		 words[0], words[1], words[2], words[3], words[8], words[9]);
	return text;
}

/* Puts the call into its rooms, makes it, and takes back what came of it. Negative errno or 0. */
static inline int fuzz_call_issue(struct fuzz_call *call, struct fenced_buffer *args_buffer,
				  struct fenced_buffer *entries_buffer, bool *spoilt)
{
	unsigned int bytes = _IOC_SIZE(call->cmd), known = bytes;
	size_t entries_bytes = call->num * sizeof(call->entry[0]);
	unsigned char *at = args_buffer->start + BUFFER_BYTES - bytes, *entries_at;
	uint64_t pointer = (uintptr_t)at;
	int ret;

	if (known > sizeof(call->args))
		known = sizeof(call->args);
	entries_at = entries_buffer->start + BUFFER_BYTES - entries_bytes;
	memcpy(entries_at, call->entry, entries_bytes);
	if (call->which == CALL_SWITCH) {
		uint64_t there = (uintptr_t)entries_at;

		if (call->entries_read_only)
			there += (uint64_t)(entries_buffer->read_only - entries_buffer->start);
		call->args.batch.entries_ptr = call->entries_at ? call->entries_at : there;
	}
	memset(at, 0, bytes);
	if (call->tail_at && call->tail_at < known)
		call->args.bytes[call->tail_at] = 0x5a;
	memcpy(at, call->args.bytes, known);
	if (call->tail_at)
		at[call->tail_at] = 0x5a;
	if (call->args_read_only)
		pointer += (uint64_t)(args_buffer->read_only - args_buffer->start);
	if (call->args_at)
		pointer = call->args_at;

	ret = ioctl(call->fd, call->cmd, pointer) < 0 ? -errno : 0;
	*spoilt = (ret || call->which <= CALL_RESUME) && memcmp(at, call->args.bytes, known);
	*spoilt |= ret && ret != -EFAULT && memcmp(entries_at, call->entry, entries_bytes);
	memcpy(call->after.bytes, at, known);
	memcpy(call->entry_after, entries_at, entries_bytes);
	return ret;
}

/* Fields of an entry that only the caller writes. */
static inline bool entry_is_kept(const struct kfd_preempt_switch_entry *before,
				 const struct kfd_preempt_switch_entry *after)
{
	return before->queue_id == after->queue_id && before->op == after->op &&
	       before->preempt_type == after->preempt_type &&
	       before->target_pid == after->target_pid && before->gpu_id == after->gpu_id &&
	       !after->reserved;
}

/* Queues of one process differ: state is that of one, holds are those that all have. */
static inline bool whole_entry_is_sane(const struct kfd_preempt_switch_entry *e)
{
	bool stops = e->op == KFD_PREEMPT_OP_PREEMPT, done = !e->result || e->result == -EALREADY;

	if (e->queue_uid || e->holds & ~7u || e->state > KFD_PREEMPT_STATE_INACTIVE)
		return false;
	if (e->latency_ns && (!stops || e->result))
		return false;
	if (stops && done)
		return e->state == KFD_PREEMPT_STATE_HELD && e->holds & ~KFD_PREEMPT_HOLD_SELF;
	return done || (!e->state && !e->holds);
}

/* State, holds, uid and time of an entry fit its result and each other. */
static inline bool entry_is_sane(const struct kfd_preempt_switch_entry *e)
{
	bool found = e->queue_uid != 0;

	if (e->queue_id == KFD_PREEMPT_ALL_QUEUES)
		return whole_entry_is_sane(e);
	if (!found && (e->state || e->holds || e->latency_ns))
		return false;
	if (!found && e->result != -ENOENT && e->result != -EPERM && e->result != -ESRCH)
		return false;
	if (found && (e->result == -ENOENT || e->result == -ESRCH))
		return false;
	if (e->latency_ns && (e->op != KFD_PREEMPT_OP_PREEMPT || e->result))
		return false;
	if (e->holds & ~7u)
		return false;
	if (e->state == KFD_PREEMPT_STATE_HELD)
		return e->holds && e->result != -ETIME;
	if (e->state == KFD_PREEMPT_STATE_PENDING)
		return e->holds;
	if (e->op == KFD_PREEMPT_OP_PREEMPT && !e->result)
		return false;
	return e->state <= KFD_PREEMPT_STATE_INACTIVE && !e->holds;
}

/* Stops and starts alternate, unless a stop was late or the queue began with a hold. */
static inline bool counts_are_sane(const struct kfd_ioctl_preempt_status_args *s,
				   bool may_be_born_held)
{
	uint64_t stops = s->resumes + (s->holds != 0);

	return s->failures || s->preempts == stops ||
	       (may_be_born_held && s->preempts + 1 == stops);
}

static inline bool status_is_sane(const struct fuzz_call *call)
{
	const struct kfd_ioctl_preempt_status_args *before = &call->args.status,
						   *s = &call->after.status;
	bool now_held = s->holds;

	if (s->pad || s->reserved[0] || s->reserved[1] || !s->queue_uid ||
	    s->flags != before->flags || s->target_fd != before->target_fd ||
	    s->target_pid != before->target_pid || s->queue_id != before->queue_id)
		return false;
	if (s->holds & ~7u || s->status & ~31u || s->status & KFD_PREEMPT_STATUS_DBG_SUSPENDED)
		return false;
	if (s->last_preempt_ns > s->max_preempt_ns || !s->preempts != !s->max_preempt_ns ||
	    !s->resumes != !s->last_resume_ns)
		return false;
	if (!counts_are_sane(s, call->may_be_born_held))
		return false;
	switch (s->state) {
	case KFD_PREEMPT_STATE_RUNNING:
		return !now_held && !(s->status & KFD_PREEMPT_STATUS_EVICTED);
	case KFD_PREEMPT_STATE_HELD:
		return now_held && !(s->status & KFD_PREEMPT_STATUS_HW_PENDING);
	case KFD_PREEMPT_STATE_PENDING:
		return now_held && s->status & KFD_PREEMPT_STATUS_HW_PENDING;
	case KFD_PREEMPT_STATE_INACTIVE:
		return !now_held;
	}
	return false;
}

static inline bool batch_is_sane(const struct fuzz_call *call, const char **why, uint32_t *where)
{
	const struct kfd_ioctl_preempt_switch_args *before = &call->args.batch,
						   *after = &call->after.batch;
	bool all = before->flags & KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, late = false;
	uint32_t i, done = 0;

	for (i = 0; i < call->num; i++) {
		*where = i;
		*why = "a field that is only read was written";
		if (!entry_is_kept(&call->entry[i], &call->entry_after[i]))
			return false;
		*why = "result, state, holds, uid and time do not fit";
		if (!entry_is_sane(&call->entry_after[i]))
			return false;
		*why = "wrong result";
		if (!answer_is_in(call->entry_after[i].result,
				  call->entry_may[i] & (documented_entry | MAY(OK))))
			return false;
		done += !call->entry_after[i].result;
		late |= call->entry_after[i].result == -ETIME;
	}
	*why = "ALL_OR_NOTHING did some";
	if (all && !late && done && done != call->num)
		return false;
	*why = "the call's own outputs are wrong";
	return after->num_done == done && !after->reserved && after->flags == before->flags &&
	       after->target_fd == before->target_fd && after->target_pid == before->target_pid &&
	       after->timeout_ms == before->timeout_ms &&
	       after->entries_ptr == before->entries_ptr &&
	       after->num_entries == before->num_entries;
}

#endif
