// SPDX-License-Identifier: GPL-2.0-only
/*
 * The parameter preempt_checkpoint: with 2 each stop copies the MQDs, with 0 none does. Each test needs
 * its value. Needs the software GPU, which spoils the MQDs in memory, and root.
 */
#include <unistd.h>

#include "gpu_fault.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "text_file.h"

#define LONG_MS 30000u
#define ROUNDS 3u
#define MODE "/sys/module/amdgpu/parameters/preempt_checkpoint"

FIXTURE(mode)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	uint32_t id;
	int fd;
};

FIXTURE_SETUP(mode)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue, &self->job, 2, LONG_MS));
	self->id = self->queue.id;
}

FIXTURE_TEARDOWN(mode)
{
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_device_close(&self->dev);
}

static uint32_t is_checkpointed(int fd, uint32_t id)
{
	struct kfd_ioctl_preempt_status_args status;

	return preempt_status(fd, 0, id, &status) ? ~0u :
						   status.status & KFD_PREEMPT_STATUS_CHECKPOINTED;
}

TEST_F(mode, with_2_a_stop_without_the_flag_is_a_copy)
{
	unsigned int i;

	ASSERT_EQ(2, text_file_number(MODE));
	EXPECT_TRUE(driver_facts(self->fd).caps & KFD_PREEMPT_CAP_CHECKPOINT);
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, preempt_queue(self->fd, self->id));
		EXPECT_EQ(KFD_PREEMPT_STATUS_CHECKPOINTED, is_checkpointed(self->fd, self->id));
		ASSERT_EQ((int)self->dev.num_xcc, gpu_scribble_mqds(getpid()));
		ASSERT_EQ(0, resume_queue(self->fd, self->id));
		ASSERT_TRUE(job_wait_progress(&self->job, 1, LONG_MS));
	}
}

TEST_F(mode, with_0_there_is_no_copy_and_the_flag_is_rejected)
{
	ASSERT_EQ(0, text_file_number(MODE));
	EXPECT_FALSE(driver_facts(self->fd).caps & KFD_PREEMPT_CAP_CHECKPOINT);
	EXPECT_EQ(-EINVAL, switch_preempt(self->fd, 0, KFD_PREEMPT_SWITCH_CHECKPOINT, self->id));
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_EQ(0, is_checkpointed(self->fd, self->id));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
}

TEST_HARNESS_MAIN
