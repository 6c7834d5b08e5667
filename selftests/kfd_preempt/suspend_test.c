// SPDX-License-Identifier: GPL-2.0-only
/*
 * Suspend to RAM with a queue that is held and one that isn't. The kernel's own test mode takes
 * all devices down and up again without the sleep in between. Needs root, /sys/power/pm_test, and the
 * vgpu.
 */
#include "gpu_fault.h"
#include "hoard.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "text_file.h"

#define LONG_MS 60000u

/*
 * Flushes of the TLB, one for each buffer that is freed. The ring of the KIQ has room for 1024, and
 * this is one lap and three quarters.
 */
#define FLUSHES 1792

static int suspend_and_resume(void)
{
	int ret = text_file_write("/sys/module/suspend/parameters/pm_test_delay", "0");

	if (!ret)
		ret = text_file_write("/sys/power/pm_test", "devices");
	if (!ret)
		ret = text_file_write("/sys/power/state", "mem");
	text_file_write("/sys/power/pm_test", "none");
	return ret;
}

FIXTURE(suspend)
{
	struct kfd_device dev;
	struct aql_queue queue[2];	/* the one that is held, another */
	struct job job[2];
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(suspend)
{
	unsigned int i;

	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue[i], &self->job[i], 2,
					       LONG_MS));
	self->id = self->queue[0].id;
}

FIXTURE_TEARDOWN(suspend)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(job_ends_right(&self->job[i], LONG_MS));
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
	}
	kfd_device_close(&self->dev);
}

TEST_F_TIMEOUT(suspend, held_queue_stays_held_and_the_other_goes_on, 300)
{
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, suspend_and_resume());
	EXPECT_TRUE(job_wait_progress(&self->job[1], 2, LONG_MS));
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status.state);
	EXPECT_EQ(KFD_PREEMPT_HOLD_SELF, status.holds);
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
}

TEST(memory_that_was_yielded_stays_away_and_whole)
{
	struct kfd_ioctl_preempt_status_args status = {
		.flags = KFD_PREEMPT_SWITCH_TARGET_PID | KFD_PREEMPT_STATUS_COUNT_MEMORY,
	};
	struct hoard hoard = {};
	int fd;

	ASSERT_EQ(0, hoard_start(&hoard, 4, 8 * MIB));
	fd = kfd_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, switch_preempt(fd, hoard.pid, KFD_PREEMPT_SWITCH_YIELD_MEMORY, hoard.queue_id));
	ASSERT_EQ(0, suspend_and_resume());
	status.target_pid = hoard.pid;
	status.queue_id = hoard.queue_id;
	ASSERT_EQ(0, kfd_ioctl(fd, AMDKFD_IOC_PREEMPT_STATUS, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status.state);
	EXPECT_LE(hoard.bytes, status.yielded_bytes);
	EXPECT_EQ(0, hoard_order(&hoard, HOARD_CHECK));
	ASSERT_EQ(0, switch_resume(fd, hoard.pid, 0, hoard.queue_id));
	EXPECT_EQ(0, hoard_order(&hoard, HOARD_COPY));
	EXPECT_TRUE(hoard_finish(&hoard));
	close(fd);
}

static int flush(struct kfd_device *dev)
{
	struct kfd_buffer buf;
	int ret = kfd_buffer_alloc(dev, KFD_IN_SYSTEM, 4096, &buf);

	if (!ret)
		kfd_buffer_free(dev, &buf);
	return ret;
}

/*
 * The resume sets the write pointer of the KIQ to 0, but not the read pointer, because the GPU was
 * not reset. If the KIQ runs what is left of the lap before, old fences make each later flush fail.
 */
TEST(flushes_work_after_the_ring_of_the_KIQ_has_wrapped)
{
	struct kfd_device dev;
	unsigned int i;
	int64_t before;

	ASSERT_EQ(0, kfd_device_open(&dev));
	ASSERT_EQ(0, suspend_and_resume());
	for (i = 0; i < FLUSHES; i++)
		ASSERT_EQ(0, flush(&dev));
	ASSERT_EQ(0, suspend_and_resume());
	before = gpu_counter("kiq_packets");
	EXPECT_LT(0, before);
	EXPECT_EQ(0, flush(&dev));
	EXPECT_LT(before, gpu_counter("kiq_packets"));
	kfd_device_close(&dev);
}

/* The stock driver without HWS ends in a NULL pointer. */
TEST(a_program_that_has_opened_no_gpu)
{
	int fd = kfd_open();

	ASSERT_LE(0, fd);
	EXPECT_EQ(0, suspend_and_resume());
	close(fd);
}

TEST_HARNESS_MAIN
