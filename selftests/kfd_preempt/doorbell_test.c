// SPDX-License-Identifier: GPL-2.0-only
/*
 * A stop by doorbell leaves the queues of others on the hardware. Needs the driver's parameter
 * preempt_by_doorbell=1, the software GPU with one XCC, which counts, and root.
 */
#include "gpu_fault.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "preempt.h"
#include "sched_mode.h"

#define LONG_MS 30000u
#define QUEUES 6u
#define BATCH 5u	/* one more than fits into a packet */

struct counts {
	int64_t unmaps, maps, queues;
};

static struct counts count_now(void)
{
	return (struct counts){
		.unmaps = gpu_counter("hiq_packets/UNMAP_QUEUES"),
		.maps = gpu_counter("hiq_packets/RUN_LIST"),
		.queues = gpu_counter("queue_unmaps"),
	};
}

FIXTURE(doorbell)
{
	struct kfd_device dev;
	struct aql_queue queue[QUEUES];
	struct job job[QUEUES];
	struct counts before;
	int fd;
};

FIXTURE_SETUP(doorbell)
{
	unsigned int i;

	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(KFD_PREEMPT_SCHED_HWS, driver_facts(self->fd).sched_mode);
	for (i = 0; i < QUEUES; i++)
		ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue[i], &self->job[i], 1,
					       LONG_MS));
	self->before = count_now();
	ASSERT_LT(0, self->before.maps);
}

FIXTURE_TEARDOWN(doorbell)
{
	unsigned int i;

	for (i = 0; i < QUEUES; i++) {
		EXPECT_TRUE(job_ends_right(&self->job[i], LONG_MS));
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
		job_free(&self->job[i]);
	}
	kfd_device_close(&self->dev);
}

/* Checks the unmaps, the maps and the queues that left the hardware since the setup. */
static void expect_counts(struct __test_metadata *_metadata, FIXTURE_DATA(doorbell) *self,
			  struct counts expected)
{
	struct counts now = count_now();

	EXPECT_EQ(expected.unmaps, now.unmaps - self->before.unmaps);
	EXPECT_EQ(expected.maps, now.maps - self->before.maps);
	EXPECT_EQ(expected.queues, now.queues - self->before.queues);
}

static int order_first(FIXTURE_DATA(doorbell) *self, unsigned int num, uint16_t op)
{
	struct kfd_preempt_switch_entry entries[QUEUES] = {};
	unsigned int i;

	for (i = 0; i < num; i++)
		entries[i] = (struct kfd_preempt_switch_entry){
			.queue_id = self->queue[i].id,
			.op = op,
			.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0,
		};
	return preempt_switch(self->fd, 0, KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, entries, num);
}

TEST_F_TIMEOUT(doorbell, stop_leaves_the_other_queues_where_they_are, 120)
{
	unsigned int i;

	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[0].id));
	expect_counts(_metadata, self, (struct counts){ .unmaps = 1, .queues = 1 });
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	for (i = 1; i < QUEUES; i++)
		EXPECT_TRUE(job_wait_progress(&self->job[i], 2, LONG_MS));
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	/* A start takes everything down and up again, with it. */
	ASSERT_EQ(0, resume_queue(self->fd, self->queue[0].id));
	expect_counts(_metadata, self,
		      (struct counts){ .unmaps = 2, .maps = 1, .queues = 1 + QUEUES - 1 });
}

TEST_F_TIMEOUT(doorbell, batch_names_four_queues_in_a_packet, 120)
{
	unsigned int i;

	ASSERT_EQ(0, order_first(self, BATCH, KFD_PREEMPT_OP_PREEMPT));
	expect_counts(_metadata, self, (struct counts){ .unmaps = 2, .queues = BATCH });
	for (i = 0; i < BATCH; i++)
		EXPECT_TRUE(job_stands_still(&self->job[i], 20));
	EXPECT_TRUE(job_wait_progress(&self->job[BATCH], 2, LONG_MS));
	ASSERT_EQ(0, order_first(self, BATCH, KFD_PREEMPT_OP_RESUME));
}

/* A runlist mapped for another reason doesn't contain the stopped queue. */
TEST_F_TIMEOUT(doorbell, stopped_queue_stays_off_when_the_runlist_is_built_again, 120)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[0].id));
	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[1].id));
	ASSERT_EQ(0, resume_queue(self->fd, self->queue[1].id));
	expect_counts(_metadata, self,
		      (struct counts){ .unmaps = 3, .maps = 1, .queues = 2 + QUEUES - 2 });
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	EXPECT_TRUE(job_wait_progress(&self->job[1], 2, LONG_MS));
	ASSERT_EQ(0, resume_queue(self->fd, self->queue[0].id));
}

TEST_F_TIMEOUT(doorbell, fast_stop_takes_the_runlist_down, 120)
{
	ASSERT_EQ(0, switch_preempt(self->fd, 0, KFD_PREEMPT_SWITCH_FAST, self->queue[0].id));
	expect_counts(_metadata, self, (struct counts){ .unmaps = 1, .maps = 1, .queues = QUEUES });
	ASSERT_EQ(0, resume_queue(self->fd, self->queue[0].id));
}

TEST_HARNESS_MAIN
