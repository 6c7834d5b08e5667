// SPDX-License-Identifier: GPL-2.0-only
/* cwsr_enable=0: no wave can be saved, and a stop that would have to is refused. */
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "wait.h"

#define LONG_MS 30000u

TEST(save_is_refused_and_never_done_in_another_way)
{
	struct kfd_ioctl_preempt_query_args facts;
	struct aql_queue queue;
	struct kfd_device dev;
	struct job job;

	ASSERT_EQ(0, kfd_device_open(&dev));
	facts = driver_facts(dev.kfd_fd);
	EXPECT_FALSE(facts.type_mask & 1u << KFD_PREEMPT_TYPE_SAVE);
	EXPECT_EQ(driver_caps_wanted(dev.kfd_fd, true, false), facts.caps);
	ASSERT_EQ(0, aql_queue_create(&dev, &queue));
	ASSERT_EQ(0, checksum_job_start(&job, &queue, 2, 2));
	ASSERT_TRUE(job_wait_progress(&job, 2, LONG_MS));
	EXPECT_EQ(-EOPNOTSUPP, preempt_queue(dev.kfd_fd, queue.id));
	EXPECT_EQ(-EALREADY, resume_queue(dev.kfd_fd, queue.id));
	EXPECT_TRUE(job_wait_progress(&job, 2, LONG_MS));
	job_stop(&job);
	EXPECT_TRUE(job_wait(&job, LONG_MS));
	EXPECT_EQ(0, job_errors(&job));
	if (driver_can(dev.kfd_fd, KFD_PREEMPT_TYPE_DRAIN)) {
		EXPECT_EQ(0, preempt_queue_type(dev.kfd_fd, queue.id, KFD_PREEMPT_TYPE_DRAIN, 0));
		EXPECT_EQ(0, resume_queue(dev.kfd_fd, queue.id));
	}
	EXPECT_EQ(0, aql_queue_destroy(&queue));
	kfd_device_close(&dev);
}

TEST_HARNESS_MAIN
