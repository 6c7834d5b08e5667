// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stop that the hardware never confirms, without firmware scheduling.
 * Needs a GPU whose first dequeue never completes (see the boots file).
 */
#include "aql_queue.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "wait.h"

#define LONG_MS 30000u

FIXTURE(never)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(never)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_TRUE(driver_has_no_hws(self->fd));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue));
	self->id = self->queue.id;
	ASSERT_EQ(0, checksum_job_start(&self->job, &self->queue, 2, 2));
	ASSERT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
}

FIXTURE_TEARDOWN(never)
{
	kfd_device_close(&self->dev);
}

/* One test: the hardware queue stays lost until the next reset. */
TEST_F_TIMEOUT(never, unconfirmed_stop_stays_PENDING_and_nothing_hangs, 120)
{
	struct kfd_ioctl_preempt_status_args status;
	unsigned int i;

	ASSERT_EQ(-ETIME, preempt_queue_type(self->fd, self->id, KFD_PREEMPT_TYPE_SAVE, 500)) {
		TH_LOG("the GPU stops in time: start the vgpu with --fault dequeue-never");
	}
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(-EBUSY, resume_queue(self->fd, self->id));
		EXPECT_EQ(-ETIME, preempt_queue_type(self->fd, self->id, KFD_PREEMPT_TYPE_SAVE,
						     200));
	}
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_PENDING, status.state);
	EXPECT_EQ(KFD_PREEMPT_HOLD_SELF, status.holds);
	EXPECT_EQ(0, status.preempts);
	EXPECT_EQ(0, status.resumes);
	EXPECT_LE(1, status.failures);

	/* It can be destroyed, if with the error that the hardware didn't answer. */
	sleep_us(100000);
	aql_queue_destroy(&self->queue);
	EXPECT_EQ(-ENOENT, preempt_status(self->fd, 0, self->id, &status));
}

/* The other hardware queues continue. */
TEST_F_TIMEOUT(never, fresh_process_stops_and_resumes_its_queue, 120)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_TRUE(job_stands_still(&self->job, 200));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	job_stop(&self->job);
	ASSERT_TRUE(job_wait(&self->job, LONG_MS));
	EXPECT_EQ(0, job_errors(&self->job));
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
}

TEST_HARNESS_MAIN
