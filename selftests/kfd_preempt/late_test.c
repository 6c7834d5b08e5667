// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stops that the hardware confirms late, without firmware scheduling.
 * Needs a GPU whose every dequeue takes about LATE_MS, which the environment may give as well as STOP_MS (see
 * the boots file).
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "aql_queue.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "random.h"
#include "sched_mode.h"
#include "wait.h"

/* The tests ask for a much shorter time than the hardware takes. */
#define LATE_MS ((uint32_t)number_from_environment("LATE_MS", 2000))
#define STOP_MS ((uint32_t)number_from_environment("STOP_MS", 500))
#define LONG_MS 30000u
#define WORKGROUPS 8u	/* some on each XCC */

FIXTURE(late)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	int fd;
	uint32_t id;
	uint64_t took_ms;	/* the stop that is pending */
};

FIXTURE_SETUP(late)
{
	uint64_t begin;

	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_TRUE(driver_has_no_hws(self->fd));
	ASSERT_TRUE(driver_facts(self->fd).caps & KFD_PREEMPT_CAP_TIMEOUT_BOUNDS_STOP);
	ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue, &self->job, WORKGROUPS, LONG_MS));
	self->id = self->queue.id;

	/* All tests start with a stop that wasn't confirmed in time. */
	begin = now_ns();
	ASSERT_EQ(-ETIME, preempt_queue_type(self->fd, self->id, KFD_PREEMPT_TYPE_SAVE, STOP_MS)) {
		TH_LOG("the GPU stops in time: start the vgpu with --fault dequeue-late");
	}
	self->took_ms = (now_ns() - begin) / 1000000;
}

FIXTURE_TEARDOWN(late)
{
	if (self->queue.ring.addr)
		EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_device_close(&self->dev);
}

#define FINISH_JOB() \
	do { \
		ASSERT_TRUE(job_ends_right(&self->job, LONG_MS)); \
		job_free(&self->job); \
	} while (0)

TEST_F_TIMEOUT(late, unconfirmed_stop_is_PENDING_with_the_hold_set, 60)
{
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_PENDING, status.state);
	EXPECT_EQ(KFD_PREEMPT_HOLD_SELF, status.holds);
	EXPECT_TRUE(status.status & KFD_PREEMPT_STATUS_HW_PENDING);
	EXPECT_EQ(0, status.preempts);
	EXPECT_EQ(1, status.failures);
}

/* However many XCCs don't answer: each of them on its own would be waited for 4 times as long. */
TEST_F_TIMEOUT(late, timeout_bounds_the_stop_and_not_that_of_each_XCC, 60)
{
	EXPECT_LE(STOP_MS, self->took_ms);
	EXPECT_GT(3 * STOP_MS, self->took_ms);
}

#define BATCH 4u

/* All queues of a call are asked, then waited for together. */
TEST_F_TIMEOUT(late, timeout_bounds_the_stops_of_a_batch, 60)
{
	struct kfd_preempt_switch_entry entry[BATCH] = {};
	struct kfd_ioctl_preempt_switch_args args = {
		.entries_ptr = (uintptr_t)entry,
		.num_entries = BATCH,
		.timeout_ms = STOP_MS,
	};
	struct aql_queue queue[BATCH];
	struct job job[BATCH];
	uint64_t begin, took_ms;
	unsigned int i;

	for (i = 0; i < BATCH; i++) {
		ASSERT_EQ(0, aql_queue_create(&self->dev, &queue[i]));
		ASSERT_EQ(0, checksum_job_start(&job[i], &queue[i], WORKGROUPS, 2));
		ASSERT_TRUE(job_wait_progress(&job[i], 1, LONG_MS));
		entry[i].queue_id = queue[i].id;
		entry[i].op = KFD_PREEMPT_OP_PREEMPT;
		entry[i].preempt_type = KFD_PREEMPT_TYPE_SAVE;
	}
	begin = now_ns();
	ASSERT_EQ(0, kfd_ioctl(self->fd, AMDKFD_IOC_PREEMPT_SWITCH, &args));
	took_ms = (now_ns() - begin) / 1000000;
	EXPECT_LE(STOP_MS, took_ms);
	EXPECT_GT(3 * STOP_MS, took_ms);
	for (i = 0; i < BATCH; i++) {
		EXPECT_EQ(-ETIME, entry[i].result);
		EXPECT_EQ(KFD_PREEMPT_STATE_PENDING, entry[i].state);
		EXPECT_TRUE(job_stands_still(&job[i], 20));
		EXPECT_EQ(0, aql_queue_destroy(&queue[i]));
	}
}

/* Also on the XCCs behind the one that didn't confirm. */
TEST_F_TIMEOUT(late, no_wave_runs_on_after_an_unconfirmed_stop, 60)
{
	EXPECT_TRUE(job_stands_still(&self->job, 100));
}

