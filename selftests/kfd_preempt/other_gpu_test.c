// SPDX-License-Identifier: GPL-2.0-only
/*
 * The reset of one of two GPUs: KFD evicts all processes from both and restores none, so the queues
 * on the other GPU are dead as well. Needs two GPUs, root, and debugfs.
 */
#include "gpu_debugfs.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "preempt.h"

#define LONG_MS 60000u
#define GPUS 2u

enum { HELD, RUNS, QUEUES };

struct gpu {
	struct kfd_device dev;
	struct aql_queue queue[QUEUES];
	struct job job[QUEUES];
};

FIXTURE(other_gpu)
{
	struct gpu gpu[GPUS];
};

/* GPUs on which the process has queues. Only one of them is reset. */
FIXTURE_VARIANT(other_gpu)
{
	bool uses[GPUS];
};

FIXTURE_VARIANT_ADD(other_gpu, both)
{
	.uses = { true, true },
};

FIXTURE_VARIANT_ADD(other_gpu, first)
{
	.uses = { true, false },
};

FIXTURE_VARIANT_ADD(other_gpu, second)
{
	.uses = { false, true },
};

static int gpu_start(struct gpu *gpu)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < QUEUES && !ret; i++)
		ret = busy_queue_create(&gpu->dev, &gpu->queue[i], &gpu->job[i], 2, LONG_MS);
	return ret ? ret : preempt_queue(gpu->dev.kfd_fd, gpu->queue[HELD].id);
}

FIXTURE_SETUP(other_gpu)
{
	unsigned int i;

	ASSERT_EQ(0, kfd_device_open(&self->gpu[0].dev));
	ASSERT_EQ(0, kfd_device_open_second(&self->gpu[1].dev, &self->gpu[0].dev));
	for (i = 0; i < GPUS; i++)
		if (variant->uses[i])
			ASSERT_EQ(0, gpu_start(&self->gpu[i]));
}

FIXTURE_TEARDOWN(other_gpu)
{
	unsigned int i, j;

	for (i = 0; i < GPUS; i++) {
		for (j = 0; variant->uses[i] && j < QUEUES; j++)
			EXPECT_EQ(0, aql_queue_destroy(&self->gpu[i].queue[j]));
		kfd_device_close(&self->gpu[i].dev);
	}
}

static void expect_dead(struct __test_metadata *_metadata, const struct gpu *gpu,
			unsigned int which)
{
	uint32_t holds = KFD_PREEMPT_HOLD_DEAD | (which == HELD ? KFD_PREEMPT_HOLD_SELF : 0);
	int fd = gpu->dev.kfd_fd;
	struct kfd_ioctl_preempt_status_args status;

	EXPECT_TRUE(job_stands_still(&gpu->job[which], 200));
	ASSERT_EQ(0, preempt_status(fd, 0, gpu->queue[which].id, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_DEAD, status.state);
	EXPECT_EQ(holds, status.holds);
	EXPECT_EQ(-EIO, resume_queue(fd, gpu->queue[which].id));
	EXPECT_EQ(-EIO, preempt_queue(fd, gpu->queue[which].id));
}

TEST_F_TIMEOUT(other_gpu, all_queues_are_dead_after_the_reset_of_one_gpu, 180)
{
	unsigned int i, j;

	ASSERT_EQ(0, gpu_debugfs_read("amdgpu_gpu_recover"));
	for (i = 0; i < GPUS; i++)
		for (j = 0; variant->uses[i] && j < QUEUES; j++)
			expect_dead(_metadata, &self->gpu[i], j);
}

TEST_HARNESS_MAIN
