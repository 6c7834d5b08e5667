/* SPDX-License-Identifier: GPL-2.0-only */
/* State that the processes of fuzz_ioctls share: queues, counts, answers; and their reports. */
#ifndef KFD_PREEMPT_FUZZ_WORLD_H
#define KFD_PREEMPT_FUZZ_WORLD_H

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

#include "calls.h"
#include "random.h"

/* Every answer that the interface documents. */
#define ANSWERS(X) \
	X(EALREADY) X(EBADF) X(EBUSY) X(E2BIG) X(EFAULT) X(EINTR) X(EINVAL) X(EIO) X(ENODEV) \
	X(ENOENT) X(ENOMEM) X(ENOSPC) X(ENOTTY) X(EOPNOTSUPP) X(EPERM) X(ESRCH) X(ESTALE) X(ETIME)

#define ANSWER_NAME(name) ANSWER_##name,
enum answer { ANSWER_OK, ANSWERS(ANSWER_NAME) ANSWER_UNDOCUMENTED, NUM_ANSWERS };

/* A set of answers. */
#define MAY(name) (1u << ANSWER_##name)

#define ANSWER_TEXT(name) [ANSWER_##name] = #name,
static const char *const answer_text[NUM_ANSWERS] = {
	[ANSWER_OK] = "0", ANSWERS(ANSWER_TEXT) [ANSWER_UNDOCUMENTED] = "undocumented",
};

static inline enum answer answer_of(int ret)
{
#define ANSWER_CASE(name) case -name: return ANSWER_##name;
	switch (ret) {
	case 0: return ANSWER_OK;
	ANSWERS(ANSWER_CASE)
	default: return ANSWER_UNDOCUMENTED;
	}
}

static inline bool answer_is_in(int ret, uint32_t set)
{
	return set & (1u << answer_of(ret));
}

/*
 * Results that each call may return on a GPU that is never reset or lost, with memory to spare:
 * EIO, ENODEV for a known GPU, ENOMEM and ENOSPC are then wrong.
 */
#define ALWAYS (MAY(EBADF) | MAY(EFAULT) | MAY(EINVAL) | MAY(EINTR))
#define ONE_QUEUE (MAY(OK) | MAY(EALREADY) | MAY(EBUSY) | MAY(ENOENT) | MAY(ENOTTY))
static const uint32_t documented[NUM_CALLS] = {
	[CALL_PREEMPT] = ALWAYS | ONE_QUEUE | MAY(EOPNOTSUPP) | MAY(EPERM) | MAY(ETIME),
	[CALL_RESUME] = ALWAYS | ONE_QUEUE,
	[CALL_QUERY] = ALWAYS | MAY(OK) | MAY(E2BIG) | MAY(ENODEV) | MAY(ENOTTY),
	[CALL_SWITCH] = ALWAYS | MAY(OK) | MAY(E2BIG) | MAY(EPERM) | MAY(ESRCH) | MAY(ENOTTY),
	[CALL_STATUS] = ALWAYS | MAY(OK) | MAY(E2BIG) | MAY(EBUSY) | MAY(ENOENT) | MAY(EPERM) |
			MAY(ESRCH) | MAY(ENOTTY),
};
static const uint32_t documented_entry = ONE_QUEUE | MAY(EOPNOTSUPP) | MAY(EPERM) | MAY(ESRCH) |
					 MAY(ESTALE) | MAY(ETIME);

#define OWNERS 3u
#define QUEUES 6u
#define FAILURES_TOLD 10u

/* How much a caller can know of a queue's holds. */
enum queue_kind {
	QUEUE_EXACT,	/* one thread makes all SELF calls on it; it lives throughout */
	QUEUE_APART,	/* one thread alone uses it */
	QUEUE_LOOSE,	/* everybody, and it comes and goes */
};

struct world_queue {
	uint32_t id;
	enum queue_kind kind;
	bool sdma;
	uint64_t uid;
};

struct world_owner {
	pid_t pid;
	int kfd_fd;
	uint32_t num_queues;
	struct world_queue queue[QUEUES];
};

enum phase { PHASE_SETUP, PHASE_STORM, PHASE_CHECK };

struct world {
	uint64_t seed, count;
	uint32_t switches;	/* in a hundred calls */
	uint32_t phase, ready, resting;
	uint64_t calls;		/* made so far */
	uint32_t failures;
	struct kfd_ioctl_preempt_query_args facts, gpu_facts;
	uint32_t unknown_may;	/* kfd_answer_to_unknown(); a call itself says ENOTTY */
	struct world_owner owner[OWNERS];
	uint64_t answers[NUM_CALLS][NUM_ANSWERS];
	uint64_t entry_answers[NUM_ANSWERS];
};

static inline uint32_t world_add(uint32_t *word)
{
	return __atomic_add_fetch(word, 1, __ATOMIC_ACQ_REL);
}

static inline uint32_t world_get(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline bool world_is_done(const struct world *world)
{
	return __atomic_load_n(&world->calls, __ATOMIC_RELAXED) >= world->count;
}

/* Counts a failure; the first ones are told. */
__attribute__((format(printf, 3, 4)))
static inline void fail(struct world *world, const char *who, const char *format, ...)
{
	char text[400];
	va_list args;

	if (world_add(&world->failures) > FAILURES_TOLD)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	dprintf(STDOUT_FILENO, "# %s (SEED=%llu): %s\n", who, (unsigned long long)world->seed,
		text);
}

/* "EINVAL|ENOENT" */
static inline const char *answer_set_text(uint32_t set, char text[200])
{
	size_t used = 0;
	unsigned int i;

	text[0] = '\0';
	for (i = 0; i < NUM_ANSWERS; i++)
		if (set & (1u << i))
			used += (size_t)snprintf(text + used, 200 - used, "%s%s", used ? "|" : "",
						 answer_text[i]);
	return text;
}

#endif
