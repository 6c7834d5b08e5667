/* SPDX-License-Identifier: GPL-2.0-only */
/* What all processes of storm see: queues, counters, failures. */
#ifndef KFD_PREEMPT_STORM_SKY_H
#define KFD_PREEMPT_STORM_SKY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define LONG_MS 180000u
#define OWNERS 3u
#define OPERATORS 2u
#define EVICTOR (OWNERS + OPERATORS)
#define PROCESSES (EVICTOR + 1)
#define QUEUES 2u

/*
 * An owner dies anywhere but where it frees memory: FREE_MEMORY_OF_GPU leaves the buffer half freed
 * when a signal interrupts it, and Linux 6.12 stumbles over that when the process ends: a BUG in
 * list_del() of amdgpu_amdkfd_gpuvm_free_memory_of_gpu(), of the stock driver. 7.2 has it right.
 */
enum fate { FATE_OPEN, FATE_FREES, FATE_DIES };

/* What all processes see. Counters only grow. */
struct sky {
	uint64_t seed, count;
	uint32_t ending;	/* 1: no more stops, 2: owners look at their last jobs */
	uint32_t failures;
	uint64_t stops, starts, evictions, kills;
	uint64_t jobs, iterations;	/* found right */
	struct {
		uint32_t ready;		/* the pid whose queues these are, or 0 */
		uint32_t fate;
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

static inline void fail(struct sky *sky, const char *what, uint32_t which, int ret)
{
	if (__atomic_add_fetch(&sky->failures, 1, __ATOMIC_ACQ_REL) <= 10)
		dprintf(STDOUT_FILENO, "# SEED=%llu %s %u: %d\n", (unsigned long long)sky->seed,
			what, which, ret);
}

static inline bool change_fate(struct sky *sky, uint32_t slot, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&sky->owner[slot].fate, &from, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

#endif
