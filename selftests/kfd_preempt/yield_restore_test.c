// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory moves while other workers of KFD stop and restore the process: no store of its SDMA queue, which has no hold,
 * is lost. Needs root; takes COUNT (of yields, 40) from the environment.
 */
#include <pthread.h>

#include "evict.h"
#include "random.h"
#include "yield.h"

#define COPIER_BUFFERS 4u
#define SLOT_BYTES 65536u	/* large copies keep the engine busy while memory moves */
#define SLOTS (COPIER_BUFFERS * (unsigned int)(BUFFER_BYTES / SLOT_BYTES))
#define SOURCE_STEP 64u
#define SOURCE_BYTES (SLOTS * SOURCE_STEP + SLOT_BYTES)
#define FLIP_US 20000u	/* long enough for a move */

/* A process whose SDMA queue writes to every slot of its VRAM, again and again. */
struct copier {
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	struct sdma_queue sdma;
	struct kfd_buffer user_memory, source, vram[COPIER_BUFFERS];
};

/*
 * Not in the order of addresses, in which a move copies them: a store in front of the move is in no danger. The
 * factor is odd and the number of slots a power of two, so each slot has one number.
 */
static uint64_t *slot(const struct copier *copier, unsigned int number)
{
	unsigned int place = number * 193u % SLOTS;
	const struct kfd_buffer *buffer = &copier->vram[place % COPIER_BUFFERS];

	return (uint64_t *)((uint8_t *)buffer->addr + place / COPIER_BUFFERS * SLOT_BYTES);
}

/* The number of a slot and what follows in memory. */
static uint64_t *source_of(const struct copier *copier, unsigned int number)
{
	return (uint64_t *)((uint8_t *)copier->source.addr + number * SOURCE_STEP);
}

static int copier_create(struct copier *copier)
{
	unsigned int i;
	int ret = kfd_device_open(&copier->dev);

	if (!ret)
		ret = busy_queue_create(&copier->dev, &copier->queue, &copier->job, 1, HOARD_TIMEOUT_MS);
	if (!ret)
		ret = sdma_queue_create(&copier->dev, &copier->sdma);
	if (!ret)
		ret = evict_userptr_create(&copier->dev, &copier->user_memory);
	if (!ret)
		ret = kfd_buffer_alloc(&copier->dev, KFD_IN_SYSTEM, SOURCE_BYTES + 4096, &copier->source);
	for (i = 0; !ret && i < COPIER_BUFFERS; i++)
		ret = kfd_buffer_alloc(&copier->dev, KFD_IN_VRAM, BUFFER_BYTES, &copier->vram[i]);
	return ret;
}

/* Every slot gets the number of the round. Returns 0, or -EILSEQ if one has an older number afterwards. */
static int copier_round(struct copier *copier, uint32_t round)
{
	volatile uint32_t *fence = (uint32_t *)((uint8_t *)copier->source.addr + SOURCE_BYTES);
	unsigned int i, ms;

	for (i = 0; i < SLOTS; i++)
		*source_of(copier, i) = (uint64_t)round << 32 | i;
	for (i = 0; i < SLOTS; i++)
		sdma_copy(&copier->sdma, source_of(copier, i), slot(copier, i), SLOT_BYTES);
	sdma_fence(&copier->sdma, fence, round);
	sdma_submit(&copier->sdma);
	for (ms = 0; *fence != round && ms < HOARD_TIMEOUT_MS; ms++)
		sleep_us(1000);
	if (*fence != round)
		return -ETIME;
	for (i = 0; i < SLOTS; i++) {
		uint64_t found = *(volatile uint64_t *)slot(copier, i);

		if (found == ((uint64_t)round << 32 | i))
			continue;
		printf("# slot %u has round %u, not %u\n", i, (unsigned int)(found >> 32), round);
		fflush(stdout);
		return -EILSEQ;
	}
	return 0;
}

static struct copier copier;

/* KFD stops the queues of the process each time, and a worker restores them a millisecond later. */
static void *flip(void *unused)
{
	for (;;) {
		*(volatile char *)copier.user_memory.addr = 1;
		evict_userptr(&copier.user_memory);
		sleep_us(FLIP_US);
	}
	return unused;
}

static void copier_run(struct target_shared *shared)
{
	pthread_t flipper;
	uint32_t round;
	int ret;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	ret = copier_create(&copier);
	if (!ret)
		ret = -pthread_create(&flipper, NULL, flip, NULL);
	if (ret)
		_exit(1);
	shared->queue_id = copier.queue.id;
	for (round = 1; !ret && shared_get(&shared->order) != TARGET_FINISH; round++) {
		ret = copier_round(&copier, round);
		shared->result = ret;
		shared_set(&shared->progress, round);
		shared_set(&shared->ready, 1);
	}
	if (ret)
		_exit(1);
	exit(target_finish_job(&copier.job) ? 1 : 0);
}

/* The next call meets an eviction, and the worker that restores the process comes while memory moves. */
static bool is_evicted_soon(struct kfd_device *dev, const struct target *target)
{
	struct kfd_ioctl_preempt_status_args status = {};
	uint64_t end = now_ns() + TARGET_TIMEOUT_MS * 1000000ull;

	while (!(status.status & KFD_PREEMPT_STATUS_EVICTED) && now_ns() < end)
		if (preempt_status(dev->kfd_fd, target->pid, target->queue_id, &status))
			return false;
	return status.status & KFD_PREEMPT_STATUS_EVICTED;
}

TEST_F_TIMEOUT(yield, no_store_is_lost_while_other_workers_restore_the_process, 3600)
{
	unsigned int yields = (unsigned int)number_from_environment("COUNT", 40), i;
	struct target target = {};
	uint32_t first;

	ASSERT_EQ(0, target_start_as(&target, copier_run));
	first = shared_get(&target.shared->progress);
	for (i = 0; i < yields && !target.shared->result; i++) {
		ASSERT_TRUE(is_evicted_soon(&self->dev, &target));
		ASSERT_EQ(0, switch_preempt(self->dev.kfd_fd, target.pid, YIELD, target.queue_id));
		ASSERT_TRUE(is_evicted_soon(&self->dev, &target));
		ASSERT_EQ(0, switch_resume(self->dev.kfd_fd, target.pid, 0, target.queue_id));
	}
	printf("# %u yields, %u rounds of copies\n", i, shared_get(&target.shared->progress) - first);
	EXPECT_EQ(0, target.shared->result);
	EXPECT_LT(first, shared_get(&target.shared->progress));
	EXPECT_TRUE(target_finish(&target));
	target_kill(&target);
}

TEST_HARNESS_MAIN
