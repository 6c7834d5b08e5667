// SPDX-License-Identifier: GPL-2.0-only
/* Stopping a queue in the middle of its kernel, and the result afterwards. */
#include <stdio.h>
#include <stdlib.h>

#include "aql_queue.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "preempt.h"
#include "wait.h"

#define LONG_MS 30000u

FIXTURE(two_queues)
{
	struct kfd_device dev;
	struct aql_queue queue[2];
	struct job job[2];
	int fd;
};

FIXTURE_SETUP(two_queues)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue[0]));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue[1]));
}

FIXTURE_TEARDOWN(two_queues)
{
	EXPECT_EQ(0, aql_queue_destroy(&self->queue[0]));
	EXPECT_EQ(0, aql_queue_destroy(&self->queue[1]));
	kfd_device_close(&self->dev);
}

/* A number from the environment, so that a failure can be run again. */
static unsigned int setting(const char *name, unsigned int otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned int)strtoul(text, NULL, 0) : otherwise;
}

static unsigned int rounds(void)
{
	return setting("KFD_PREEMPT_ROUNDS", 100);
}

static unsigned int start_random(void)
{
	unsigned int seed = setting("KFD_PREEMPT_SEED", (unsigned int)now_ns());

	printf("# KFD_PREEMPT_ROUNDS=%u KFD_PREEMPT_SEED=%u\n", rounds(), seed);
	fflush(stdout);
	return seed;
}

#define FINISH_JOB(job) \
	do { \
		job_stop(job); \
		ASSERT_TRUE(job_wait(job, LONG_MS)); \
		EXPECT_EQ(0, job_errors(job)); \
		job_free(job); \
	} while (0)

TEST_F(two_queues, stopped_kernel_stands_still_until_resumed)
{
	struct kfd_ioctl_preempt_status_args status;
	struct job *job = &self->job[0];
	uint32_t id = self->queue[0].id;

	ASSERT_EQ(0, count_job_start(job, &self->queue[0], 2));
	ASSERT_TRUE(job_wait_progress(job, 10, LONG_MS));

	ASSERT_EQ(0, preempt_queue(self->fd, id));
	EXPECT_TRUE(job_stands_still(job, 500));
	ASSERT_EQ(0, preempt_status(self->fd, 0, id, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status.state);
	EXPECT_EQ(KFD_PREEMPT_HOLD_SELF, status.holds);
	EXPECT_FALSE(job_done(job));

	ASSERT_EQ(0, resume_queue(self->fd, id));
	EXPECT_TRUE(job_wait_progress(job, 10, LONG_MS));
	ASSERT_EQ(0, preempt_status(self->fd, 0, id, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_RUNNING, status.state);
	EXPECT_EQ(0, status.holds);
	FINISH_JOB(job);
}

TEST_F(two_queues, stop_word_written_while_held_is_seen_after_resume)
{
	struct job *job = &self->job[0];

	ASSERT_EQ(0, checksum_job_start(job, &self->queue[0], 3, 4));
	ASSERT_TRUE(job_wait_progress(job, 3, LONG_MS));
	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[0].id));
	job_stop(job);
	EXPECT_FALSE(job_wait(job, 200));
	ASSERT_EQ(0, resume_queue(self->fd, self->queue[0].id));
	FINISH_JOB(job);
}

TEST_F_TIMEOUT(two_queues, checksum_survives_random_preempts, 600)
{
	unsigned int seed = start_random(), round;
	struct job *job = &self->job[0];
	uint32_t id = self->queue[0].id;

	ASSERT_EQ(0, checksum_job_start(job, &self->queue[0], 3, 4));
	ASSERT_TRUE(job_wait_progress(job, 1, LONG_MS));
	for (round = 0; round < rounds(); round++) {
		sleep_us((unsigned int)rand_r(&seed) % 5000);
		ASSERT_EQ(0, preempt_queue(self->fd, id)) {
			TH_LOG("round %u", round);
		}
		ASSERT_TRUE(job_stands_still(job, (unsigned int)rand_r(&seed) % 8)) {
			TH_LOG("round %u", round);
		}
		ASSERT_EQ(0, resume_queue(self->fd, id)) {
			TH_LOG("round %u", round);
		}
	}
	EXPECT_TRUE(job_wait_progress(job, 3, LONG_MS));
	FINISH_JOB(job);
}

TEST_F_TIMEOUT(two_queues, checksums_survive_random_preempts_of_either_queue, 600)
{
	unsigned int seed = start_random(), round, i;
	bool held[2] = { false, false };

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, checksum_job_start(&self->job[i], &self->queue[i], 2, 2));
	for (round = 0; round < rounds(); round++) {
		i = (unsigned int)rand_r(&seed) % 2;
		if (held[i]) {
			EXPECT_TRUE(job_stands_still(&self->job[i], 1));
			ASSERT_EQ(0, resume_queue(self->fd, self->queue[i].id));
		} else {
			ASSERT_EQ(0, preempt_queue(self->fd, self->queue[i].id));
		}
		held[i] = !held[i];
		sleep_us((unsigned int)rand_r(&seed) % 3000);
	}
	for (i = 0; i < 2; i++) {
		if (held[i])
			ASSERT_EQ(0, resume_queue(self->fd, self->queue[i].id));
	}
	for (i = 0; i < 2; i++)
		FINISH_JOB(&self->job[i]);
}

TEST_F(two_queues, kernel_makes_progress_between_quick_preempts)
{
	struct job *job = &self->job[0];
	unsigned int i;

	ASSERT_EQ(0, count_job_start(job, &self->queue[0], 1));
	for (i = 0; i < 30; i++) {
		ASSERT_TRUE(job_wait_progress(job, 1, LONG_MS));
		ASSERT_EQ(0, preempt_queue(self->fd, self->queue[0].id));
		ASSERT_EQ(0, resume_queue(self->fd, self->queue[0].id));
	}
	FINISH_JOB(job);
}

