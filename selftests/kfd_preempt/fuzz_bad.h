/* SPDX-License-Identifier: GPL-2.0-only */
/* Ways to break a well-formed call of fuzz_ioctls, each with the answer that it must get. */
#ifndef KFD_PREEMPT_FUZZ_BAD_H
#define KFD_PREEMPT_FUZZ_BAD_H

#include <fcntl.h>

#include "fuzz_calls.h"

/* A field gets a number out of a range, or one of some bits set. */
struct poke {
	enum call which;
	bool in_entry;
	bool one_bit;
	unsigned int offset, bytes;
	uint64_t from, to;	/* or, for one_bit, the bits */
	uint32_t may;		/* answers to the call, or of the entry when the call succeeds */
};

#define FIELD(which, type, field, from, to, may) \
	{ which, false, false, offsetof(struct type, field), sizeof(((struct type *)0)->field), \
	  from, to, may }
#define BIT_OF(which, type, field, bits, may) \
	{ which, false, true, offsetof(struct type, field), sizeof(((struct type *)0)->field), \
	  bits, 0, may }
#define P kfd_ioctl_preempt_queue_args
#define R kfd_ioctl_resume_queue_args
#define Q kfd_ioctl_preempt_query_args
#define S kfd_ioctl_preempt_switch_args
#define T kfd_ioctl_preempt_status_args
#define E(field, from, to, may) \
	{ CALL_SWITCH, true, false, offsetof(struct kfd_preempt_switch_entry, field), \
	  sizeof(((struct kfd_preempt_switch_entry *)0)->field), from, to, may }
#define NO_PID 0x400001		/* pids are below 2^22 */
#define U32 0xffffffffu
#define U64 (~0ull)
#define TARGET_BOTH (KFD_PREEMPT_SWITCH_TARGET_FD | KFD_PREEMPT_SWITCH_TARGET_PID)

