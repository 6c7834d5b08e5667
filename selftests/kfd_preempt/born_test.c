// SPDX-License-Identifier: GPL-2.0-only
/*
 * Holds of a process: all its compute queues at once, and those that it creates while it is held, which
 * have not run before they are resumed. Needs root.
 */
#include "kselftest_harness.h"
#include "sdma_queue.h"
#include "target.h"

#define ALL KFD_PREEMPT_ALL_QUEUES
#define OPERATOR KFD_PREEMPT_HOLD_OPERATOR
#define STICKY KFD_PREEMPT_SWITCH_STICKY
#define FORCE KFD_PREEMPT_SWITCH_FORCE
#define LONG_MS 60000u
#define MAX_QUEUES 8u
#define ROUNDS 100u

enum maker_order {
	MAKER_IDLE,
	MAKER_CREATE,		/* one more queue, with a job */
	MAKER_CREATE_SDMA,
	MAKER_PREEMPT_ALL,	/* as a call on itself */
	MAKER_RESUME_ALL,
	MAKER_LOOP,		/* create a queue, let it run, destroy it, until another order */
	MAKER_FINISH,		/* stop the jobs, check them, exit */
};

/* Shared with a process that creates queues. */
struct maker_shared {
	uint32_t ready;
	uint32_t order;		/* back to MAKER_IDLE when done */
	int32_t result;
	uint32_t num;
	uint32_t id[MAX_QUEUES];
	uint32_t progress[MAX_QUEUES];
	uint32_t updates;
	uint32_t held;		/* while the test holds the process: which hold it is, from 1 on */
	uint32_t rounds;	/* of MAKER_LOOP */
	uint32_t ran_held;	/* queues of it that ran while held */
};

struct maker {
	struct kfd_device dev;
	struct aql_queue queue[MAX_QUEUES];
	struct job job[MAX_QUEUES];
	struct maker_shared *shared;
};

static int create(struct maker *maker)
{
	uint32_t i = maker->shared->num;
	int ret = i < MAX_QUEUES ? aql_queue_create(&maker->dev, &maker->queue[i]) : -ENOSPC;

	if (!ret)
		ret = checksum_job_start(&maker->job[i], &maker->queue[i], 2, 2);
	if (ret)
		return ret;
	maker->shared->id[i] = maker->queue[i].id;
	shared_set(&maker->shared->num, i + 1);
	return 0;
}

/* A queue that is created while the process is held must not move before the hold ends. */
static int one_round(struct maker *maker)
{
	struct maker_shared *shared = maker->shared;
	uint32_t held = shared_get(&shared->held);
	struct aql_queue queue;
	struct job job;
	bool ran;
	int ret = aql_queue_create(&maker->dev, &queue);

	if (!ret)
		ret = checksum_job_start(&job, &queue, 2, 2);
	if (ret)
		return ret;
	sleep_us(2000);
	ran = job_progress(&job, 0);
	shared->ran_held += ran && held && shared_get(&shared->held) == held;
	ret = aql_queue_destroy(&queue);
	job_free(&job);
	shared->rounds++;
	return ret;
}

static int loop(struct maker *maker)
{
	int ret = 0;

	while (!ret && shared_get(&maker->shared->order) == MAKER_LOOP)
		ret = one_round(maker);
	return ret;
}

static int finish(struct maker *maker)
{
	int ret = 0;
	uint32_t i;

	for (i = 0; i < maker->shared->num; i++)
		job_stop(&maker->job[i]);
	for (i = 0; i < maker->shared->num; i++) {
		if (!job_wait(&maker->job[i], LONG_MS) || job_errors(&maker->job[i]))
			ret = 1;
		if (aql_queue_destroy(&maker->queue[i]))
			ret = 1;
	}
	return ret;
}

static int create_sdma(struct maker *maker)
{
	struct sdma_queue sdma;
	int ret = sdma_queue_create(&maker->dev, &sdma);

	if (!ret)
		maker->shared->id[MAX_QUEUES - 1] = sdma.id;
	return ret;
}

static int follow(struct maker *maker, enum maker_order order)
{
	int fd = maker->dev.kfd_fd;

	switch (order) {
	case MAKER_CREATE:
		return create(maker);
	case MAKER_CREATE_SDMA:
		return create_sdma(maker);
	case MAKER_PREEMPT_ALL:
		return switch_preempt(fd, 0, 0, ALL);
	case MAKER_RESUME_ALL:
		return switch_resume(fd, 0, 0, ALL);
	case MAKER_LOOP:
		return loop(maker);
	case MAKER_FINISH:
		_exit(finish(maker));
	default:
		return 0;
	}
}

