// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process of another user drains a kernel that never ends, again and again: the calls of other
 * processes and evictions don't wait with it. Needs root, and a GPU without firmware scheduling.
 */
#include <stdio.h>

#include "evict.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "target.h"
#include "users.h"

/* Calls take milliseconds, or many seconds if they wait for the drain. */
#define SOON_MS 2000u
#define LONG_MS 60000u
#define ROUNDS 3u

struct drainer_shared {
	uint32_t ready;
	uint32_t start;
	uint32_t stop;
};

FIXTURE(drain)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct kfd_buffer userptr;
	struct drainer_shared *shared;
	pid_t drainer;
};

static void run_drainer(struct drainer_shared *shared)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	int ret;

	if (!become_user() || prctl(PR_SET_PDEATHSIG, SIGKILL) || kfd_device_open(&dev) ||
	    busy_queue_create(&dev, &queue, &job, 2, LONG_MS))
		_exit(1);
	shared_set(&shared->ready, 1);
	while (!shared_get(&shared->start))
		sleep_us(1000);
	while (!shared_get(&shared->stop)) {
		ret = preempt_queue_type(dev.kfd_fd, queue.id, KFD_PREEMPT_TYPE_DRAIN,
					 KFD_PREEMPT_MAX_TIMEOUT_MS);
		if (ret != -ETIME && ret != -EALREADY)
			_exit(2);
	}
	job_stop(&job);
	_exit(job_wait(&job, LONG_MS) && !aql_queue_destroy(&queue) ? 0 : 1);
}

static bool is_ready(const void *shared)
{
	return shared_get(&((const struct drainer_shared *)shared)->ready);
}

/* Blocked in the call. A drainer whose call fails at once exits. */
static bool drains(const void *pid)
{
	return process_state(*(const pid_t *)pid) == 'D';
}

/* Forks before this process opens the GPU: a child would close its render node at exit. */
FIXTURE_SETUP(drain)
{
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	self->drainer = fork();
	ASSERT_LE(0, self->drainer);
	if (!self->drainer)
		run_drainer(self->shared);
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	ASSERT_TRUE(driver_can(self->dev.kfd_fd, KFD_PREEMPT_TYPE_DRAIN));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue));
	ASSERT_EQ(0, evict_userptr_create(&self->dev, &self->userptr));
	ASSERT_TRUE(wait_until(is_ready, self->shared, LONG_MS));
	shared_set(&self->shared->start, 1);
	ASSERT_TRUE(wait_until(drains, &self->drainer, LONG_MS));
}

FIXTURE_TEARDOWN(drain)
{
	int status;

	shared_set(&self->shared->start, 1);
	shared_set(&self->shared->stop, 1);
	EXPECT_EQ(self->drainer, waitpid(self->drainer, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_device_close(&self->dev);
}

static int create_and_destroy(FIXTURE_DATA(drain) *self)
{
	struct aql_queue queue;
	int ret = aql_queue_create_idle(&self->queue, &queue);

	return ret ? ret : aql_queue_destroy_idle(&queue);
}

static int update(FIXTURE_DATA(drain) *self)
{
	int ret = aql_queue_set_percentage(&self->queue, 0);

	return ret ? ret : aql_queue_set_percentage(&self->queue, 100);
}

static int evict(FIXTURE_DATA(drain) *self)
{
	return evict_userptr(&self->userptr);
}

/* How long the longest of some calls took, or 0 if one failed. */
static uint64_t longest_ms(FIXTURE_DATA(drain) *self, int (*call)(FIXTURE_DATA(drain) *))
{
	uint64_t begin, took, longest = 0;
	unsigned int i;

	for (i = 0; i < ROUNDS; i++) {
		begin = now_ns();
		if (call(self))
			return 0;
		took = now_ns() - begin;
		if (took > longest)
			longest = took;
		/* Let the drainer take the lock again. */
		sleep_us(20000);
	}
	printf("# the longest of %u took %llu us\n", ROUNDS, (unsigned long long)longest / 1000);
	return longest / 1000000 + 1;
}

#define EXPECT_SOON(call) \
	do { \
		uint64_t took_ms = longest_ms(self, call); \
		EXPECT_LT(0, took_ms); \
		EXPECT_GT(SOON_MS, took_ms); \
	} while (0)

TEST_F_TIMEOUT(drain, endless_drain_of_another_process_does_not_delay_create_and_destroy, 300)
{
	EXPECT_SOON(create_and_destroy);
}

TEST_F_TIMEOUT(drain, endless_drain_of_another_process_does_not_delay_update, 300)
{
	EXPECT_SOON(update);
}

TEST_F_TIMEOUT(drain, endless_drain_of_another_process_does_not_delay_eviction, 300)
{
	EXPECT_SOON(evict);
}

TEST_HARNESS_MAIN
