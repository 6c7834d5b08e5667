// SPDX-License-Identifier: GPL-2.0-only
/*
 * More queues than slots and more processes than VMIDs: the firmware takes turns. QUEUES and ROUNDS (of random
 * stops) in the environment.
 */
#include <stdio.h>
#include <stdlib.h>

#include "kselftest_harness.h"
#include "random.h"
#include "target.h"

#define LONG_MS 60000u
#define QUEUES_MAX 64u
#define QUEUES 28		/* the runlist has 24 slots */
#define ROUNDS 60
#define PROCESSES 10u		/* the runlist has 8 VMIDs */

static unsigned int start_random(void)
{
	const char *text = getenv("KFD_PREEMPT_SEED");
	unsigned int seed = text ? (unsigned int)strtoul(text, NULL, 0) : (unsigned int)now_ns();

	printf("# KFD_PREEMPT_SEED=%u\n", seed);
	fflush(stdout);
	return seed;
}

static unsigned int rounds(void)
{
	return (unsigned int)number_from_environment("ROUNDS", ROUNDS);
}

FIXTURE(queues)
{
	struct kfd_device dev;
	unsigned int num;
	struct aql_queue queue[QUEUES_MAX];
	struct job job[QUEUES_MAX];
};

FIXTURE_SETUP(queues)
{
	unsigned int i;

	self->num = (unsigned int)number_from_environment("QUEUES", QUEUES);
	ASSERT_GE(QUEUES_MAX, self->num);
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	for (i = 0; i < self->num; i++) {
		ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue[i]));
		ASSERT_EQ(0, checksum_job_start(&self->job[i], &self->queue[i], 2, 2));
	}
}

FIXTURE_TEARDOWN(queues)
{
	unsigned int i;

	for (i = 0; i < self->num; i++) {
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
		job_free(&self->job[i]);
	}
	kfd_device_close(&self->dev);
}

TEST_F_TIMEOUT(queues, each_of_many_has_its_turn, 600)
{
	unsigned int i;

	for (i = 0; i < self->num; i++) {
		EXPECT_TRUE(job_wait_progress(&self->job[i], 2, LONG_MS)) {
			TH_LOG("queue %u", i);
		}
	}
	for (i = 0; i < self->num; i++)
		job_stop(&self->job[i]);
	for (i = 0; i < self->num; i++) {
		ASSERT_TRUE(job_wait(&self->job[i], LONG_MS));
		EXPECT_EQ(0, job_errors(&self->job[i]));
	}
}

TEST_F_TIMEOUT(queues, random_preempts_of_many_leave_every_result_right, 600)
{
	unsigned int seed = start_random(), round, i;
	bool held[QUEUES_MAX] = {};

	for (round = 0; round < rounds(); round++) {
		i = (unsigned int)rand_r(&seed) % self->num;
		if (held[i]) {
			EXPECT_TRUE(job_stands_still(&self->job[i], 1)) {
				TH_LOG("queue %u", i);
			}
			ASSERT_EQ(0, resume_queue(self->dev.kfd_fd, self->queue[i].id));
		} else {
			ASSERT_EQ(0, preempt_queue(self->dev.kfd_fd, self->queue[i].id));
		}
		held[i] = !held[i];
		sleep_us((unsigned int)rand_r(&seed) % 4000);
	}
	for (i = 0; i < self->num; i++) {
		if (held[i])
			ASSERT_EQ(0, resume_queue(self->dev.kfd_fd, self->queue[i].id));
	}
	for (i = 0; i < self->num; i++) {
		EXPECT_TRUE(job_wait_progress(&self->job[i], 1, LONG_MS)) {
			TH_LOG("queue %u", i);
		}
	}
	for (i = 0; i < self->num; i++)
		job_stop(&self->job[i]);
	for (i = 0; i < self->num; i++) {
		ASSERT_TRUE(job_wait(&self->job[i], LONG_MS));
		EXPECT_EQ(0, job_errors(&self->job[i]));
	}
}

FIXTURE(processes)
{
	struct target target[PROCESSES];
	int fd;
};

FIXTURE_SETUP(processes)
{
	unsigned int i;

	self->fd = kfd_open();
	ASSERT_LE(0, self->fd);
	for (i = 0; i < PROCESSES; i++)
		ASSERT_EQ(0, target_start(&self->target[i]));
}

FIXTURE_TEARDOWN(processes)
{
	unsigned int i;

	for (i = 0; i < PROCESSES; i++)
		target_kill(&self->target[i]);
	close(self->fd);
}

TEST_F_TIMEOUT(processes, random_suspends_of_many_leave_every_result_right, 600)
{
	unsigned int seed = start_random(), round, i;
	bool held[PROCESSES] = {};

	for (round = 0; round < rounds() / 2; round++) {
		struct target *target;

		i = (unsigned int)rand_r(&seed) % PROCESSES;
		target = &self->target[i];
		if (held[i]) {
			ASSERT_EQ(0, switch_resume(self->fd, target->pid, 0, target->queue_id));
		} else {
			ASSERT_EQ(0, switch_preempt(self->fd, target->pid, 0, target->queue_id));
		}
		held[i] = !held[i];
		sleep_us((unsigned int)rand_r(&seed) % 8000);
	}
	for (i = 0; i < PROCESSES; i++) {
		struct target *target = &self->target[i];

		if (held[i])
			ASSERT_EQ(0, switch_resume(self->fd, target->pid, 0, target->queue_id));
	}
	for (i = 0; i < PROCESSES; i++) {
		EXPECT_TRUE(target_moves(&self->target[i])) {
			TH_LOG("process %u", i);
		}
	}
	for (i = 0; i < PROCESSES; i++)
		target_stop(&self->target[i]);
	for (i = 0; i < PROCESSES; i++) {
		EXPECT_TRUE(target_finish(&self->target[i])) {
			TH_LOG("process %u", i);
		}
	}
}

/* One dies in the middle, and the others continue. */
TEST_F_TIMEOUT(processes, death_of_one_of_many_disturbs_nobody, 600)
{
	unsigned int i;

	for (i = 0; i < PROCESSES; i += 3)
		target_kill(&self->target[i]);
	for (i = 0; i < PROCESSES; i++) {
		if (i % 3 == 0)
			continue;
		EXPECT_TRUE(target_moves(&self->target[i])) {
			TH_LOG("process %u", i);
		}
	}
	for (i = 0; i < PROCESSES; i++) {
		if (i % 3)
			target_stop(&self->target[i]);
	}
	for (i = 0; i < PROCESSES; i++) {
		if (i % 3 == 0)
			continue;
		EXPECT_TRUE(target_finish(&self->target[i])) {
			TH_LOG("process %u", i);
		}
	}
}

TEST_HARNESS_MAIN