static void run_maker(struct maker_shared *shared)
{
	struct maker maker = { .shared = shared };
	enum maker_order order;
	uint32_t i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (kfd_device_open(&maker.dev) || create(&maker) ||
	    !job_wait_progress(&maker.job[0], 2, LONG_MS))
		_exit(1);
	shared_set(&shared->ready, 1);
	for (;;) {
		order = shared_get(&shared->order);
		for (i = 0; i < shared->num; i++)
			shared_set(&shared->progress[i], job_progress(&maker.job[i], 0));
		shared_set(&shared->updates, shared->updates + 1);
		if (order == MAKER_IDLE) {
			sleep_us(500);
			continue;
		}
		shared->result = follow(&maker, order);
		shared_set(&shared->order, MAKER_IDLE);
	}
}

FIXTURE(born)
{
	struct maker_shared *shared;
	pid_t pid;
	int fd[2];	/* of two operators */
};

static bool maker_is_ready(const void *shared)
{
	return shared_get(&((const struct maker_shared *)shared)->ready);
}

static bool maker_is_idle(const void *shared)
{
	return shared_get(&((const struct maker_shared *)shared)->order) == MAKER_IDLE;
}

FIXTURE_SETUP(born)
{
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	self->pid = fork();
	ASSERT_LE(0, self->pid);
	if (!self->pid)
		run_maker(self->shared);
	self->fd[0] = kfd_open();
	self->fd[1] = kfd_open();
	ASSERT_LE(0, self->fd[0]);
	ASSERT_LE(0, self->fd[1]);
	ASSERT_TRUE(wait_until(maker_is_ready, self->shared, LONG_MS));
}

FIXTURE_TEARDOWN(born)
{
	child_kill(&self->pid);
	close(self->fd[0]);
	close(self->fd[1]);
}

static int give(const FIXTURE_DATA(born) *self, enum maker_order order)
{
	shared_set(&self->shared->order, order);
	if (!wait_until(maker_is_idle, self->shared, LONG_MS))
		return -ETIME;
	return self->shared->result;
}

static int hold(const FIXTURE_DATA(born) *self, unsigned int by, uint32_t flags)
{
	return switch_preempt(self->fd[by], self->pid, flags, ALL);
}

static int resume(const FIXTURE_DATA(born) *self, unsigned int by, uint32_t flags)
{
	return switch_resume(self->fd[by], self->pid, flags, ALL);
}

typedef int (*order_function)(const FIXTURE_DATA(born) *self, unsigned int by, uint32_t flags);

/* Repeats the call: a process that calls KFD in a loop is busy at times. */
static int until_not_busy(order_function order, const FIXTURE_DATA(born) *self)
{
	int ret, tries = 100;

	do
		ret = order(self, 0, 0);
	while (ret == -EBUSY && --tries);
	return ret;
}

static bool has_looked(const FIXTURE_DATA(born) *self)
{
	uint32_t before = shared_get(&self->shared->updates);
	unsigned int ms;

	for (ms = 0; ms < LONG_MS; ms++) {
		if (shared_get(&self->shared->updates) - before >= 2)
			return true;
		sleep_us(1000);
	}
	return false;
}

static uint32_t progress_of(const FIXTURE_DATA(born) *self, uint32_t i)
{
	return has_looked(self) ? shared_get(&self->shared->progress[i]) : ~0u;
}

static bool moves(const FIXTURE_DATA(born) *self, uint32_t i)
{
	uint32_t before = progress_of(self, i);
	unsigned int ms;

	for (ms = 0; ms < LONG_MS; ms++) {
		if (shared_get(&self->shared->progress[i]) - before > 2)
			return true;
		sleep_us(1000);
	}
	return false;
}

#define EXPECT_QUEUE(i, want_holds) \
	do { \
		struct kfd_ioctl_preempt_status_args now; \
		ASSERT_EQ(0, preempt_status(self->fd[0], self->pid, self->shared->id[i], &now)); \
		EXPECT_EQ(want_holds, now.holds); \
		EXPECT_EQ((want_holds) ? KFD_PREEMPT_STATE_HELD : KFD_PREEMPT_STATE_RUNNING, \
			  now.state); \
	} while (0)

/* Held since it was created. */
#define EXPECT_UNBORN(i, want_holds) \
	do { \
		struct kfd_ioctl_preempt_status_args unborn; \
		EXPECT_QUEUE(i, want_holds); \
		ASSERT_EQ(0, preempt_status(self->fd[0], self->pid, self->shared->id[i], &unborn)); \
		EXPECT_EQ(0, unborn.preempts); \
		EXPECT_EQ(0, unborn.resumes); \
		EXPECT_LT(0, unborn.held_ns); \
		sleep_us(20000); \
		EXPECT_EQ(0, progress_of(self, i)); \
	} while (0)

