// SPDX-License-Identifier: GPL-2.0-only
/*
 * A lost fence under firmware scheduling ends in the driver's GPU reset.
 * Needs a GPU that loses the first fence behind a save (see the boots file).
 */
#include "aql_queue.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "wait.h"

#define LONG_MS 30000u

FIXTURE(fence)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(fence)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(KFD_PREEMPT_SCHED_HWS, driver_facts(self->fd).sched_mode);
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue));
	self->id = self->queue.id;
	ASSERT_EQ(0, checksum_job_start(&self->job, &self->queue, 2, 2));
	ASSERT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
}

FIXTURE_TEARDOWN(fence)
{
	if (self->queue.ring.addr)
		EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_device_close(&self->dev);
}

/* The tests run in this order: the fence is lost once. */
TEST_F_TIMEOUT(fence, lost_fence_makes_the_queue_DEAD_and_nothing_hangs, 120)
{
	struct kfd_ioctl_preempt_status_args status = {};
	unsigned int ms;

	ASSERT_EQ(-EIO, preempt_queue(self->fd, self->id)) {
		TH_LOG("the stop was confirmed: start the vgpu with --fault drop-fence");
	}
	for (ms = 0; ms < LONG_MS && status.state != KFD_PREEMPT_STATE_DEAD; ms += 50) {
		ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
		sleep_us(50000);
	}
	EXPECT_EQ(KFD_PREEMPT_STATE_DEAD, status.state);
	EXPECT_TRUE(status.holds & KFD_PREEMPT_HOLD_DEAD);
	EXPECT_EQ(-EIO, preempt_queue(self->fd, self->id));
	EXPECT_EQ(-EIO, resume_queue(self->fd, self->id));
	EXPECT_FALSE(job_done(&self->job));
	/* Destroying it is all that is left, and works. */
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
}

TEST_F_TIMEOUT(fence, fresh_process_after_the_reset_stops_and_resumes, 120)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_TRUE(job_stands_still(&self->job, 200));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	job_stop(&self->job);
	ASSERT_TRUE(job_wait(&self->job, LONG_MS));
	EXPECT_EQ(0, job_errors(&self->job));
}

TEST_HARNESS_MAIN