static const struct poke pokes[] = {
	FIELD(CALL_PREEMPT, P, queue_id, 1024, U32, MAY(ENOENT)),
	FIELD(CALL_PREEMPT, P, preempt_type, 3, U32, MAY(EINVAL)),
	FIELD(CALL_PREEMPT, P, preempt_type, 0, 2, MAY(ENOENT)),
	FIELD(CALL_PREEMPT, P, timeout_ms, 0, 60000, MAY(ENOENT)),
	FIELD(CALL_PREEMPT, P, timeout_ms, 60001, U32, MAY(EINVAL)),
	BIT_OF(CALL_PREEMPT, P, flags, ~3u, MAY(EINVAL)),
	FIELD(CALL_RESUME, R, queue_id, 1024, U32, MAY(ENOENT)),
	BIT_OF(CALL_RESUME, R, flags, U32, MAY(EINVAL)),
	BIT_OF(CALL_RESUME, R, pad[0], U32, MAY(EINVAL)),
	BIT_OF(CALL_RESUME, R, pad[1], U32, MAY(EINVAL)),
	FIELD(CALL_QUERY, Q, gpu_id, 0x7000000, 0x7ffffff, MAY(ENODEV)),
	BIT_OF(CALL_QUERY, Q, flags, U32, MAY(EINVAL)),
	BIT_OF(CALL_QUERY, Q, reserved[0], U64, MAY(EINVAL)),
	BIT_OF(CALL_QUERY, Q, reserved[1], U64, MAY(EINVAL)),
	FIELD(CALL_QUERY, Q, abi_major, 0, U32, MAY(OK)),
	FIELD(CALL_QUERY, Q, caps, 0, U64, MAY(OK)),
	FIELD(CALL_QUERY, Q, num_xcc, 0, U32, MAY(OK)),
	FIELD(CALL_QUERY, Q, degraded, 0, U32, MAY(OK)),
	BIT_OF(CALL_SWITCH, S, flags, ~0x1ffu, MAY(EINVAL)),
	BIT_OF(CALL_SWITCH, S, flags, KFD_PREEMPT_SWITCH_STICKY | KFD_PREEMPT_SWITCH_FORCE,
	       MAY(EINVAL)),
	FIELD(CALL_SWITCH, S, flags, TARGET_BOTH, TARGET_BOTH, MAY(EINVAL)),
	FIELD(CALL_SWITCH, S, flags, KFD_PREEMPT_SWITCH_TARGET_PID, KFD_PREEMPT_SWITCH_TARGET_PID,
	      MAY(ESRCH)),
	FIELD(CALL_SWITCH, S, flags, KFD_PREEMPT_SWITCH_ALL_OR_NOTHING,
	      KFD_PREEMPT_SWITCH_ALL_OR_NOTHING | KFD_PREEMPT_SWITCH_MATCH_UID, MAY(ENOENT)),
	FIELD(CALL_SWITCH, S, target_fd, 1, U32, MAY(EINVAL)),
	FIELD(CALL_SWITCH, S, target_pid, 1, U32, MAY(EINVAL)),
	FIELD(CALL_SWITCH, S, timeout_ms, 0, 60000, MAY(ENOENT)),
	FIELD(CALL_SWITCH, S, timeout_ms, 60001, U32, MAY(EINVAL)),
	FIELD(CALL_SWITCH, S, num_entries, 0, 0, MAY(EINVAL)),
	FIELD(CALL_SWITCH, S, num_entries, KFD_PREEMPT_MAX_BATCH + 1, U32, MAY(E2BIG)),
	FIELD(CALL_SWITCH, S, num_entries, 2, KFD_PREEMPT_MAX_BATCH, MAY(EFAULT)),
	FIELD(CALL_SWITCH, S, num_done, 0, U32, MAY(ENOENT)),
	FIELD(CALL_SWITCH, S, hw_ns, 0, U64, MAY(ENOENT)),
	BIT_OF(CALL_SWITCH, S, reserved, U64, MAY(EINVAL)),
	E(queue_id, 1024, KFD_PREEMPT_ALL_QUEUES - 1, MAY(ENOENT)),
	E(op, 0, 0, MAY(EINVAL)),
	E(op, 3, 0xffff, MAY(EINVAL)),
	E(op, KFD_PREEMPT_OP_RESUME, KFD_PREEMPT_OP_RESUME, MAY(EINVAL)),	/* with a type */
	E(preempt_type, 0, 2, MAY(ENOENT)),
	E(preempt_type, 3, 0xffff, MAY(EINVAL)),
	E(result, 0, U32, MAY(ENOENT)),
	E(state, 0, U32, MAY(ENOENT)),
	E(holds, 0, U32, MAY(ENOENT)),
	E(target_pid, NO_PID, U32, MAY(ESRCH)),
	E(queue_uid, 0, U64, MAY(ENOENT)),
	E(latency_ns, 0, U64, MAY(ENOENT)),
	E(gpu_id, 1, U32, MAY(EINVAL)),	/* of a queue */
	E(reserved, 1, U32, MAY(EINVAL)),
	FIELD(CALL_STATUS, T, queue_id, 1024, U32, MAY(ENOENT)),
	FIELD(CALL_STATUS, T, target_fd, 1, U32, MAY(EINVAL)),
	FIELD(CALL_STATUS, T, target_pid, 1, U32, MAY(EINVAL)),
	BIT_OF(CALL_STATUS, T, flags, ~(TARGET_BOTH | KFD_PREEMPT_STATUS_COUNT_MEMORY), MAY(EINVAL)),
	FIELD(CALL_STATUS, T, flags, TARGET_BOTH, TARGET_BOTH, MAY(EINVAL)),
	FIELD(CALL_STATUS, T, flags, KFD_PREEMPT_SWITCH_TARGET_PID, KFD_PREEMPT_SWITCH_TARGET_PID,
	      MAY(ESRCH)),
	BIT_OF(CALL_STATUS, T, pad, U32, MAY(EINVAL)),
	FIELD(CALL_STATUS, T, state, 0, U32, MAY(ENOENT)),
	FIELD(CALL_STATUS, T, status, 0, U32, MAY(ENOENT)),
	FIELD(CALL_STATUS, T, held_ns, 0, U64, MAY(ENOENT)),
};
#define NUM_POKES (sizeof(pokes) / sizeof(pokes[0]))

static inline void poke_apply(struct fuzz_call *call, const struct poke *poke,
			      struct random *random)
{
	unsigned char *at = (poke->in_entry ? (unsigned char *)call->entry : call->args.bytes) +
			    poke->offset;
	uint64_t value = 0;

	if (poke->one_bit) {
		do {
			value = 1ull << random_below(random, poke->bytes * 8);
		} while (!(value & poke->from));
		memcpy(at, &value, poke->bytes);
		return;
	}
	switch (random_below(random, 4)) {
	case 0:
		value = poke->from;
		break;
	case 1:
		value = poke->to;
		break;
	default:
		value = random_between(random, poke->from, poke->to);
	}
	memcpy(at, &value, poke->bytes);
}

