// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stops and moves of memory that fail. Needs the vgpu, preempt_verify=1, a small VRAM (vramlimit=128
 * or 256), root, debugfs and kfd_probes.ko. All tests but the last one need the HWS.
 */
#include "evict.h"
#include "gpu_debugfs.h"
#include "gpu_fault.h"
#include "probes.h"
#include "sched_mode.h"
#include "text_file.h"
#include "verify.h"
#include "yield.h"

#define REARM "/sys/module/amdgpu/parameters/preempt_degraded"

static void expect_nothing_moved(struct __test_metadata *_metadata, FIXTURE_DATA(yield) *self)
{
	struct kfd_ioctl_preempt_status_args status = status_of(&self->dev, &self->a);

	EXPECT_EQ(0, status.yielded_bytes);
	EXPECT_LE(self->a.bytes, status.vram_bytes);
	EXPECT_EQ(0, status.status & KFD_PREEMPT_STATUS_YIELDED);
}

TEST_F_TIMEOUT(yield, memory_of_a_queue_that_is_still_in_an_HQD_stays, 900)
{
	int fault;

	ASSERT_TRUE(verify_is_on());
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	fault = gpu_fault_arm("unmap-skipped");
	ASSERT_LE(0, fault);
	EXPECT_EQ(-ETIME, stop(&self->dev, &self->a, YIELD));
	EXPECT_EQ(1, gpu_fault_hits(fault));
	expect_nothing_moved(_metadata, self);
	ASSERT_EQ(0, text_file_write(REARM, "0"));
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_TRUE(hoard_finish(&self->a));
}

static bool is_running(struct kfd_device *dev, const struct hoard *hoard)
{
	return status_of(dev, hoard).state == KFD_PREEMPT_STATE_RUNNING;
}

/* A buffer moves and is not mapped: KFD maps it later. One restore of the process may be due already. */
static void expect_later_restore(struct __test_metadata *_metadata, FIXTURE_DATA(yield) *self)
{
	unsigned int ms;

	ASSERT_EQ(0, probes_set("fail_map_buffer", 1));
	EXPECT_EQ(-ENOMEM, stop(&self->dev, &self->a, YIELD));
	EXPECT_EQ(0, probes_get("fail_map_buffer"));
	ASSERT_EQ(0, start(&self->dev, &self->a));
	for (ms = 0; !is_running(&self->dev, &self->a) && ms < HOARD_TIMEOUT_MS; ms += 10)
		sleep_us(10000);
	ASSERT_TRUE(is_running(&self->dev, &self->a));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	EXPECT_TRUE(hoard_finish(&self->a));
}

TEST_F_TIMEOUT(yield, a_buffer_that_cannot_be_mapped_is_mapped_later, 900)
{
	ASSERT_EQ(0, probes_load());
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	expect_later_restore(_metadata, self);
	probes_unload();
}

TEST_F_TIMEOUT(yield, it_is_mapped_later_although_a_restore_waits_for_the_hold, 900)
{
	ASSERT_EQ(0, probes_load());
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, 0));
	ASSERT_EQ(0, evict_all("vram"));
	/* KFD's worker comes after 100 ms and finds the hold; the result is the same if it comes later. */
	sleep_us(300000);
	expect_later_restore(_metadata, self);
	probes_unload();
}

/* KFD refuses it during the reset. */
static bool kfd_opens(const void *unused)
{
	int fd = kfd_open();

	if (fd >= 0)
		close(fd);
	return fd >= 0 || unused;
}

/* KFD resets the GPU later; until then the waves run. */
TEST_F_TIMEOUT(yield, memory_stays_when_the_scheduler_does_not_answer, 900)
{
	int fault;

	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	fault = gpu_fault_arm("drop-fence");
	ASSERT_LE(0, fault);
	EXPECT_EQ(-EIO, stop(&self->dev, &self->a, YIELD));
	EXPECT_EQ(1, gpu_fault_hits(fault));
	EXPECT_EQ(KFD_PREEMPT_STATE_DEAD, status_of(&self->dev, &self->a).state);
	expect_nothing_moved(_metadata, self);
	hoard_kill(&self->a);
	EXPECT_TRUE(wait_until(kfd_opens, NULL, HOARD_TIMEOUT_MS));
	EXPECT_EQ(0, text_file_write(REARM, "0"));
}

/* With the HWS KFD resets the GPU. Without it the queue that was held has to run again. */
TEST_F_TIMEOUT(yield, an_sdma_queue_that_does_not_stop_keeps_memory_in_place, 900)
{
	bool no_hws = driver_has_no_hws(self->dev.kfd_fd);
	char fault[64];
	int number;

	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	ASSERT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	snprintf(fault, sizeof(fault), "sdma-stuck:pasid=%u", gpu_pasid(self->a.pid));
	number = gpu_fault_arm(fault);
	ASSERT_LE(0, number);
	ASSERT_EQ(0, hoard_order(&self->a, HOARD_POLL));
	EXPECT_EQ(no_hws ? -EBUSY : -EIO, stop(&self->dev, &self->a, YIELD));
	EXPECT_EQ(1, gpu_fault_hits(number));
	expect_nothing_moved(_metadata, self);
	if (no_hws) {
		EXPECT_EQ(0, start(&self->dev, &self->a));
		EXPECT_TRUE(is_running(&self->dev, &self->a));
		EXPECT_EQ(0, gpu_debugfs_read("amdgpu_gpu_recover"));
	}
	hoard_kill(&self->a);
	EXPECT_TRUE(wait_until(kfd_opens, NULL, HOARD_TIMEOUT_MS));
	EXPECT_EQ(0, text_file_write(REARM, "0"));
}

TEST_HARNESS_MAIN
