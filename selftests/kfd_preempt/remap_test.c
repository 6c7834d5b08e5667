// SPDX-License-Identifier: GPL-2.0-only
/*
 * HWS: the runlist was unmapped for a stop and can't be mapped again, so that no queue of the GPU
 * runs. Only the preemption code retries the map. Needs root, two CPUs, debugfs, and kfd_probes.ko.
 */
#include "gpu_fault.h"
#include "held_reset.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "probes.h"
#include "sched_mode.h"
#include "wait.h"

#define LONG_MS 30000u
#define PROBE "fail_map"

/* kfd_preempt_hw_remap.c: the first try and three more at once, then one every 100 ms. */
#define TRIES_AT_ONCE 4
/* More than there are tries before a test sets 0. */
#define ALWAYS 1000000

FIXTURE(remap)
{
	struct kfd_device dev;
	struct aql_queue queue[2];	/* the one that is stopped, a bystander */
	struct job job[2];
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(remap)
{
	unsigned int i;

	ASSERT_EQ(0, probes_load());
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_FALSE(driver_has_no_hws(self->fd));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue[i], &self->job[i], 2,
					       LONG_MS));
	self->id = self->queue[0].id;
}

FIXTURE_TEARDOWN(remap)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(job_ends_right(&self->job[i], LONG_MS));
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
	}
	kfd_device_close(&self->dev);
	probes_unload();
}

TEST_F_TIMEOUT(remap, few_failures_are_made_up_for_at_once, 120)
{
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_EQ(0, probes_set(PROBE, TRIES_AT_ONCE - 1));
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_EQ(0, probes_get(PROBE));
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status.state);
	EXPECT_FALSE(status.status & KFD_PREEMPT_STATUS_DEGRADED);
	EXPECT_TRUE(job_wait_progress(&self->job[1], 2, LONG_MS));
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
}

/* Stops are done when the unmap was, whatever comes of the map. */
TEST_F_TIMEOUT(remap, more_failures_are_told_and_tried_again_until_it_works, 120)
{
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_EQ(0, probes_set(PROBE, ALWAYS));
	EXPECT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_GE(ALWAYS - TRIES_AT_ONCE, probes_get(PROBE));
	/* The price: the bystander stops as well. */
	EXPECT_TRUE(job_stands_still(&self->job[1], 200));
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status.state);
	EXPECT_TRUE(status.status & KFD_PREEMPT_STATUS_DEGRADED);
	ASSERT_EQ(0, probes_set(PROBE, 0));
	EXPECT_TRUE(job_wait_progress(&self->job[1], 2, LONG_MS));
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_FALSE(status.status & KFD_PREEMPT_STATUS_DEGRADED);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
}

TEST_F_TIMEOUT(remap, a_start_that_cannot_be_mapped_comes_later, 120)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, probes_set(PROBE, ALWAYS));
	EXPECT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_stands_still(&self->job[0], 200));
	ASSERT_EQ(0, probes_set(PROBE, 0));
}

/* A queue that is created in the meantime maps the runlist as well. */
TEST_F_TIMEOUT(remap, other_calls_may_come_first, 120)
{
	struct aql_queue other;

	ASSERT_EQ(0, probes_set(PROBE, TRIES_AT_ONCE));
	EXPECT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_EQ(0, aql_queue_create(&self->dev, &other));
	EXPECT_TRUE(job_wait_progress(&self->job[1], 2, LONG_MS));
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	EXPECT_EQ(0, aql_queue_destroy(&other));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
}

#define HOLD "hold_unmapped"

struct preempter {
	int fd;
	uint32_t id;
	int ret;
};

static void *preempt(void *arg)
{
	struct preempter *preempter = arg;

	preempter->ret = preempt_queue(preempter->fd, preempter->id);
	return NULL;
}

static bool is_held(const void *unused)
{
	(void)unused;
	return probes_get(HOLD) == 2;
}

/* The reset begins between the failed map and the next try. */
TEST(no_runlist_is_sent_in_a_reset)
{
	struct preempter preempter;
	struct held_reset reset;
	struct aql_queue queue[2];
	struct job job[2];
	struct kfd_device dev;
	pthread_t thread;
	unsigned int i;
	int64_t before;

	ASSERT_EQ(0, probes_load());
	ASSERT_EQ(0, kfd_device_open(&dev));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, busy_queue_create(&dev, &queue[i], &job[i], 2, LONG_MS));
	preempter = (struct preempter){ .fd = dev.kfd_fd, .id = queue[0].id };
	ASSERT_EQ(0, probes_set(PROBE, 1));
	ASSERT_EQ(0, probes_set(HOLD, 1));
	ASSERT_EQ(0, pthread_create(&thread, NULL, preempt, &preempter));
	ASSERT_TRUE(wait_until(is_held, NULL, LONG_MS));
	ASSERT_EQ(0, held_reset_begin(&reset, "hold_reset"));
	before = gpu_counter("hiq_packets/RUN_LIST");
	EXPECT_LT(0, before);
	/* It has waited until now. */
	EXPECT_TRUE(is_held(NULL));
	ASSERT_EQ(0, probes_set(HOLD, 0));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(0, preempter.ret);
	EXPECT_EQ(before, gpu_counter("hiq_packets/RUN_LIST"));
	EXPECT_TRUE(held_reset_waits(&reset));
	ASSERT_EQ(0, held_reset_end(&reset));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, aql_queue_destroy(&queue[i]));
	kfd_device_close(&dev);
	probes_unload();
}

TEST_HARNESS_MAIN
