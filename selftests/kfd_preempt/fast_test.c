// SPDX-License-Identifier: GPL-2.0-only
/*
 * FAST: the grace period that the GPU has while a stop lasts, and before and after it. Needs the
 * software GPU, whose unmap it delays, root, and debugfs, which reads registers.
 */
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "gpu_fault.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "target.h"
#include "users.h"
#include "wait.h"

#define LONG_MS 30000u
#define FAST KFD_PREEMPT_SWITCH_FAST

/* Byte offset in the first XCC: segment 0 of the block, and the offset of gc_9_4_3_offset.h. */
#define CP_IQ_WAIT_TIME2 ((0x2000u + 0x10b0u) * 4)
#define SCH_WAVE(value) ((value) >> 8 & 0xff)
#define WITH_SCH_WAVE(value, wave) (((value) & ~0xff00ll) | (wave) << 8)

static int64_t read_register(off_t offset)
{
	uint32_t value;
	ssize_t got = -1;
	glob_t found;
	int file;

	if (glob("/sys/kernel/debug/dri/*/amdgpu_regs", 0, NULL, &found))
		return -1;
	file = open(found.gl_pathv[0], O_RDONLY);
	globfree(&found);
	if (file >= 0) {
		got = pread(file, &value, sizeof(value), offset);
		close(file);
	}
	return got == sizeof(value) ? (int64_t)value : -1;
}

FIXTURE(fast)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	int64_t usual;
	int fd;
};

FIXTURE_SETUP(fast)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue, &self->job, 2, LONG_MS));
	self->usual = read_register(CP_IQ_WAIT_TIME2);
	ASSERT_LE(0, self->usual);
	ASSERT_LT(1, SCH_WAVE(self->usual));
}

FIXTURE_TEARDOWN(fast)
{
	EXPECT_EQ(0, gpu_fault_disarm_all());
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_device_close(&self->dev);
}

struct stop {
	FIXTURE_DATA(fast) *self;
	uint32_t flags;
	int result;
};

static void *run_stop(void *arg)
{
	struct stop *stop = arg;

	stop->result = switch_preempt(stop->self->fd, 0, stop->flags, stop->self->queue.id);
	return NULL;
}

static bool unmap_waits(const void *fault)
{
	return gpu_fault_hits(*(const int *)fault) == 1;
}

/* The register while the GPU is asked to unmap, and doesn't. */
static int64_t wait_time_of_a_stop(FIXTURE_DATA(fast) *self, uint32_t flags, int *result)
{
	struct stop stop = { .self = self, .flags = flags };
	int fault = gpu_fault_arm("unmap-late:ms=3000");
	pthread_t thread;
	int64_t value;

	if (fault < 0 || pthread_create(&thread, NULL, run_stop, &stop))
		return -1;
	value = wait_until(unmap_waits, &fault, LONG_MS) ? read_register(CP_IQ_WAIT_TIME2) : -1;
	gpu_fault_disarm_all();
	pthread_join(thread, NULL);
	*result = stop.result;
	return value;
}

TEST_F_TIMEOUT(fast, grace_period_is_1_while_a_fast_stop_lasts, 120)
{
	int64_t value;
	int result;

	value = wait_time_of_a_stop(self, FAST, &result);
	EXPECT_EQ(0, result);
	EXPECT_EQ(WITH_SCH_WAVE(self->usual, 1), value);
	EXPECT_EQ(self->usual, read_register(CP_IQ_WAIT_TIME2));
	EXPECT_TRUE(job_stands_still(&self->job, 20));
	ASSERT_EQ(0, resume_queue(self->fd, self->queue.id));
	EXPECT_EQ(self->usual, read_register(CP_IQ_WAIT_TIME2));
}

TEST_F_TIMEOUT(fast, grace_period_of_other_stops_is_the_usual, 120)
{
	int64_t value;
	int result;

	value = wait_time_of_a_stop(self, 0, &result);
	EXPECT_EQ(0, result);
	EXPECT_EQ(self->usual, value);
	ASSERT_EQ(0, resume_queue(self->fd, self->queue.id));
}

/* A process that may not act on others. */
FIXTURE(user)
{
	struct target target;
	int64_t usual;
};

static void run_as_user(struct target_shared *shared)
{
	if (become_user())
		target_run(shared);
	_exit(1);
}

FIXTURE_SETUP(user)
{
	ASSERT_EQ(0, target_start_as(&self->target, run_as_user));
	self->usual = read_register(CP_IQ_WAIT_TIME2);
	ASSERT_LT(1, SCH_WAVE(self->usual));
}

FIXTURE_TEARDOWN(user)
{
	EXPECT_EQ(0, gpu_fault_disarm_all());
	target_kill(&self->target);
}

/* A grace period of 1 would save the waves of all other processes at once. */
TEST_F_TIMEOUT(user, fast_stop_of_an_own_queue_leaves_the_grace_period, 120)
{
	struct target_shared *shared = self->target.shared;
	int fault = gpu_fault_arm("unmap-late:ms=3000");
	int64_t value;

	ASSERT_LE(0, fault);
	shared_set(&shared->order, TARGET_PREEMPT_FAST);
	ASSERT_TRUE(wait_until(unmap_waits, &fault, LONG_MS));
	value = read_register(CP_IQ_WAIT_TIME2);
	gpu_fault_disarm_all();
	ASSERT_TRUE(wait_until(target_is_idle, shared, LONG_MS));
	EXPECT_EQ(0, shared->result);
	EXPECT_EQ(self->usual, value);
	EXPECT_EQ(self->usual, read_register(CP_IQ_WAIT_TIME2));
	EXPECT_TRUE(target_stands_still(&self->target, 20));
	ASSERT_EQ(0, target_order(&self->target, TARGET_RESUME));
	EXPECT_TRUE(target_moves(&self->target));
	EXPECT_TRUE(target_finish(&self->target));
}

TEST_HARNESS_MAIN
