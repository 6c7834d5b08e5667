// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run last in a boot of the software GPU with a schedule: what ran before met choices of every
 * kind. Needs root.
 */
#include <stdio.h>

#include "gpu_fault.h"
#include "kfd_device.h"
#include "kselftest_harness.h"
#include "sched_mode.h"

#define MANY 10

static const char *const kinds[] = {
	"doorbell", "map", "stop", "ask", "leave", "fence", "completion", "read_pointer",
	"interrupt", "msi", "relaunch", "pushed", "unit", "turn", "turn_length", "xcc_speed",
};

static int64_t choices(const char *kind)
{
	char name[64];

	snprintf(name, sizeof(name), "choices/%s", kind);
	return gpu_counter(name);
}

TEST(every_kind_of_choice_was_made)
{
	struct kfd_device dev;
	unsigned int i;

	printf("# schedule seed %lld\n", (long long)gpu_counter("schedule_seed"));
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		EXPECT_LE(MANY, choices(kinds[i])) {
			TH_LOG("%s", kinds[i]);
		}
	}
	ASSERT_EQ(0, kfd_device_open(&dev));
	EXPECT_EQ(dev.num_xcc > 1, choices("xcc_order") >= MANY);
	EXPECT_EQ(!driver_has_no_hws(dev.kfd_fd), choices("time_slice") >= MANY);
	kfd_device_close(&dev);
}

TEST_HARNESS_MAIN
