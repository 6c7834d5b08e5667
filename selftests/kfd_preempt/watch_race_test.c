// SPDX-License-Identifier: GPL-2.0-only
/* Rings against ARM of a watch, in two threads: none is lost. COUNT in the environment. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "preempt.h"
#include "watch_fixture.h"

/* How often a race is tried. */
static unsigned int count_or(unsigned int count)
{
	const char *wanted = getenv("COUNT");

	return wanted ? (unsigned int)strtoul(wanted, NULL, 10) : count;
}

/*
 * One thread submits a packet at any time, another arms: either ARM says that there is work, or
 * there is an event. The queue is held meanwhile, so that work stays where it is.
 */
struct submitter {
	struct aql_queue *queue;
	struct aql_signal *signal;
	atomic_uint turn;
	unsigned int turns;
};

static void *submit_in_each_turn(void *arg)
{
	struct submitter *submitter = arg;
	volatile unsigned int spin;
	unsigned int i;

	for (i = 1; i <= submitter->turns; i++) {
		while (atomic_load(&submitter->turn) < i)
			;
		for (spin = i * 7919 % 20011; spin; spin--)
			;
		aql_queue_barrier(submitter->queue, submitter->signal);
	}
	return NULL;
}

TEST_F_TIMEOUT(watch, work_is_told_by_arm_or_by_an_event, 300)
{
	struct submitter submitter = {
		.queue = &self->queue,
		.signal = self->signal,
		.turns = count_or(300),
	};
	unsigned int i, by_arm = 0, by_event = 0;
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, submit_in_each_turn, &submitter));
	for (i = 1; i <= submitter.turns; i++) {
		bool told;

		self->signal->value = 1;
		ASSERT_EQ(0, preempt_queue(self->dev.kfd_fd, self->queue.id));
		atomic_store(&submitter.turn, i);
		ASSERT_EQ(0, ARM(0));
		told = NEXT(self->entry.queues_busy ? 0 : LONG_MS);
		if (!told && !self->entry.queues_busy)
			break;
		by_event += told;
		by_arm += self->entry.queues_busy;
		ASSERT_EQ(0, resume_queue(self->dev.kfd_fd, self->queue.id));
		ASSERT_TRUE(aql_signal_wait(self->signal, LONG_MS));
		while (NEXT(0))
			;
	}
	printf("# told by ARM %u times, by an event %u times\n", by_arm, by_event);
	ASSERT_EQ(submitter.turns + 1, i);
	pthread_join(thread, NULL);
}

/* Two threads: one rings without pause, the other arms. An edge that is lost never comes again. */
struct ringer {
	struct aql_queue *queue;
	struct aql_signal *signal;
	atomic_bool stop;
	atomic_uint_fast64_t rings;
};

static void *ring_without_pause(void *arg)
{
	struct ringer *ringer = arg;

	while (!atomic_load(&ringer->stop)) {
		__atomic_store_n(&ringer->signal->value, 1, __ATOMIC_RELEASE);
		aql_queue_barrier(ringer->queue, ringer->signal);
		while (__atomic_load_n(&ringer->signal->value, __ATOMIC_ACQUIRE) &&
		       !atomic_load(&ringer->stop))
			sched_yield();
		atomic_fetch_add(&ringer->rings, 1);
	}
	return NULL;
}

TEST_F_TIMEOUT(watch, no_edge_is_lost_in_a_race_of_arm_and_ring, 3600)
{
	unsigned long i, arms = count_or(3000);
	struct ringer ringer = { .queue = &self->queue, .signal = self->signal };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, ring_without_pause, &ringer));
	for (i = 0; i < arms; i++) {
		if (ARM(i & 1 ? KFD_PREEMPT_WATCH_NO_LOOK : 0) || !NEXT(LONG_MS) ||
		    self->event.type != KFD_PREEMPT_WATCH_RANG)
			break;
	}
	atomic_store(&ringer.stop, true);
	pthread_join(thread, NULL);
	EXPECT_EQ(arms, i);
	printf("# %lu arms against %llu rings\n", i, (unsigned long long)atomic_load(&ringer.rings));
	EXPECT_TRUE(aql_signal_wait(self->signal, LONG_MS));
}

TEST_HARNESS_MAIN
