// SPDX-License-Identifier: GPL-2.0-only
/*
 * The end of an operator that holds many queues: a blocked process delays the release of no other,
 * and all queues of a process are released in one update. The end of one that has held nothing is
 * not seen by the GPU. Needs root and the software GPU, which counts updates.
 */
#include "gpu_fault.h"
#include "kselftest_harness.h"
#include "many_queues.h"
#include "sched_mode.h"

/* A released queue runs after milliseconds. */
#define SOON_MS 5000u
#define LONG_MS 30000u

enum { FIRST, BLOCKED, LAST, TARGETS };

FIXTURE(release)
{
	struct target target[TARGETS];
};

FIXTURE_SETUP(release)
{
	unsigned int i;

	for (i = 0; i < TARGETS; i++)
		ASSERT_EQ(0, target_start(&self->target[i]));
}

FIXTURE_TEARDOWN(release)
{
	unsigned int i;

	target_kill(&self->target[BLOCKED]);
	for (i = 0; i < TARGETS; i++)
		target_kill(&self->target[i]);
}

TEST_F_TIMEOUT(release, process_that_is_blocked_keeps_only_its_own_queue_held, 180)
{
	struct target *target = self->target;
	pid_t operator = operator_start(target, TARGETS, 0);
	unsigned int i;

	ASSERT_LT(0, operator);
	for (i = 0; i < TARGETS; i++)
		EXPECT_TRUE(target_stands_still(&target[i], 20));
	ASSERT_EQ(0, target_order(&target[BLOCKED], TARGET_LOCK));
	ASSERT_EQ(0, kill(operator, SIGKILL));
	ASSERT_EQ(operator, waitpid(operator, NULL, 0));

	EXPECT_TRUE(target_moves_within(&target[FIRST], SOON_MS));
	EXPECT_TRUE(target_moves_within(&target[LAST], SOON_MS));
	EXPECT_TRUE(target_stands_still(&target[BLOCKED], 20));
	ASSERT_EQ(0, target_order(&target[BLOCKED], TARGET_UNLOCK));
	for (i = 0; i < TARGETS; i++) {
		EXPECT_TRUE(target_moves(&target[i]));
		EXPECT_TRUE(target_finish(&target[i]));
	}
}

/* Without firmware scheduling the GPU has fewer slots, and nothing is counted. */
#define BATCH 64u
#define BATCH_NO_HWS 8u

FIXTURE(batch)
{
	struct many_queues many;
	int fd;
};

FIXTURE_SETUP(batch)
{
	self->fd = kfd_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, many_queues_start(&self->many,
				       driver_has_no_hws(self->fd) ? BATCH_NO_HWS : BATCH,
				       aql_queue_create_idle));
}

FIXTURE_TEARDOWN(batch)
{
	target_kill(&self->many.target);
	close(self->fd);
}

static bool nothing_is_held(const void *arg)
{
	const FIXTURE_DATA(batch) *self = arg;
	struct kfd_ioctl_preempt_status_args status;
	uint32_t i;

	for (i = 0; i < self->many.num; i++)
		if (preempt_status(self->fd, self->many.target.pid, self->many.shared->id[i],
				   &status) || status.holds)
			return false;
	return true;
}

TEST_F_TIMEOUT(batch, all_queues_of_a_process_are_released_in_one_update, 180)
{
	int other = kfd_open();
	int64_t before, unmaps;

	ASSERT_LE(0, other);
	ASSERT_EQ((int)self->many.num,
		  many_queues_order(&self->many, other, KFD_PREEMPT_OP_PREEMPT));
	before = gpu_counter("hiq_packets/UNMAP_QUEUES");
	ASSERT_LE(0, before);
	close(other);
	ASSERT_TRUE(wait_until(nothing_is_held, self, LONG_MS));
	unmaps = gpu_counter("hiq_packets/UNMAP_QUEUES") - before;
	EXPECT_EQ(driver_has_no_hws(self->fd) ? 0 : 1, unmaps);
	EXPECT_TRUE(target_moves(&self->many.target));
	EXPECT_TRUE(target_finish(&self->many.target));
}

/* Such as `kfd-preempt list`: it opens /dev/kfd and has no queue. */
TEST_F_TIMEOUT(batch, end_of_a_process_without_queues_leaves_the_runlist_alone, 180)
{
	int64_t before = gpu_counter("hiq_packets/RUN_LIST");
	unsigned int i;

	ASSERT_LE(0, before);
	for (i = 0; i < 10; i++) {
		pid_t child = fork();
		int status;

		ASSERT_LE(0, child);
		if (!child)
			_exit(kfd_open() < 0);
		ASSERT_EQ(child, waitpid(child, &status, 0));
		EXPECT_EQ(0, status);
	}
	EXPECT_EQ(before, gpu_counter("hiq_packets/RUN_LIST"));
	EXPECT_TRUE(target_finish(&self->many.target));
}

TEST_HARNESS_MAIN
