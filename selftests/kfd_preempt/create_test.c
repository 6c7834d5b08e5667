// SPDX-License-Identifier: GPL-2.0-only
/*
 * NO_HWS: a queue that is made in the moment in which its process is evicted. It must wait for the
 * restore like the others; loaded at once and once more by the restore it would do its work twice,
 * and the software GPU ends the run because an HQD is loaded under a queue. Needs root, two CPUs,
 * and kfd_probes.ko.
 */
#include <pthread.h>

#include "evict.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "probes.h"
#include "sched_mode.h"
#include "wait.h"

#define LONG_MS 30000u
#define PROBE "evict_in_create"

/* As the probe says it. */
enum { FOR_THE_NEXT = 1, WAITS = 2, WAS_EVICTED = 3 };

FIXTURE(create)
{
	struct kfd_device dev;
	struct kfd_buffer user_memory;
	struct aql_queue queue;
	struct job job;
};

FIXTURE_SETUP(create)
{
	ASSERT_EQ(0, probes_load());
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	ASSERT_TRUE(driver_has_no_hws(self->dev.kfd_fd));
	ASSERT_EQ(0, evict_userptr_create(&self->dev, &self->user_memory));
}

FIXTURE_TEARDOWN(create)
{
	kfd_device_close(&self->dev);
	probes_unload();
}

static void *create_queue(void *arg)
{
	FIXTURE_DATA(create) *self = arg;

	return aql_queue_create(&self->dev, &self->queue) ? self : NULL;
}

static bool queue_waits(const void *arg)
{
	(void)arg;
	return probes_get(PROBE) == WAITS;
}

TEST_F_TIMEOUT(create, queue_of_a_process_that_is_just_evicted_waits_for_the_restore, 120)
{
	pthread_t thread;
	void *failed;

	ASSERT_EQ(0, probes_set(PROBE, FOR_THE_NEXT));
	ASSERT_EQ(0, pthread_create(&thread, NULL, create_queue, self));
	EXPECT_TRUE(wait_until(queue_waits, NULL, LONG_MS));
	EXPECT_EQ(0, evict_userptr(&self->user_memory));
	ASSERT_EQ(0, pthread_join(thread, &failed));
	ASSERT_EQ(NULL, failed);
	ASSERT_EQ(WAS_EVICTED, probes_get(PROBE)) {
		TH_LOG("the eviction did not come: does the guest have two CPUs?");
	}
	/* Begun before the restore it would be begun again. */
	ASSERT_EQ(0, checksum_job_start(&self->job, &self->queue, 4, 2));
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
}

TEST_HARNESS_MAIN