/* Fails only the entry, not the call. */
#define OF_ENTRY (MAY(ENOENT) | MAY(ESRCH) | MAY(EPERM))

static inline void break_field(struct fuzz_call *call, struct random *random)
{
	const struct poke *poke = &pokes[random_below(random, NUM_POKES)];

	fuzz_call_init(call, poke->which, call->fd);
	poke_apply(call, poke, random);
	/* ENOENT of SWITCH is the entry's alone, and so is ESRCH of an entry. */
	if (poke->which != CALL_SWITCH || !(poke->may & OF_ENTRY) ||
	    (!poke->in_entry && poke->may & MAY(ESRCH))) {
		call->may = poke->may;
		return;
	}
	call->may = MAY(OK);
	call->entry_may[0] = poke->may;
}

#define STATUS_LEAST offsetof(struct kfd_ioctl_preempt_status_args, write_index)

/* Another size or direction in the command. */
static inline void break_command(struct fuzz_call *call, struct random *random)
{
	enum call which = random_below(random, NUM_CALLS);
	unsigned int size = _IOC_SIZE(call_facts[which].cmd), nr = _IOC_NR(call_facts[which].cmd);
	unsigned int other = size, direction = _IOC_READ | _IOC_WRITE;

	fuzz_call_init(call, which, call->fd);
	if (random_one_in(random, 4)) {
		direction = random_below(random, _IOC_READ | _IOC_WRITE);
		call->may = MAY(ENOTTY);
	} else if (which <= CALL_RESUME) {
		while (other == size)
			other = random_below(random, 64);
		call->may = MAY(ENOTTY);
	} else if (which == CALL_STATUS && random_one_in(random, 4)) {
		/* It has grown: the sizes since its first are as good as the last. */
		other = STATUS_LEAST + random_below(random, size - STATUS_LEAST);
	} else if (random_one_in(random, 2)) {
		other = random_below(random, which == CALL_STATUS ? STATUS_LEAST : size);
		call->may = MAY(EINVAL);
	} else {
		other = size + 1 + random_below(random, random_one_in(random, 8) ?
						(1 << _IOC_SIZEBITS) - 1 - size : 64);
		if (random_one_in(random, 2)) {
			call->tail_at = size + random_below(random, other - size);
			call->may = MAY(E2BIG);
		}
	}
	call->cmd = _IOC(direction, 'K', nr, other);
}

static inline uint64_t bad_pointer(const struct fenced_buffer *buffer, unsigned int size,
				   struct random *random)
{
	switch (random_below(random, 6)) {
	case 0:
		return 8;	/* 0 means none of these */
	case 1:
		return fenced_buffer_end(buffer);
	case 2:			/* across the end */
		return fenced_buffer_end(buffer) - 1 - random_below(random, size - 1);
	case 3:
		return 0xffff888000000000ull + random_below(random, 1u << 30);
	case 4:
		return 1ull << 63 | random_next(random);
	}
	return U64 - random_below(random, size);
}

static inline void break_pointer(struct fuzz_call *call, const struct fenced_buffer *args_buffer,
				 const struct fenced_buffer *entries_buffer, struct random *random)
{
	enum call which = random_below(random, NUM_CALLS);

	fuzz_call_init(call, which, call->fd);
	if (which == CALL_SWITCH && random_one_in(random, 2)) {
		if (random_one_in(random, 4))
			call->entries_read_only = true;
		else
			call->entries_at = bad_pointer(entries_buffer, sizeof(call->entry[0]),
						       random);
	} else if (random_one_in(random, 4)) {
		call->args_read_only = true;
		/* Only what succeeds is written back, and not by the first two. */
		if (which != CALL_QUERY && which != CALL_SWITCH)
			return;
	} else {
		call->args_at = bad_pointer(args_buffer, _IOC_SIZE(call->cmd), random);
	}
	call->may = MAY(EFAULT);
}

