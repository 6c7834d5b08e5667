// SPDX-License-Identifier: GPL-2.0-only
/* Calls on queues of two GPUs: both are served, ALL_OR_NOTHING is for one. Needs two GPUs. */
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "wait.h"

#define LONG_MS 60000u
#define GPUS 2u

FIXTURE(two)
{
	struct kfd_device dev[GPUS];
	struct aql_queue queue[GPUS];
	struct job job[GPUS];
	struct kfd_preempt_switch_entry entry[GPUS];
	int fd;
};

FIXTURE_SETUP(two)
{
	unsigned int i;

	ASSERT_EQ(0, kfd_device_open(&self->dev[0]));
	ASSERT_EQ(0, kfd_device_open_second(&self->dev[1], &self->dev[0]));
	ASSERT_NE(self->dev[0].gpu_id, self->dev[1].gpu_id);
	self->fd = self->dev[0].kfd_fd;
	for (i = 0; i < GPUS; i++)
		ASSERT_EQ(0, busy_queue_create(&self->dev[i], &self->queue[i], &self->job[i], 2,
					       LONG_MS));
}

FIXTURE_TEARDOWN(two)
{
	unsigned int i;

	for (i = 0; i < GPUS; i++) {
		EXPECT_TRUE(job_ends_right(&self->job[i], LONG_MS));
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
		kfd_device_close(&self->dev[i]);
	}
}

static int order(FIXTURE_DATA(two) *self, uint32_t flags, uint16_t first, uint16_t second)
{
	const uint16_t op[GPUS] = { first, second };
	unsigned int i;

	for (i = 0; i < GPUS; i++)
		self->entry[i] = (struct kfd_preempt_switch_entry){
			.queue_id = self->queue[i].id,
			.op = op[i],
			.preempt_type = op[i] == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0,
		};
	return preempt_switch(self->fd, 0, flags, self->entry, GPUS);
}

#define EXPECT_RESULTS(want_state) \
	do { \
		for (unsigned int gpu = 0; gpu < GPUS; gpu++) { \
			EXPECT_EQ(0, self->entry[gpu].result); \
			EXPECT_EQ(want_state, self->entry[gpu].state); \
		} \
	} while (0)

TEST_F_TIMEOUT(two, one_call_stops_and_starts_queues_of_both, 180)
{
	ASSERT_EQ(0, order(self, 0, KFD_PREEMPT_OP_PREEMPT, KFD_PREEMPT_OP_PREEMPT));
	EXPECT_RESULTS(KFD_PREEMPT_STATE_HELD);
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	EXPECT_TRUE(job_stands_still(&self->job[1], 50));
	ASSERT_EQ(0, order(self, 0, KFD_PREEMPT_OP_RESUME, KFD_PREEMPT_OP_RESUME));
	EXPECT_RESULTS(KFD_PREEMPT_STATE_RUNNING);
}

TEST_F_TIMEOUT(two, one_call_stops_one_and_starts_the_other, 180)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[1].id));
	ASSERT_EQ(0, order(self, 0, KFD_PREEMPT_OP_PREEMPT, KFD_PREEMPT_OP_RESUME));
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, self->entry[0].state);
	EXPECT_EQ(KFD_PREEMPT_STATE_RUNNING, self->entry[1].state);
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	EXPECT_TRUE(job_wait_progress(&self->job[1], 2, LONG_MS));
	ASSERT_EQ(0, resume_queue(self->fd, self->queue[0].id));
}

/* It cannot be promised: a GPU that has stopped its queue knows nothing of the other. */
TEST_F_TIMEOUT(two, all_or_nothing_on_both_is_EINVAL_and_changes_nothing, 180)
{
	struct kfd_ioctl_preempt_status_args status;
	unsigned int i;

	EXPECT_EQ(-EINVAL, order(self, KFD_PREEMPT_SWITCH_ALL_OR_NOTHING,
				 KFD_PREEMPT_OP_PREEMPT, KFD_PREEMPT_OP_PREEMPT));
	for (i = 0; i < GPUS; i++) {
		ASSERT_EQ(0, preempt_status(self->fd, 0, self->queue[i].id, &status));
		EXPECT_EQ(0, status.holds);
		EXPECT_EQ(0, status.preempts);
	}
}

TEST_F_TIMEOUT(two, query_tells_of_each, 180)
{
	struct kfd_ioctl_preempt_query_args query;
	unsigned int i;

	for (i = 0; i < GPUS; i++) {
		ASSERT_EQ(0, preempt_query(self->fd, self->dev[i].gpu_id, &query));
		EXPECT_EQ(self->dev[i].num_xcc, query.num_xcc);
	}
}

TEST_HARNESS_MAIN
