// SPDX-License-Identifier: GPL-2.0-only
/*
 * Requests of the driver to the hardware: one update for a batch, none when nothing changes. Needs
 * the software GPU, which counts, and root.
 */
#include <stdio.h>

#include "gpu_fault.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "wait.h"
#include "verify.h"

#define LONG_MS 60000u
#define BATCH 64u	/* more than the GPU holds at a time */
#define BATCH_SMALL 16u	/* so few that the firmware takes no turns, which are maps as well */
#define BUSY 2u		/* of them, with waves to save */

struct counts {
	int64_t unmaps, maps, hiq_writes, reads, writes;
};

static struct counts count_now(void)
{
	return (struct counts){
		.unmaps = gpu_counter("hiq_packets/UNMAP_QUEUES"),
		.maps = gpu_counter("hiq_packets/RUN_LIST"),
		.hiq_writes = gpu_counter("hiq_packets/WRITE_DATA"),
		.reads = gpu_counter("mmio_reads"),
		.writes = gpu_counter("mmio_writes"),
	};
}

static struct counts count_since(const struct counts *before)
{
	struct counts now = count_now();

	return (struct counts){
		.unmaps = now.unmaps - before->unmaps,
		.maps = now.maps - before->maps,
		.hiq_writes = now.hiq_writes - before->hiq_writes,
		.reads = now.reads - before->reads,
		.writes = now.writes - before->writes,
	};
}

/* The last queue is in no batch: something is on the hardware before and after. */
FIXTURE(counts)
{
	struct kfd_device dev;
	struct aql_queue queue[BATCH + 1];
	struct job job[BUSY];
	struct kfd_preempt_switch_entry entry[BATCH];
	unsigned int num;
	int fd;
	bool verified;
};

FIXTURE_VARIANT(counts)
{
	unsigned int num;
	unsigned int num_no_hws;
};

FIXTURE_VARIANT_ADD(counts, large)
{
	.num = BATCH,
	.num_no_hws = 8,
};

FIXTURE_VARIANT_ADD(counts, small)
{
	.num = BATCH_SMALL,
	.num_no_hws = BUSY,
};

FIXTURE_SETUP(counts)
{
	unsigned int i;

	self->verified = verify_turn(false);
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	self->num = driver_has_no_hws(self->fd) ? variant->num_no_hws : variant->num;
	for (i = 0; i <= self->num; i++) {
		ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue[i]));
		if (i >= BUSY)
			continue;
		ASSERT_EQ(0, checksum_job_start(&self->job[i], &self->queue[i], 2, 2));
		ASSERT_TRUE(job_wait_progress(&self->job[i], 1, LONG_MS));
	}
	ASSERT_LE(0, gpu_counter("mmio_reads"));
}

FIXTURE_TEARDOWN(counts)
{
	unsigned int i;

	for (i = 0; i < BUSY; i++) {
		EXPECT_TRUE(job_wait_progress(&self->job[i], 1, LONG_MS));
		job_stop(&self->job[i]);
		EXPECT_TRUE(job_wait(&self->job[i], LONG_MS));
		EXPECT_EQ(0, job_errors(&self->job[i]));
	}
	for (i = 0; i <= self->num; i++)
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
	kfd_device_close(&self->dev);
	verify_turn(self->verified);
}

static void order_all(FIXTURE_DATA(counts) *self, uint16_t op)
{
	unsigned int i;

	for (i = 0; i < self->num; i++)
		self->entry[i] = (struct kfd_preempt_switch_entry){
			.queue_id = self->queue[i].id,
			.op = op,
			.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0,
		};
}

static void print_counts(const char *what, unsigned int num, const struct counts *counts)
{
	printf("# %s of %u queues: %lld unmaps, %lld maps, %lld MMIO reads, %lld MMIO writes\n",
	       what, num, (long long)counts->unmaps, (long long)counts->maps,
	       (long long)counts->reads, (long long)counts->writes);
}

static void expect_one_update(struct __test_metadata *_metadata, FIXTURE_DATA(counts) *self,
			      const char *what, uint16_t op)
{
	bool no_hws = driver_has_no_hws(self->fd);
	struct counts before, delta;
	unsigned int i;

	order_all(self, op);
	before = count_now();
	ASSERT_EQ(0, preempt_switch(self->fd, 0, 0, self->entry, self->num));
	delta = count_since(&before);
	for (i = 0; i < self->num; i++)
		EXPECT_EQ(0, self->entry[i].result);
	print_counts(what, self->num, &delta);
	EXPECT_EQ(no_hws ? 0 : 1, delta.unmaps);
	if (self->num <= BATCH_SMALL) {
		EXPECT_EQ(no_hws ? 0 : 1, delta.maps);
	} else {
		EXPECT_LE(1, delta.maps);
	}
}

TEST_F_TIMEOUT(counts, batch_of_stops_and_of_starts_is_one_update_each, 300)
{
	unsigned int i;

	expect_one_update(_metadata, self, "stop", KFD_PREEMPT_OP_PREEMPT);
	for (i = 0; i < BUSY; i++)
		EXPECT_TRUE(job_stands_still(&self->job[i], 20));
	expect_one_update(_metadata, self, "start", KFD_PREEMPT_OP_RESUME);
}

/* A queue that is off the hardware anyway: of 0 percent, or held by another owner. */
TEST_F_TIMEOUT(counts, hardware_is_left_alone_when_nothing_changes, 300)
{
	struct counts before, delta;
	unsigned int i;

	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue[0], 0));
	before = count_now();
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, preempt_queue(self->fd, self->queue[0].id));
		ASSERT_EQ(-EALREADY, preempt_queue(self->fd, self->queue[0].id));
		ASSERT_EQ(0, resume_queue(self->fd, self->queue[0].id));
		ASSERT_EQ(-EALREADY, resume_queue(self->fd, self->queue[0].id));
	}
	delta = count_since(&before);
	print_counts("10 stops and starts off the hardware", 1, &delta);
	EXPECT_EQ(0, delta.unmaps);
	EXPECT_EQ(0, delta.maps);
	EXPECT_EQ(0, delta.hiq_writes);
	/* One of them would read CP_HQD_ACTIVE once a stop; KFD has timers of its own. */
	EXPECT_GT(10, delta.reads);
	EXPECT_GT(10, delta.writes);
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue[0], 100));
}

TEST_HARNESS_MAIN