#define EXPECT_FINISH() \
	do { \
		shared_set(&self->shared->order, MAKER_FINISH); \
		EXPECT_TRUE(child_succeeds(&self->pid)); \
	} while (0)

TEST_F_TIMEOUT(born, queue_of_a_held_process_is_born_held, 180)
{
	ASSERT_EQ(0, hold(self, 0, 0));
	EXPECT_QUEUE(0, OPERATOR);
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_UNBORN(1, OPERATOR);
	EXPECT_UNBORN(2, OPERATOR);
	ASSERT_EQ(0, resume(self, 0, 0));
	EXPECT_TRUE(moves(self, 0));
	EXPECT_TRUE(moves(self, 1));
	EXPECT_TRUE(moves(self, 2));
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_QUEUE(3, 0);
	EXPECT_FINISH();
}

TEST_F_TIMEOUT(born, no_queue_of_a_loop_runs_while_the_process_is_held, 600)
{
	uint32_t i, before;

	shared_set(&self->shared->order, MAKER_LOOP);
	for (i = 0; i < ROUNDS; i++) {
		ASSERT_EQ(0, until_not_busy(hold, self));
		shared_set(&self->shared->held, i + 1);
		before = shared_get(&self->shared->rounds);
		while (shared_get(&self->shared->rounds) - before < 2 &&
		       !maker_is_idle(self->shared))
			sleep_us(500);
		shared_set(&self->shared->held, 0);
		ASSERT_EQ(0, until_not_busy(resume, self));
		ASSERT_FALSE(maker_is_idle(self->shared)) {
			TH_LOG("a round failed: %d", self->shared->result);
		}
	}
	EXPECT_EQ(0, shared_get(&self->shared->ran_held));
	EXPECT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_FINISH();
}

/* FORCE concerns the RESUMEs of a call only. */
TEST_F_TIMEOUT(born, stop_with_force_holds_queues_to_come, 180)
{
	ASSERT_EQ(0, hold(self, 0, KFD_PREEMPT_SWITCH_FORCE));
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_UNBORN(1, OPERATOR);
	ASSERT_EQ(0, resume(self, 0, 0));
	EXPECT_TRUE(moves(self, 1));
	EXPECT_FINISH();
}

TEST_F_TIMEOUT(born, queues_run_once_the_operator_is_gone, 180)
{
	ASSERT_EQ(0, hold(self, 0, 0));
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_UNBORN(1, OPERATOR);
	close(self->fd[0]);
	self->fd[0] = kfd_open();
	EXPECT_TRUE(moves(self, 0));
	EXPECT_TRUE(moves(self, 1));
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_TRUE(moves(self, 2));
	EXPECT_FINISH();
}

TEST_F_TIMEOUT(born, hold_without_a_queue_and_twice, 180)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = ALL,
		.target_pid = getpid(),
		.op = KFD_PREEMPT_OP_PREEMPT,
		.preempt_type = KFD_PREEMPT_TYPE_SAVE,
	};

	EXPECT_EQ(-EALREADY, resume(self, 0, 0));
	ASSERT_EQ(0, hold(self, 0, 0));
	EXPECT_EQ(-EALREADY, hold(self, 0, 0));
	/* Another operator is no owner of it. */
	EXPECT_EQ(-EALREADY, resume(self, 1, 0));
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_EQ(-EALREADY, hold(self, 0, 0));
	ASSERT_EQ(0, resume(self, 0, 0));
	EXPECT_EQ(-EALREADY, resume(self, 0, 0));
	EXPECT_FINISH();

	/* This process has no queue. */
	ASSERT_EQ(0, preempt_switch(self->fd[0], 0, 0, &entry, 1));
	EXPECT_EQ(0, entry.result);
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, entry.state);
	EXPECT_EQ(KFD_PREEMPT_HOLD_SELF, entry.holds);
	EXPECT_EQ(0, switch_resume(self->fd[0], 0, 0, ALL));
}

TEST_F_TIMEOUT(born, queue_is_born_with_the_holds_of_all_owners, 180)
{
	ASSERT_EQ(0, hold(self, 0, 0));
	ASSERT_EQ(0, hold(self, 1, 0));
	ASSERT_EQ(0, hold(self, 1, STICKY));
	ASSERT_EQ(0, give(self, MAKER_PREEMPT_ALL));
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_UNBORN(1, OPERATOR | KFD_PREEMPT_HOLD_STICKY | KFD_PREEMPT_HOLD_SELF);
	ASSERT_EQ(0, resume(self, 0, 0));
	EXPECT_QUEUE(1, OPERATOR | KFD_PREEMPT_HOLD_STICKY | KFD_PREEMPT_HOLD_SELF);
	ASSERT_EQ(0, resume(self, 1, 0));
	EXPECT_QUEUE(1, KFD_PREEMPT_HOLD_STICKY | KFD_PREEMPT_HOLD_SELF);
	ASSERT_EQ(0, resume(self, 0, FORCE));
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_UNBORN(2, KFD_PREEMPT_HOLD_SELF);
	ASSERT_EQ(0, give(self, MAKER_RESUME_ALL));
	EXPECT_TRUE(moves(self, 1));
	EXPECT_TRUE(moves(self, 2));
	EXPECT_FINISH();
}

