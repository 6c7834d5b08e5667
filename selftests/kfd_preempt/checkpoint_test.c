// SPDX-License-Identifier: GPL-2.0-only
/*
 * CHECKPOINT: a queue comes back from the copy of its MQDs and control stacks, on all XCCs. Needs
 * the software GPU, which spoils what is in memory, and root.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kfd_ioctl.h>

#include "gpu_fault.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "wait.h"

#include <unistd.h>

#define LONG_MS 30000u
#define WORKGROUPS 16u	/* some on each XCC */
#define CHECKPOINT KFD_PREEMPT_SWITCH_CHECKPOINT

FIXTURE(copy)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	uint32_t id;
	int fd;
};

FIXTURE_SETUP(copy)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue, &self->job, WORKGROUPS, LONG_MS));
	self->id = self->queue.id;
}

FIXTURE_TEARDOWN(copy)
{
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_device_close(&self->dev);
}

/* Proves that the other tests can fail: the spoiled memory holds the waves. */
TEST_F(copy, without_it_a_queue_comes_back_from_memory)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ((int)self->dev.num_xcc, gpu_scribble_mqds(getpid()));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	/* Its packet begins anew, or what was in flight is lost. */
	job_wait_progress(&self->job, 2, 1000);
	job_stop(&self->job);
	EXPECT_FALSE(job_wait(&self->job, 5000) && !job_errors(&self->job));
}

TEST_F(copy, a_queue_comes_back_from_it_on_all_XCCs)
{
	unsigned int i;

	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, switch_preempt(self->fd, 0, CHECKPOINT, self->id));
		ASSERT_EQ((int)self->dev.num_xcc, gpu_scribble_mqds(getpid()));
		EXPECT_TRUE(job_stands_still(&self->job, 3));
		ASSERT_EQ(0, resume_queue(self->fd, self->id));
		ASSERT_TRUE(job_wait_progress(&self->job, 1, LONG_MS)) {
			TH_LOG("round %u", i);
		}
	}
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

/* Resume restores the copy, even if a later call starts the queue: here UPDATE_QUEUE. */
TEST_F(copy, a_queue_of_0_percent_was_copied_as_it_was_saved)
{
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue, 0));
	ASSERT_EQ(0, switch_preempt(self->fd, 0, CHECKPOINT, self->id));
	ASSERT_EQ((int)self->dev.num_xcc, gpu_scribble_mqds(getpid()));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue, 100));
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

TEST_F_TIMEOUT(copy, checksum_survives_random_stops_with_and_without_it, 120)
{
	const char *text = getenv("KFD_PREEMPT_SEED");
	unsigned int seed = text ? (unsigned int)strtoul(text, NULL, 0) : (unsigned int)now_ns();
	unsigned int round;

	printf("# KFD_PREEMPT_SEED=%u\n", seed);
	fflush(stdout);
	for (round = 0; round < 40; round++) {
		sleep_us((unsigned int)rand_r(&seed) % 5000);
		ASSERT_EQ(0, switch_preempt(self->fd, 0, rand_r(&seed) % 2 ? CHECKPOINT : 0,
					    self->id));
		ASSERT_TRUE(job_stands_still(&self->job, (unsigned int)rand_r(&seed) % 4)) {
			TH_LOG("round %u", round);
		}
		ASSERT_EQ(0, resume_queue(self->fd, self->id));
	}
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

/* struct v9_mqd */
#define MQD_HEADER 0xc0310800u
#define MQD_BYTES 2048u

/* A CRIU image has the same copy: one MQD for each XCC, then as many control stacks. */
TEST_F(copy, an_image_of_the_process_has_the_MQDs_of_all_XCCs)
{
	struct kfd_ioctl_criu_args args = { .op = KFD_CRIU_OP_PROCESS_INFO };
	struct kfd_criu_device_bucket *devices;
	struct kfd_criu_bo_bucket *bos;
	uint32_t *word, found = 0;
	uint8_t *image;
	uint64_t at;

	ASSERT_EQ(0, kfd_ioctl(self->fd, AMDKFD_IOC_CRIU_OP, &args));
	devices = calloc(args.num_devices, sizeof(*devices));
	bos = calloc(args.num_bos, sizeof(*bos));
	image = calloc(1, args.priv_data_size);
	ASSERT_TRUE(devices && bos && image);
	args.op = KFD_CRIU_OP_CHECKPOINT;
	args.devices = (uintptr_t)devices;
	args.bos = (uintptr_t)bos;
	args.priv_data = (uintptr_t)image;
	ASSERT_EQ(0, kfd_ioctl(self->fd, AMDKFD_IOC_CRIU_OP, &args));
	for (at = 0; at + MQD_BYTES <= args.priv_data_size; at += 4) {
		word = (uint32_t *)(image + at);
		if (*word != MQD_HEADER)
			continue;
		found++;
	}
	EXPECT_EQ(self->dev.num_xcc, found);
	args.op = KFD_CRIU_OP_UNPAUSE;
	ASSERT_EQ(0, kfd_ioctl(self->fd, AMDKFD_IOC_CRIU_OP, &args));
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

TEST_HARNESS_MAIN