/* A target that is none. */
static inline void break_target(struct fuzz_call *call, struct random *random)
{
	static const int not_kfd[] = { -1, 0x7fffffff, STDIN_FILENO, STDOUT_FILENO, 1000 };
	static const int no_owner[] = { 0, -1, 1, 2, NO_PID };
	bool by_fd = random_one_in(random, 2);
	int fd = not_kfd[random_below(random, 5)], pid = no_owner[random_below(random, 5)];
	uint32_t flag = by_fd ? KFD_PREEMPT_SWITCH_TARGET_FD : KFD_PREEMPT_SWITCH_TARGET_PID;

	fuzz_call_init(call, random_one_in(random, 2) ? CALL_SWITCH : CALL_STATUS, call->fd);
	if (call->which == CALL_SWITCH) {
		call->args.batch.flags = flag;
		call->args.batch.target_fd = by_fd ? fd : 0;
		call->args.batch.target_pid = by_fd ? 0 : pid;
	} else {
		call->args.status.flags = flag;
		call->args.status.target_fd = by_fd ? fd : 0;
		call->args.status.target_pid = by_fd ? 0 : pid;
	}
	call->may = by_fd ? MAY(EBADF) : MAY(ESRCH);
}

/* 0 to 257 entries, perhaps one of them twice. */
static inline void break_batch(struct fuzz_call *call, struct random *random)
{
	static const uint32_t sizes[] = { 1, 2, 3, 64, KFD_PREEMPT_MAX_BATCH, ENTRIES_MAX };
	uint32_t num = sizes[random_below(random, 6)], i, twice;

	fuzz_call_init(call, CALL_SWITCH, call->fd);
	if (random_one_in(random, 2))
		num = random_below(random, ENTRIES_MAX + 1);
	call->num = call->args.batch.num_entries = num;
	call->args.batch.flags = random_below(random, 4);
	for (i = 1; i < num; i++) {
		call->entry[i] = call->entry[0];
		call->entry[i].queue_id -= i;
		call->entry_may[i] = MAY(ENOENT);
	}
	call->may = MAY(OK);
	if (!num)
		call->may = MAY(EINVAL);
	if (num > KFD_PREEMPT_MAX_BATCH)
		call->may = MAY(E2BIG);
	if (num < 2 || num > KFD_PREEMPT_MAX_BATCH || random_one_in(random, 2))
		return;
	twice = 1 + random_below(random, num - 1);
	call->entry[twice].queue_id = call->entry[random_below(random, twice)].queue_id;
	call->may = MAY(EINVAL);
}

/* The call of `call->fd`, broken in one known way. */
static inline void break_once(struct fuzz_call *call, const struct fenced_buffer *args_buffer,
			      const struct fenced_buffer *entries_buffer, struct random *random)
{
	switch (random_below(random, 16)) {
	case 0: case 1: case 2:
		break_command(call, random);
		break;
	case 3: case 4: case 5:
		break_pointer(call, args_buffer, entries_buffer, random);
		break;
	case 6: case 7:
		break_target(call, random);
		break;
	case 8:
		break_batch(call, random);
		break;
	default:
		break_field(call, random);
	}
}

/*
 * Several things at once: which of them is seen first is the driver's. `queue_id` is a queue that
 * may be changed, or NO_QUEUE.
 */
static inline void break_often(struct fuzz_call *call, const struct fenced_buffer *args_buffer,
			       const struct fenced_buffer *entries_buffer, uint32_t queue_id,
			       struct random *random)
{
	unsigned int times = 2 + random_below(random, 4), i;

	fuzz_call_init(call, random_below(random, NUM_CALLS), call->fd);
	if (call->which <= CALL_RESUME)
		call->args.preempt.queue_id = queue_id;
	else if (call->which == CALL_STATUS)
		call->args.status.queue_id = queue_id;
	call->entry[0].queue_id = queue_id;
	for (i = 0; i < times; i++) {
		const struct poke *poke = &pokes[random_below(random, NUM_POKES)];

		if (poke->which == call->which)
			poke_apply(call, poke, random);
	}
	if (random_one_in(random, 8))
		call->args_at = bad_pointer(args_buffer, _IOC_SIZE(call->cmd), random);
	if (random_one_in(random, 8))
		call->entries_at = bad_pointer(entries_buffer, sizeof(call->entry[0]), random);
	if (call->args.batch.num_entries > 1 && call->args.batch.num_entries <= ENTRIES_MAX &&
	    call->which == CALL_SWITCH) {
		call->num = call->args.batch.num_entries;
		memset(&call->entry[1], 0, (call->num - 1) * sizeof(call->entry[0]));
	}
	call->may = documented[call->which];
	for (i = 0; i < call->num; i++)
		call->entry_may[i] = documented_entry | MAY(OK);
}

#endif