TEST_F_TIMEOUT(born, sticky_hold_of_a_process_outlives_its_file, 180)
{
	ASSERT_EQ(0, hold(self, 0, STICKY));
	close(self->fd[0]);
	self->fd[0] = kfd_open();
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_UNBORN(1, KFD_PREEMPT_HOLD_STICKY);
	ASSERT_EQ(0, resume(self, 0, STICKY));
	EXPECT_TRUE(moves(self, 1));
	EXPECT_FINISH();
}

TEST_F_TIMEOUT(born, one_queue_is_resumed_by_itself, 180)
{
	ASSERT_EQ(0, hold(self, 0, 0));
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	ASSERT_EQ(0, switch_resume(self->fd[0], self->pid, 0, self->shared->id[1]));
	EXPECT_TRUE(moves(self, 1));
	EXPECT_QUEUE(0, OPERATOR);
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_UNBORN(2, OPERATOR);
	/* Its owner ends with queues that were never resumed. */
	child_kill(&self->pid);
}

TEST_F_TIMEOUT(born, sdma_queues_run, 180)
{
	struct kfd_ioctl_preempt_status_args sdma;

	ASSERT_EQ(0, hold(self, 0, 0));
	ASSERT_EQ(0, give(self, MAKER_CREATE_SDMA));
	ASSERT_EQ(0, preempt_status(self->fd[0], self->pid, self->shared->id[MAX_QUEUES - 1], &sdma));
	EXPECT_EQ(0, sdma.holds);
	ASSERT_EQ(0, resume(self, 0, 0));
	EXPECT_FINISH();
}

TEST_F_TIMEOUT(born, wrong_entries_change_nothing, 180)
{
	struct kfd_preempt_switch_entry entry[2] = {
		{ .queue_id = ALL, .op = KFD_PREEMPT_OP_PREEMPT,
		  .preempt_type = KFD_PREEMPT_TYPE_SAVE },
		{ .queue_id = self->shared->id[0], .op = KFD_PREEMPT_OP_PREEMPT,
		  .preempt_type = KFD_PREEMPT_TYPE_SAVE },
	};

	EXPECT_EQ(-EINVAL, preempt_switch(self->fd[0], self->pid, 0, entry, 2));
	entry[1].queue_id = ALL;
	EXPECT_EQ(-EINVAL, preempt_switch(self->fd[0], self->pid, 0, entry, 2));
	entry[0].preempt_type = KFD_PREEMPT_TYPE_RESET;
	EXPECT_EQ(-EINVAL, preempt_switch(self->fd[0], self->pid, 0, entry, 1));
	entry[0].preempt_type = KFD_PREEMPT_TYPE_SAVE;
	entry[0].gpu_id = 1;	/* of no GPU */
	ASSERT_EQ(0, preempt_switch(self->fd[0], self->pid, 0, entry, 1));
	EXPECT_EQ(-ENODEV, entry[0].result);
	entry[0].queue_id = self->shared->id[0];
	EXPECT_EQ(-EINVAL, preempt_switch(self->fd[0], self->pid, 0, entry, 1));
	EXPECT_QUEUE(0, 0);
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_QUEUE(1, 0);
	EXPECT_FINISH();
}

/* The second entry fails, so the process is not held, and its queues to come are not. */
TEST_F_TIMEOUT(born, all_or_nothing_holds_no_queue_to_come, 180)
{
	struct kfd_preempt_switch_entry entry[2] = {
		{ .queue_id = ALL, .op = KFD_PREEMPT_OP_PREEMPT, .target_pid = self->pid,
		  .preempt_type = KFD_PREEMPT_TYPE_SAVE },
		{ .queue_id = 77, .op = KFD_PREEMPT_OP_PREEMPT,
		  .preempt_type = KFD_PREEMPT_TYPE_SAVE },
	};

	ASSERT_EQ(0, preempt_switch(self->fd[0], 0, KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, entry, 2));
	EXPECT_EQ(-EBUSY, entry[0].result);
	EXPECT_EQ(-ENOENT, entry[1].result);
	EXPECT_QUEUE(0, 0);
	ASSERT_EQ(0, give(self, MAKER_CREATE));
	EXPECT_QUEUE(1, 0);
	EXPECT_FINISH();
}

TEST_HARNESS_MAIN
