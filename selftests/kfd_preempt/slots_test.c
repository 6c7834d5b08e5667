// SPDX-License-Identifier: GPL-2.0-only
/*
 * sched_policy=1: firmware scheduling without oversubscription. A held queue gives up its slot, and
 * comes back only when there is one.
 */
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "wait.h"

#define LONG_MS 30000u
#define QUEUES_MAX 128u

FIXTURE(slots)
{
	struct kfd_device dev;
	struct aql_queue queue[QUEUES_MAX];
	struct job job;
	unsigned int num;
	int fd;
};

/* All slots are taken; the first queue computes. */
FIXTURE_SETUP(slots)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(KFD_PREEMPT_SCHED_HWS_NO_OVERSUB, driver_facts(self->fd).sched_mode);
	while (self->num < QUEUES_MAX &&
	       !aql_queue_create(&self->dev, &self->queue[self->num]))
		self->num++;
	ASSERT_LT(2, self->num);
	ASSERT_GT(QUEUES_MAX, self->num);
	ASSERT_EQ(0, checksum_job_start(&self->job, &self->queue[0], 2, 2));
	ASSERT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
}

FIXTURE_TEARDOWN(slots)
{
	unsigned int i;

	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	job_stop(&self->job);
	EXPECT_TRUE(job_wait(&self->job, LONG_MS));
	EXPECT_EQ(0, job_errors(&self->job));
	for (i = 0; i < self->num; i++)
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
	kfd_device_close(&self->dev);
}

#define EXPECT_STATE(queue, want) \
	do { \
		struct kfd_ioctl_preempt_status_args now; \
		ASSERT_EQ(0, preempt_status(self->fd, 0, (queue)->id, &now)); \
		EXPECT_EQ(want, now.state); \
	} while (0)

TEST_F_TIMEOUT(slots, resume_without_a_slot_is_ENOSPC_and_stays_held, 120)
{
	struct aql_queue more;

	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[0].id));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &more));
	EXPECT_EQ(-ENOSPC, resume_queue(self->fd, self->queue[0].id));
	EXPECT_STATE(&self->queue[0], KFD_PREEMPT_STATE_HELD);
	EXPECT_TRUE(job_stands_still(&self->job, 50));
	ASSERT_EQ(0, aql_queue_destroy(&more));
	ASSERT_EQ(0, resume_queue(self->fd, self->queue[0].id));
}

/* Stops come before starts, in whatever order they are named. */
TEST_F_TIMEOUT(slots, stop_in_the_same_call_makes_the_slot_free, 120)
{
	struct kfd_preempt_switch_entry entry[2] = {};
	struct aql_queue more;

	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[0].id));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &more));
	entry[0].queue_id = self->queue[0].id;
	entry[0].op = KFD_PREEMPT_OP_RESUME;
	entry[1].queue_id = self->queue[1].id;
	entry[1].op = KFD_PREEMPT_OP_PREEMPT;
	entry[1].preempt_type = KFD_PREEMPT_TYPE_SAVE;
	ASSERT_EQ(0, preempt_switch(self->fd, 0, KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, entry, 2));
	EXPECT_EQ(0, entry[0].result);
	EXPECT_EQ(0, entry[1].result);
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	EXPECT_EQ(-ENOSPC, resume_queue(self->fd, self->queue[1].id));
	ASSERT_EQ(0, aql_queue_destroy(&more));
	EXPECT_EQ(0, resume_queue(self->fd, self->queue[1].id));
}

/* Nothing is stopped for a start that has no slot. */
TEST_F_TIMEOUT(slots, all_or_nothing_without_a_slot_changes_nothing, 120)
{
	struct kfd_preempt_switch_entry entry[2] = {};
	struct aql_queue more[2];
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, preempt_queue(self->fd, self->queue[1 + i].id));
		ASSERT_EQ(0, aql_queue_create(&self->dev, &more[i]));
		entry[i].queue_id = self->queue[1 + i].id;
		entry[i].op = KFD_PREEMPT_OP_RESUME;
	}
	ASSERT_EQ(0, aql_queue_destroy(&more[0]));
	ASSERT_EQ(0, preempt_switch(self->fd, 0, KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, entry, 2));
	EXPECT_EQ(-EBUSY, entry[0].result);
	EXPECT_EQ(-ENOSPC, entry[1].result);
	EXPECT_STATE(&self->queue[1], KFD_PREEMPT_STATE_HELD);
	EXPECT_STATE(&self->queue[2], KFD_PREEMPT_STATE_HELD);
	ASSERT_EQ(0, aql_queue_destroy(&more[1]));
	ASSERT_EQ(0, preempt_switch(self->fd, 0, KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, entry, 2));
	EXPECT_EQ(0, entry[0].result);
	EXPECT_EQ(0, entry[1].result);
}

TEST_HARNESS_MAIN
