// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process whose userptr has pages that do not come: it waits, and no call of others on its memory
 * does. Needs two CPUs, root, a small VRAM (vramlimit=128 or 256) and kfd_probes.ko.
 */
#include "probes.h"
#include "yield.h"

#define PROBE "hold_fault"
#define WAITS 2		/* as the probe says it */
#define ENDED 3

static bool is_held(const void *unused)
{
	(void)unused;
	return probes_get(PROBE) == WAITS;
}

static void begin_fault(struct __test_metadata *_metadata, FIXTURE_DATA(yield) *self)
{
	ASSERT_EQ(0, probes_set(PROBE, 1));
	ASSERT_EQ(0, hoard_order(&self->a, HOARD_FAULT));
	ASSERT_TRUE(wait_until(is_held, NULL, HOARD_TIMEOUT_MS));
}

TEST_F_TIMEOUT(yield, memory_of_a_process_is_counted_while_its_pages_do_not_come, 900)
{
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_EQ(0, probes_load());
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	begin_fault(_metadata, self);
	status = status_of(&self->dev, &self->a);
	EXPECT_TRUE(is_held(NULL));
	EXPECT_LE(self->a.bytes, status.vram_bytes);
	EXPECT_EQ(0, status.yielded_bytes);
	ASSERT_EQ(0, probes_set(PROBE, ENDED));
	EXPECT_TRUE(hoard_finish(&self->a));
	probes_unload();
}

TEST_F_TIMEOUT(yield, memory_of_a_process_whose_pages_do_not_come_stays, 900)
{
	struct ledger before;

	ASSERT_EQ(0, probes_load());
	ASSERT_EQ(0, hoard_start(&self->a, 4, BUFFER_BYTES));
	ASSERT_EQ(0, stop(&self->dev, &self->a, 0));
	before = ledger_read(&self->dev);
	begin_fault(_metadata, self);
	EXPECT_EQ(-EBUSY, stop(&self->dev, &self->a, YIELD));
	EXPECT_TRUE(is_held(NULL));
	EXPECT_EQ(before.vram, ledger_read(&self->dev).vram);
	EXPECT_EQ(before.ttm_mib, ledger_read(&self->dev).ttm_mib);
	ASSERT_EQ(0, probes_set(PROBE, ENDED));
	ASSERT_EQ(0, start(&self->dev, &self->a));
	ASSERT_EQ(0, stop(&self->dev, &self->a, YIELD));
	EXPECT_LE(self->a.bytes, status_of(&self->dev, &self->a).yielded_bytes);
	begin_fault(_metadata, self);
	EXPECT_EQ(-EBUSY, start(&self->dev, &self->a));
	EXPECT_TRUE(is_held(NULL));
	ASSERT_EQ(0, probes_set(PROBE, ENDED));
	ASSERT_EQ(0, start(&self->dev, &self->a));
	EXPECT_EQ(0, hoard_order(&self->a, HOARD_COPY));
	EXPECT_TRUE(hoard_finish(&self->a));
	probes_unload();
}

TEST_HARNESS_MAIN
