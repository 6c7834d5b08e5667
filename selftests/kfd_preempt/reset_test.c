// SPDX-License-Identifier: GPL-2.0-only
/* allow_reset=1 without firmware scheduling: RESET kills the waves, and with them the queue. */
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "target.h"

#define LONG_MS 30000u

TEST(reset_queue_is_DEAD_and_another_works)
{
	struct kfd_ioctl_preempt_status_args status;
	struct aql_queue queue, next;
	struct kfd_device dev;
	struct job job;

	ASSERT_EQ(0, kfd_device_open(&dev));
	ASSERT_TRUE(driver_can(dev.kfd_fd, KFD_PREEMPT_TYPE_RESET));
	ASSERT_EQ(0, aql_queue_create(&dev, &queue));
	ASSERT_EQ(0, checksum_job_start(&job, &queue, 8, 2));
	ASSERT_TRUE(job_wait_progress(&job, 2, LONG_MS));

	ASSERT_EQ(0, preempt_queue_type(dev.kfd_fd, queue.id, KFD_PREEMPT_TYPE_RESET, 0));
	EXPECT_TRUE(job_stands_still(&job, 50));
	ASSERT_EQ(0, preempt_status(dev.kfd_fd, 0, queue.id, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_DEAD, status.state);
	EXPECT_TRUE(status.holds & KFD_PREEMPT_HOLD_DEAD);
	EXPECT_EQ(-EIO, resume_queue(dev.kfd_fd, queue.id));
	EXPECT_EQ(-EIO, preempt_queue(dev.kfd_fd, queue.id));
	EXPECT_TRUE(job_stands_still(&job, 50));
	ASSERT_EQ(0, aql_queue_destroy(&queue));

	ASSERT_EQ(0, aql_queue_create(&dev, &next));
	ASSERT_EQ(0, checksum_job_start(&job, &next, 8, 2));
	ASSERT_TRUE(job_wait_progress(&job, 2, LONG_MS));
	ASSERT_EQ(0, preempt_queue(dev.kfd_fd, next.id));
	ASSERT_EQ(0, resume_queue(dev.kfd_fd, next.id));
	job_stop(&job);
	EXPECT_TRUE(job_wait(&job, LONG_MS));
	EXPECT_EQ(0, job_errors(&job));
	EXPECT_EQ(0, aql_queue_destroy(&next));
	kfd_device_close(&dev);
}

TEST(operator_may_not_reset)
{
	struct kfd_preempt_switch_entry entry = {
		.op = KFD_PREEMPT_OP_PREEMPT,
		.preempt_type = KFD_PREEMPT_TYPE_RESET,
	};
	struct target target = {};
	int fd;

	ASSERT_EQ(0, target_start(&target));
	fd = kfd_open();
	ASSERT_LE(0, fd);
	entry.queue_id = target.queue_id;
	ASSERT_EQ(0, preempt_switch(fd, target.pid, 0, &entry, 1));
	EXPECT_EQ(-EPERM, entry.result);
	EXPECT_TRUE(target_moves(&target));
	EXPECT_TRUE(target_finish(&target));
	close(fd);
}

TEST_HARNESS_MAIN
