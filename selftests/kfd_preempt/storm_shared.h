/* SPDX-License-Identifier: GPL-2.0-only */
/* State that all processes of storm share: queues, counters, failures. */
#ifndef KFD_PREEMPT_STORM_SHARED_H
#define KFD_PREEMPT_STORM_SHARED_H

#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define LONG_MS 180000u
#define OWNERS 3u
#define OPERATORS 2u
#define EVICTOR (OWNERS + OPERATORS)
#define PROCESSES (EVICTOR + 1)
#define QUEUES 2u

/* In shared memory. Counters only grow. */
struct storm_shared {
	uint64_t seed, count;
	uint32_t ending;	/* 1: no more stops, 2: owners look at their last jobs */
	uint32_t failures;
	uint64_t stops, starts, yields, evictions, kills;
	uint64_t jobs, iterations;	/* found right */
	struct {
		uint32_t ready;		/* the pid whose queues these are, or 0 */
		int kfd_fd;
		uint32_t queue_id[QUEUES];
	} owner[OWNERS];
};

static inline uint32_t get(const uint32_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint64_t add(uint64_t *counter, uint64_t more)
{
	return __atomic_add_fetch(counter, more, __ATOMIC_ACQ_REL);
}

static inline void fail(struct storm_shared *shared, const char *what, uint32_t which, int ret)
{
	if (__atomic_add_fetch(&shared->failures, 1, __ATOMIC_ACQ_REL) <= 10)
		dprintf(STDOUT_FILENO, "# SEED=%llu %s %u: %d\n", (unsigned long long)shared->seed,
			what, which, ret);
}

#endif
