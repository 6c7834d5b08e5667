// SPDX-License-Identifier: GPL-2.0-only
/*
 * Moves of memory that fail. Needs a small VRAM (vramlimit=128 or 256), root, debugfs and kfd_probes.ko.
 */
#include "evict.h"
#include "probes.h"
#include "yield.h"

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

TEST_HARNESS_MAIN
