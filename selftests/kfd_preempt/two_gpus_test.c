// SPDX-License-Identifier: GPL-2.0-only
/* Calls on queues of two GPUs: both are served, ALL_OR_NOTHING is for one. Needs two GPUs. */
#include "gpu_fault.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "text_file.h"
#include "verify.h"
#include "wait.h"
#include "watch.h"

#define LONG_MS 60000u
#define GPUS 2u
#define REARM "/sys/module/amdgpu/parameters/preempt_degraded"

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

/* It can't be promised: a GPU that has stopped its queue knows nothing of the other. */
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

static int switch_all(const FIXTURE_DATA(two) *self, uint16_t op, uint32_t gpu_id)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = KFD_PREEMPT_ALL_QUEUES,
		.op = op,
		.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0,
		.gpu_id = gpu_id,
	};
	int ret = preempt_switch(self->fd, 0, 0, &entry, 1);

	return ret ? ret : entry.result;
}

static uint32_t holds_of(const FIXTURE_DATA(two) *self, uint32_t id)
{
	struct kfd_ioctl_preempt_status_args status;

	return preempt_status(self->fd, 0, id, &status) ? ~0u : status.holds;
}

TEST_F_TIMEOUT(two, process_is_held_on_one_gpu, 180)
{
	struct aql_queue born[GPUS];
	unsigned int i;

	ASSERT_EQ(0, switch_all(self, KFD_PREEMPT_OP_PREEMPT, self->dev[1].gpu_id));
	for (i = 0; i < GPUS; i++) {
		ASSERT_EQ(0, aql_queue_create(&self->dev[i], &born[i]));
		EXPECT_EQ(i ? KFD_PREEMPT_HOLD_SELF : 0, holds_of(self, self->queue[i].id));
		EXPECT_EQ(i ? KFD_PREEMPT_HOLD_SELF : 0, holds_of(self, born[i].id));
	}
	EXPECT_EQ(-EALREADY, switch_all(self, KFD_PREEMPT_OP_RESUME, self->dev[0].gpu_id));
	ASSERT_EQ(0, switch_all(self, KFD_PREEMPT_OP_RESUME, 0));
	for (i = 0; i < GPUS; i++) {
		EXPECT_EQ(0, holds_of(self, self->queue[i].id));
		EXPECT_EQ(0, holds_of(self, born[i].id));
		EXPECT_EQ(0, aql_queue_destroy(&born[i]));
	}
}

/* One of them leaves a queue running, and is degraded. */
TEST_F_TIMEOUT(two, gpu_that_is_degraded_takes_no_flag_from_the_other, 180)
{
	unsigned int i, bad = GPUS;

	ASSERT_TRUE(verify_is_on());
	ASSERT_LE(0, gpu_fault_arm("unmap-skipped:count=1"));
	for (i = 0; i < GPUS; i++) {
		if (preempt_queue(self->fd, self->queue[i].id) == -ETIME)
			bad = i;
		ASSERT_EQ(0, resume_queue(self->fd, self->queue[i].id));
	}
	ASSERT_GT(GPUS, bad);
	ASSERT_EQ(0, order(self, KFD_PREEMPT_SWITCH_YIELD_MEMORY | KFD_PREEMPT_SWITCH_CHECKPOINT,
			   KFD_PREEMPT_OP_PREEMPT, KFD_PREEMPT_OP_PREEMPT));
	EXPECT_EQ(-EOPNOTSUPP, self->entry[bad].result);
	EXPECT_EQ(0, self->entry[!bad].result);
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, self->entry[!bad].state);
	EXPECT_EQ(0, resume_queue(self->fd, self->queue[!bad].id));
	gpu_fault_disarm_all();
	ASSERT_EQ(0, text_file_write(REARM, "0"));
	EXPECT_EQ(0, driver_facts(self->fd).degraded);
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

/* A watch names the GPU whose doorbells were rung; a ring on one disarms only that one. */
TEST_F_TIMEOUT(two, watch_tells_the_gpus_apart, 180)
{
	struct kfd_preempt_watch_arm_entry entry;
	struct kfd_preempt_watch_event event;
	int watch = watch_open(self->fd);
	int id = watch_add(watch, getpid(), 1);
	struct aql_queue off[GPUS];
	unsigned int i;

	ASSERT_LT(0, id);
	for (i = 0; i < GPUS; i++)
		ASSERT_EQ(0, aql_queue_create_off(&self->queue[i], &off[i]));
	/* One event for each GPU that got a queue would be lost if they shared a place. */
	for (i = 0; i < GPUS; i++) {
		ASSERT_TRUE(watch_next(watch, LONG_MS, &event));
		EXPECT_EQ(KFD_PREEMPT_WATCH_QUEUE_CREATED, event.type);
	}
	ASSERT_EQ(0, watch_arm(watch, (uint32_t)id, 0, &entry));
	/* Those that are off share their indexes. */
	EXPECT_EQ(3, entry.gpus_busy);
	EXPECT_EQ(2 * GPUS, entry.queues_busy);
	for (i = GPUS; i-- > 0; ) {
		aql_queue_barrier(&self->queue[i], NULL);
		ASSERT_TRUE(watch_next(watch, LONG_MS, &event));
		EXPECT_EQ(KFD_PREEMPT_WATCH_RANG, event.type);
		EXPECT_EQ(self->dev[i].gpu_id, event.gpu_id);
		EXPECT_FALSE(watch_next(watch, 100, &event));
	}
	for (i = 0; i < GPUS; i++)
		EXPECT_EQ(0, aql_queue_destroy_idle(&off[i]));
	close(watch);
}

TEST_HARNESS_MAIN
