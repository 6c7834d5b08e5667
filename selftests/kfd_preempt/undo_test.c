// SPDX-License-Identifier: GPL-2.0-only
/*
 * ALL_OR_NOTHING without firmware scheduling, when one of the stops is late: the others are undone.
 * Needs the software GPU, which delays one, and root.
 */
#include <stdio.h>
#include <unistd.h>

#include "gpu_fault.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "wait.h"

#define LONG_MS 30000u
#define QUEUES 3u
#define LATE 1u		/* this one of them */

FIXTURE(undo)
{
	struct kfd_device dev;
	struct aql_queue queue[QUEUES];
	struct job job[QUEUES];
	int fd;
};

FIXTURE_SETUP(undo)
{
	unsigned int i;

	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_TRUE(driver_has_no_hws(self->fd));
	for (i = 0; i < QUEUES; i++) {
		ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue[i]));
		ASSERT_EQ(0, checksum_job_start(&self->job[i], &self->queue[i], 8, 2));
		ASSERT_TRUE(job_wait_progress(&self->job[i], 1, LONG_MS));
	}
}

FIXTURE_TEARDOWN(undo)
{
	unsigned int i;

	EXPECT_EQ(0, gpu_fault_disarm_all());
	for (i = 0; i < QUEUES; i++) {
		EXPECT_TRUE(job_wait_progress(&self->job[i], 1, LONG_MS));
		job_stop(&self->job[i]);
		EXPECT_TRUE(job_wait(&self->job[i], LONG_MS));
		EXPECT_EQ(0, job_errors(&self->job[i]));
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
	}
	kfd_device_close(&self->dev);
}

#define EXPECT_STATE(i, want_state, want_holds) \
	do { \
		struct kfd_ioctl_preempt_status_args now; \
		ASSERT_EQ(0, preempt_status(self->fd, 0, self->queue[i].id, &now)); \
		EXPECT_EQ(want_state, now.state); \
		EXPECT_EQ(want_holds, now.holds); \
	} while (0)

TEST_F_TIMEOUT(undo, late_stop_keeps_its_hold_and_the_others_go_on, 120)
{
	struct kfd_preempt_switch_entry entry[QUEUES] = {};
	struct kfd_ioctl_preempt_switch_args args = {
		.flags = KFD_PREEMPT_SWITCH_ALL_OR_NOTHING,
		.entries_ptr = (uintptr_t)entry,
		.num_entries = QUEUES,
		.timeout_ms = 300,
	};
	char spec[80];
	unsigned int i;
	int fault;

	/* The queues are asked in turn, each on all of its XCCs. */
	snprintf(spec, sizeof(spec), "dequeue-never:nth=%u,pasid=%u", LATE * self->dev.num_xcc + 1,
		 gpu_pasid(getpid()));
	fault = gpu_fault_arm(spec);
	ASSERT_LE(0, fault);
	for (i = 0; i < QUEUES; i++) {
		entry[i].queue_id = self->queue[i].id;
		entry[i].op = KFD_PREEMPT_OP_PREEMPT;
		entry[i].preempt_type = KFD_PREEMPT_TYPE_SAVE;
	}
	ASSERT_EQ(0, kfd_ioctl(self->fd, AMDKFD_IOC_PREEMPT_SWITCH, &args));
	EXPECT_EQ(0, args.num_done);
	EXPECT_EQ(1, gpu_fault_hits(fault));
	for (i = 0; i < QUEUES; i++) {
		if (i == LATE)
			continue;
		EXPECT_EQ(-EBUSY, entry[i].result);
		EXPECT_STATE(i, KFD_PREEMPT_STATE_RUNNING, 0);
		EXPECT_TRUE(job_wait_progress(&self->job[i], 2, LONG_MS));
	}
	/* Its stop can not be taken back: it stays, for a RESUME to end. */
	EXPECT_EQ(-ETIME, entry[LATE].result);
	EXPECT_STATE(LATE, KFD_PREEMPT_STATE_PENDING, KFD_PREEMPT_HOLD_SELF);
	EXPECT_EQ(-EBUSY, resume_queue(self->fd, self->queue[LATE].id));
	EXPECT_TRUE(job_stands_still(&self->job[LATE], 50));
	ASSERT_EQ(0, gpu_fault_disarm_all());
	ASSERT_EQ(0, resume_queue(self->fd, self->queue[LATE].id));
}

TEST_HARNESS_MAIN
