// SPDX-License-Identifier: GPL-2.0-only
/*
 * One process moves all memory out of VRAM again and again, while others begin and are killed. A move
 * waits until KFD has stopped the queues of the process whose memory it is, and later moves wait for it.
 * No move may wait for ever, and no wave may run on memory that was taken away: the vgpu reports such
 * a wave. The stock driver does both. Needs root and debugfs; takes SEED and COUNT (of rounds) from the
 * environment.
 */
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evict.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "random.h"
#include "wait.h"

#define LONG_MS 120000u
#define OWNERS 3u

/* All of them see it. */
struct board {
	enum { RESTS, MOVES, ENDS } evictor;
	uint32_t evictions;
	uint32_t set_up[OWNERS];	/* the pid of the owner whose job has begun */
};

FIXTURE(evicted_exit)
{
	struct board *board;
	struct random random;
	pid_t owner[OWNERS], evictor;
};

static void run_owner(struct board *board, uint32_t slot)
{
	struct aql_queue queue;
	struct kfd_device dev;
	struct job job;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	/* A wave on memory that was taken away shows only while it computes. */
	if (kfd_device_open(&dev) || restless_queue_create(&dev, &queue, &job, 2, LONG_MS))
		_exit(1);
	__atomic_store_n(&board->set_up[slot], (uint32_t)getpid(), __ATOMIC_RELEASE);
	for (;;)
		pause();
}

static void run_evictor(struct board *board)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		switch (__atomic_load_n(&board->evictor, __ATOMIC_ACQUIRE)) {
		case RESTS:
			sleep_us(1000);
			break;
		case MOVES:
			if (evict_all("vram"))
				_exit(1);
			__atomic_add_fetch(&board->evictions, 1, __ATOMIC_ACQ_REL);
			break;
		case ENDS:
			_exit(0);
		}
	}
}

static pid_t start_owner(FIXTURE_DATA(evicted_exit) *self, uint32_t slot)
{
	pid_t pid = fork();

	if (!pid)
		run_owner(self->board, slot);
	self->owner[slot] = pid;
	return pid;
}

struct owner {
	const struct board *board;
	uint32_t slot;
	pid_t pid;
};

static bool is_set_up(const void *arg)
{
	const struct owner *owner = arg;

	return __atomic_load_n(&owner->board->set_up[owner->slot], __ATOMIC_ACQUIRE) ==
	       (uint32_t)owner->pid;
}

static bool is_gone(const void *arg)
{
	const struct owner *owner = arg;

	return waitpid(owner->pid, NULL, WNOHANG) == owner->pid;
}

FIXTURE_SETUP(evicted_exit)
{
	uint64_t seed = number_from_environment("SEED", now_ns());

	printf("# SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	random_init(&self->random, seed, 0);
	self->board = mmap(NULL, sizeof(*self->board), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->board);
	self->evictor = fork();
	if (!self->evictor)
		run_evictor(self->board);
	ASSERT_LT(0, self->evictor);
}

FIXTURE_TEARDOWN(evicted_exit)
{
	uint32_t i;

	for (i = 0; i < OWNERS; i++)
		if (self->owner[i] > 0)
			kill(self->owner[i], SIGKILL);
	/* Not killed: TTM warns of a move that a signal interrupts. */
	__atomic_store_n(&self->board->evictor, ENDS, __ATOMIC_RELEASE);
	munmap(self->board, sizeof(*self->board));
}

/* Each is killed soon after the end of the one before it, which may be waited for. */
static void kill_all(FIXTURE_DATA(evicted_exit) *self, struct __test_metadata *_metadata)
{
	struct owner owner = { .board = self->board };

	for (owner.slot = 0; owner.slot < OWNERS; owner.slot++) {
		owner.pid = self->owner[owner.slot];
		kill(owner.pid, SIGKILL);
		ASSERT_TRUE(wait_until(is_gone, &owner, LONG_MS));
		self->owner[owner.slot] = 0;
		sleep_us(random_below(&self->random, 20000));
	}
}

static void start_all(FIXTURE_DATA(evicted_exit) *self, struct __test_metadata *_metadata)
{
	struct owner owner = { .board = self->board };

	for (owner.slot = 0; owner.slot < OWNERS; owner.slot++)
		ASSERT_LT(0, start_owner(self, owner.slot));
	for (owner.slot = 0; owner.slot < OWNERS; owner.slot++) {
		owner.pid = self->owner[owner.slot];
		ASSERT_TRUE(wait_until(is_set_up, &owner, LONG_MS));
	}
}

TEST_F_TIMEOUT(evicted_exit, nobody_waits_forever_for_a_process_that_was_killed, 86400)
{
	uint64_t count = number_from_environment("COUNT", 100), round;

	for (round = 0; round < count; round++) {
		start_all(self, _metadata);
		__atomic_store_n(&self->board->evictor, MOVES, __ATOMIC_RELEASE);
		sleep_us(100000 + random_below(&self->random, 400000));
		kill_all(self, _metadata);
		__atomic_store_n(&self->board->evictor, RESTS, __ATOMIC_RELEASE);
	}
	printf("# %llu rounds, %u evictions\n", (unsigned long long)round, self->board->evictions);
	ASSERT_LT(0, self->board->evictions);
}

TEST_HARNESS_MAIN