TEST_F(two_queues, only_the_stopped_queue_stands_still)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, count_job_start(&self->job[i], &self->queue[i], 2));
		ASSERT_TRUE(job_wait_progress(&self->job[i], 5, LONG_MS));
	}
	for (i = 0; i < 2; i++) {
		uint32_t before;

		ASSERT_EQ(0, preempt_queue(self->fd, self->queue[i].id));
		before = job_progress(&self->job[i], 0);
		EXPECT_TRUE(job_wait_progress(&self->job[1 - i], 20, LONG_MS));
		EXPECT_TRUE(job_stands_still(&self->job[i], 100));
		EXPECT_TRUE(job_wait_progress(&self->job[1 - i], 20, LONG_MS));
		EXPECT_EQ(before, job_progress(&self->job[i], 0));
		ASSERT_EQ(0, resume_queue(self->fd, self->queue[i].id));
		EXPECT_TRUE(job_wait_progress(&self->job[i], 5, LONG_MS));
	}
	for (i = 0; i < 2; i++)
		FINISH_JOB(&self->job[i]);
}

TEST_F(two_queues, switch_stops_one_queue_and_starts_the_other)
{
	struct kfd_preempt_switch_entry entry[2] = {};
	unsigned int i, round;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, checksum_job_start(&self->job[i], &self->queue[i], 2, 2));
		ASSERT_TRUE(job_wait_progress(&self->job[i], 2, LONG_MS));
		entry[i].queue_id = self->queue[i].id;
	}
	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[1].id));
	for (round = 0; round < 20; round++) {
		unsigned int stop = round % 2;

		entry[stop].op = KFD_PREEMPT_OP_PREEMPT;
		entry[stop].preempt_type = KFD_PREEMPT_TYPE_SAVE;
		entry[1 - stop].op = KFD_PREEMPT_OP_RESUME;
		entry[1 - stop].preempt_type = 0;
		ASSERT_EQ(0, preempt_switch(self->fd, 0, 0, entry, 2));
		for (i = 0; i < 2; i++)
			ASSERT_EQ(0, entry[i].result);
		EXPECT_EQ(KFD_PREEMPT_STATE_HELD, entry[stop].state);
		EXPECT_EQ(KFD_PREEMPT_HOLD_SELF, entry[stop].holds);
		EXPECT_EQ(KFD_PREEMPT_STATE_RUNNING, entry[1 - stop].state);
		EXPECT_EQ(0, entry[1 - stop].holds);
		EXPECT_NE(entry[0].queue_uid, entry[1].queue_uid);
		EXPECT_TRUE(job_stands_still(&self->job[stop], 5));
		EXPECT_TRUE(job_wait_progress(&self->job[1 - stop], 1, LONG_MS));
	}
	/* The last round stopped queue 1. */
	ASSERT_EQ(0, resume_queue(self->fd, self->queue[1].id));
	for (i = 0; i < 2; i++)
		FINISH_JOB(&self->job[i]);
}

TEST_F(two_queues, entries_of_a_switch_fail_one_by_one)
{
	struct kfd_preempt_switch_entry entry[3] = {};
	struct kfd_ioctl_preempt_switch_args args = {
		.entries_ptr = (uintptr_t)entry,
		.num_entries = 3,
	};
	unsigned int i;

	for (i = 0; i < 3; i++) {
		entry[i].op = KFD_PREEMPT_OP_PREEMPT;
		entry[i].preempt_type = KFD_PREEMPT_TYPE_SAVE;
	}
	entry[0].queue_id = self->queue[0].id;
	entry[1].queue_id = 0x7fffffffu;
	entry[2].queue_id = self->queue[1].id;
	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[0].id));

	ASSERT_EQ(0, kfd_ioctl(self->fd, AMDKFD_IOC_PREEMPT_SWITCH, &args));
	EXPECT_EQ(-EALREADY, entry[0].result);
	EXPECT_EQ(-ENOENT, entry[1].result);
	EXPECT_EQ(0, entry[2].result);
	EXPECT_EQ(1, args.num_done);
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, entry[0].state);
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, entry[2].state);
	EXPECT_EQ(0, resume_queue(self->fd, self->queue[0].id));
	EXPECT_EQ(0, resume_queue(self->fd, self->queue[1].id));
}

TEST_F(two_queues, packets_behind_a_stopped_kernel_run_after_it)
{
	struct aql_queue *queue = &self->queue[0];

	ASSERT_EQ(0, checksum_job_start(&self->job[0], queue, 2, 2));
	ASSERT_EQ(0, checksum_job_start(&self->job[1], queue, 2, 2));
	ASSERT_TRUE(job_wait_progress(&self->job[0], 2, LONG_MS));
	ASSERT_EQ(0, preempt_queue(self->fd, queue->id));
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	EXPECT_EQ(0, job_progress(&self->job[1], 0));
	ASSERT_EQ(0, resume_queue(self->fd, queue->id));
	EXPECT_TRUE(job_wait_progress(&self->job[0], 2, LONG_MS));
	EXPECT_EQ(0, job_progress(&self->job[1], 0));
	FINISH_JOB(&self->job[0]);

	/* Now the second one runs; stop it as well. */
	ASSERT_TRUE(job_wait_progress(&self->job[1], 2, LONG_MS));
	ASSERT_EQ(0, preempt_queue(self->fd, queue->id));
	EXPECT_TRUE(job_stands_still(&self->job[1], 50));
	ASSERT_EQ(0, resume_queue(self->fd, queue->id));
	FINISH_JOB(&self->job[1]);
}

TEST_HARNESS_MAIN
