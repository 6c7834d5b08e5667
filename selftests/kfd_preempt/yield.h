/* SPDX-License-Identifier: GPL-2.0-only */
/* Hoards on a small VRAM (vramlimit=128 or 256), and what KFD has promised of it. */
#ifndef KFD_PREEMPT_YIELD_H
#define KFD_PREEMPT_YIELD_H

#include <inttypes.h>

#include "hoard.h"
#include "kselftest_harness.h"

#define YIELD KFD_PREEMPT_SWITCH_YIELD_MEMORY
#define BUFFER_BYTES (8 * MIB)

/* KFD would still give so much VRAM, and has given so much system memory. */
struct ledger {
	uint64_t vram;
	long system_mib, ttm_mib;
};

static inline long limit_of(const char *name)
{
	char line[128];
	long mib = -1;
	FILE *file = fopen("/sys/kernel/debug/kfd/mem_limit", "re");

	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name), " mem used %ldM", &mib);
	if (file)
		fclose(file);
	return mib;
}

static inline struct ledger ledger_read(struct kfd_device *dev)
{
	struct kfd_ioctl_get_available_memory_args args = { .gpu_id = dev->gpu_id };
	struct ledger ledger = {};

	if (!kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_AVAILABLE_MEMORY, &args))
		ledger.vram = args.available;
	ledger.system_mib = limit_of("System");
	ledger.ttm_mib = limit_of("TTM");
	return ledger;
}

/* Buffers with three quarters of what KFD gives: two processes have no room for so many each. */
#define MOST ((unsigned int)(self->before.vram / 4 * 3 / BUFFER_BYTES))

/* The worker that frees a process comes after its exit. */
static inline bool is_as_before(struct kfd_device *dev, const struct ledger *before)
{
	struct ledger now = {};
	unsigned int ms;

	for (ms = 0; ms < 10000; ms += 10) {
		now = ledger_read(dev);
		if (now.vram == before->vram && now.ttm_mib == before->ttm_mib &&
		    now.system_mib == before->system_mib)
			return true;
		sleep_us(10000);
	}
	printf("# VRAM %" PRIu64 ", not %" PRIu64 "; TTM %ld, not %ld; system %ld, not %ld\n",
	       now.vram, before->vram, now.ttm_mib, before->ttm_mib, now.system_mib,
	       before->system_mib);
	return false;
}

static inline int stop(struct kfd_device *dev, const struct hoard *hoard, uint32_t flags)
{
	return switch_preempt(dev->kfd_fd, hoard->pid, flags, hoard->queue_id);
}

static inline int start(struct kfd_device *dev, const struct hoard *hoard)
{
	return switch_resume(dev->kfd_fd, hoard->pid, 0, hoard->queue_id);
}

static inline struct kfd_ioctl_preempt_status_args status_of(struct kfd_device *dev,
						      const struct hoard *hoard)
{
	struct kfd_ioctl_preempt_status_args status = {
		.flags = KFD_PREEMPT_SWITCH_TARGET_PID | KFD_PREEMPT_STATUS_COUNT_MEMORY,
		.target_pid = hoard->pid,
		.queue_id = hoard->queue_id,
	};

	if (kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_PREEMPT_STATUS, &status) ||
	    !(status.valid & KFD_PREEMPT_VALID_MEMORY))
		memset(&status, 0xff, sizeof(status));
	return status;
}

/* Until a worker has freed the memory of the processes that have ended. */
static inline void wait_for_vram(struct kfd_device *dev, const struct ledger *before)
{
	while (ledger_read(dev).vram < before->vram)
		sleep_us(10000);
}

FIXTURE(yield)
{
	struct kfd_device dev;
	struct hoard a, b, c;
	struct ledger before;	/* without any process of the test */
};

FIXTURE_SETUP(yield)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->before = ledger_read(&self->dev);
	ASSERT_LT(64 * MIB, self->before.vram);
	ASSERT_LE(0, self->before.ttm_mib);
}

FIXTURE_TEARDOWN(yield)
{
	hoard_kill(&self->a);
	hoard_kill(&self->b);
	hoard_kill(&self->c);
	EXPECT_TRUE(is_as_before(&self->dev, &self->before));
	kfd_device_close(&self->dev);
}

#endif
