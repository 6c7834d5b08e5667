// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls that meet the reset of a GPU in the moment before its queues are dead: it has the hardware,
 * so nothing is asked of it and nothing changes. Needs root, two CPUs, debugfs, and kfd_probes.ko.
 */
#include <errno.h>
#include <pthread.h>

#include "gpu_debugfs.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "preempt.h"
#include "probes.h"
#include "wait.h"

#define LONG_MS 30000u
#define PROBE "hold_reset"

/* As the probe says it. */
enum { GO_ON = 0, THE_NEXT = 1, WAITS = 2 };

FIXTURE(in_reset)
{
	struct kfd_device dev;
	struct aql_queue queue[2];	/* one that is held, another */
	struct job job[2];
	int fd;
};

FIXTURE_SETUP(in_reset)
{
	unsigned int i;

	ASSERT_EQ(0, probes_load());
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue[i], &self->job[i], 2,
					       LONG_MS));
}

FIXTURE_TEARDOWN(in_reset)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
	kfd_device_close(&self->dev);
	probes_unload();
}

static void *reset_gpu(void *unused)
{
	(void)unused;
	return gpu_debugfs_read("amdgpu_gpu_recover") ? &gpu_debugfs_read : NULL;
}

static bool reset_waits(const void *unused)
{
	(void)unused;
	return probes_get(PROBE) == WAITS;
}

static void expect_state(struct __test_metadata *_metadata, FIXTURE_DATA(in_reset) *self,
			 unsigned int queue, uint32_t state, uint32_t holds)
{
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_EQ(0, preempt_status(self->fd, 0, self->queue[queue].id, &status));
	EXPECT_EQ(state, status.state);
	EXPECT_EQ(holds, status.holds & ~KFD_PREEMPT_HOLD_DEAD);
	EXPECT_EQ(state == KFD_PREEMPT_STATE_DEAD, !!(status.holds & KFD_PREEMPT_HOLD_DEAD));
}

TEST_F_TIMEOUT(in_reset, calls_before_the_queues_are_dead_change_nothing, 120)
{
	const uint32_t held = self->queue[0].id, other = self->queue[1].id;
	pthread_t thread;
	void *failed;

	ASSERT_EQ(0, preempt_queue(self->fd, held));
	ASSERT_EQ(0, probes_set(PROBE, THE_NEXT));
	ASSERT_EQ(0, pthread_create(&thread, NULL, reset_gpu, NULL));
	EXPECT_TRUE(wait_until(reset_waits, NULL, LONG_MS));

	EXPECT_EQ(-EBUSY, preempt_queue(self->fd, other));
	EXPECT_EQ(-EBUSY, resume_queue(self->fd, held));
	/* What asks nothing of the hardware is answered as always. */
	EXPECT_EQ(-EALREADY, preempt_queue(self->fd, held));
	expect_state(_metadata, self, 0, KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF);
	expect_state(_metadata, self, 1, KFD_PREEMPT_STATE_RUNNING, 0);
	EXPECT_EQ(WAITS, probes_get(PROBE)) {
		TH_LOG("the reset did not wait for the calls: does the guest have two CPUs?");
	}

	ASSERT_EQ(0, probes_set(PROBE, GO_ON));
	ASSERT_EQ(0, pthread_join(thread, &failed));
	ASSERT_EQ(NULL, failed);
	expect_state(_metadata, self, 0, KFD_PREEMPT_STATE_DEAD, KFD_PREEMPT_HOLD_SELF);
	expect_state(_metadata, self, 1, KFD_PREEMPT_STATE_DEAD, 0);
	EXPECT_EQ(-EIO, preempt_queue(self->fd, other));
	EXPECT_EQ(-EIO, resume_queue(self->fd, held));
}

TEST_F_TIMEOUT(in_reset, fresh_queue_after_the_reset_stops_and_resumes, 120)
{
	unsigned int i;

	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[0].id));
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	ASSERT_EQ(0, resume_queue(self->fd, self->queue[0].id));
	for (i = 0; i < 2; i++)
		EXPECT_TRUE(job_ends_right(&self->job[i], LONG_MS));
}

TEST_HARNESS_MAIN