/* RESUME while the hardware may still be saving would load over it. */
TEST_F_TIMEOUT(late, resume_is_EBUSY_while_pending_and_right_afterwards, 60)
{
	unsigned int refused = 0, ms;
	int ret = -EBUSY;

	for (ms = 0; ms < LONG_MS && ret == -EBUSY; ms += 50) {
		ret = resume_queue(self->fd, self->id);
		if (ret == -EBUSY)
			refused++;
		sleep_us(50000);
	}
	EXPECT_EQ(0, ret);
	EXPECT_LT(0, refused);
	FINISH_JOB();
}

TEST_F_TIMEOUT(late, preempt_again_waits_for_the_same_stop, 60)
{
	struct kfd_ioctl_preempt_status_args status;

	EXPECT_EQ(-ETIME, preempt_queue_type(self->fd, self->id, KFD_PREEMPT_TYPE_SAVE, 100));
	ASSERT_EQ(0, preempt_queue_type(self->fd, self->id, KFD_PREEMPT_TYPE_SAVE, 4000));
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status.state);
	EXPECT_EQ(1, status.preempts);
	EXPECT_EQ(-EALREADY, preempt_queue(self->fd, self->id));
	EXPECT_TRUE(job_stands_still(&self->job, 100));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	FINISH_JOB();
}

TEST_F_TIMEOUT(late, stop_that_completed_unwatched_is_held_and_resumes, 60)
{
	sleep_us((LATE_MS + 1000) * 1000);
	EXPECT_TRUE(job_stands_still(&self->job, 100));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	FINISH_JOB();
}

static void ignore(int signal)
{
	(void)signal;
}

struct waiter {
	int fd;
	uint32_t id;
	int ret;
	uint32_t returned;
};

/* Waits for the pending stop, with everything of the process locked. */
static void *wait_for_stop(void *arg)
{
	struct waiter *waiter = arg;

	waiter->ret = preempt_queue_type(waiter->fd, waiter->id, KFD_PREEMPT_TYPE_SAVE, 4000);
	return NULL;
}

/* Not kfd_ioctl(), which repeats after EINTR. */
static void *preempt_once(void *arg)
{
	struct waiter *waiter = arg;
	struct kfd_ioctl_preempt_queue_args args = {
		.queue_id = waiter->id,
		.preempt_type = KFD_PREEMPT_TYPE_SAVE,
	};

	waiter->ret = ioctl(waiter->fd, AMDKFD_IOC_PREEMPT_QUEUE, &args) ? -errno : 0;
	__atomic_store_n(&waiter->returned, 1, __ATOMIC_RELEASE);
	return NULL;
}

/* A signal ends a call that waits for its turn; nothing has changed then. */
TEST_F_TIMEOUT(late, a_signal_before_the_commit_is_EINTR, 60)
{
	struct sigaction action = { .sa_handler = ignore };	/* no SA_RESTART */
	struct waiter holder = { .fd = self->fd, .id = self->id };
	struct kfd_ioctl_preempt_status_args status;
	struct aql_queue other;
	struct waiter waiter;
	pthread_t thread[2];
	unsigned int ms;

	ASSERT_EQ(0, sigaction(SIGUSR1, &action, NULL));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &other));
	waiter = (struct waiter){ .fd = self->fd, .id = other.id };
	ASSERT_EQ(0, pthread_create(&thread[0], NULL, wait_for_stop, &holder));
	sleep_us(100000);
	ASSERT_EQ(0, pthread_create(&thread[1], NULL, preempt_once, &waiter));
	for (ms = 0; ms < LONG_MS && !__atomic_load_n(&waiter.returned, __ATOMIC_ACQUIRE); ms += 20) {
		sleep_us(20000);
		pthread_kill(thread[1], SIGUSR1);
	}
	ASSERT_EQ(0, pthread_join(thread[1], NULL));
	EXPECT_EQ(-EINTR, waiter.ret);
	ASSERT_EQ(0, pthread_join(thread[0], NULL));
	EXPECT_EQ(0, holder.ret);
	ASSERT_EQ(0, preempt_status(self->fd, 0, other.id, &status));
	EXPECT_EQ(0, status.holds);
	EXPECT_EQ(KFD_PREEMPT_STATE_RUNNING, status.state);
	EXPECT_EQ(0, status.failures);
	EXPECT_EQ(0, aql_queue_destroy(&other));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	FINISH_JOB();
}

TEST_F_TIMEOUT(late, pending_queue_can_be_destroyed, 60)
{
	ASSERT_EQ(0, aql_queue_destroy(&self->queue));
	/* Its slot is good for the next queue. */
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue));
	ASSERT_EQ(0, checksum_job_start(&self->job, &self->queue, 2, 2));
	FINISH_JOB();
}

TEST_HARNESS_MAIN
