// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every allocation of every call fails once, and so does every copy from and to user memory: the
 * n-th of a call, for n = 1, 2, ... until none is left. After each failure the queues are in the
 * state that the call's errno promises, the hardware agrees, and the same call works. Needs root
 * and a kernel with fault injection (selftests/kernels).
 */
#include <errno.h>
#include <stdio.h>

#include "fail_nth.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "target.h"
#include "watch.h"

#define LONG_MS 60000u
#define MAX_N 1000u
#define MAX_STEPS 3
/*
 * Where a slab is empty or a page table is missing, there is one more that can fail: of two sweeps
 * one may pass over a place.
 */
#define PASSES 3u
#define OWN_QUEUES 2
#define NUM_QUEUES 4	/* the caller's two, one of each target */

#define STOP KFD_PREEMPT_OP_PREEMPT
#define START KFD_PREEMPT_OP_RESUME

FIXTURE(failnth)
{
	struct kfd_device dev;
	struct aql_queue queue[OWN_QUEUES];
	struct job job[OWN_QUEUES];
	struct target target[2];
	int target_fd, fd, fail_fd;
};

struct step {
	unsigned int queue;	/* 0 and 1 are own, 2 and 3 those of the targets */
	uint16_t op;
};

/* One call and what it is to do. */
struct call {
	const char *name;
	bool v0;		/* PREEMPT_QUEUE or RESUME_QUEUE, else SWITCH */
	bool by_fd;
	bool whole;		/* the processes of the queues, each of which has one */
	uint32_t flags;		/* of SWITCH; CHECKPOINT for v0 as well */
	unsigned int num_steps;
	struct step step[MAX_STEPS];
};

struct outcome {
	int ret;
	struct kfd_preempt_switch_entry entry[MAX_STEPS];
};

struct counts {
	unsigned int no_memory, bad_copy, made_up_for;
};

static pid_t queue_pid(const FIXTURE_DATA(failnth) *self, unsigned int i)
{
	return i < OWN_QUEUES ? 0 : self->target[i - OWN_QUEUES].pid;
}

static uint32_t queue_id(const FIXTURE_DATA(failnth) *self, unsigned int i)
{
	return i < OWN_QUEUES ? self->queue[i].id : self->target[i - OWN_QUEUES].queue_id;
}

static void issue_v0(const FIXTURE_DATA(failnth) *self, const struct call *call,
		     struct outcome *outcome)
{
	struct kfd_ioctl_preempt_queue_args args = {
		.queue_id = queue_id(self, call->step[0].queue),
		.preempt_type = KFD_PREEMPT_TYPE_SAVE,
		.flags = call->flags & KFD_PREEMPT_SWITCH_CHECKPOINT ?
				 KFD_PREEMPT_FLAG_CHECKPOINT : 0,
	};

	if (call->step[0].op == STOP)
		outcome->ret = kfd_ioctl(self->fd, AMDKFD_IOC_PREEMPT_QUEUE, &args);
	else
		outcome->ret = resume_queue(self->fd, args.queue_id);
	outcome->entry[0].result = outcome->ret;
}

static void issue_switch(const FIXTURE_DATA(failnth) *self, const struct call *call,
			 struct outcome *outcome)
{
	struct kfd_ioctl_preempt_switch_args args = {
		.flags = call->flags | (call->by_fd ? KFD_PREEMPT_SWITCH_TARGET_FD : 0),
		.target_fd = call->by_fd ? self->target_fd : 0,
		.entries_ptr = (uintptr_t)outcome->entry,
		.num_entries = call->num_steps,
	};
	unsigned int i;

	for (i = 0; i < call->num_steps; i++) {
		struct kfd_preempt_switch_entry *entry = &outcome->entry[i];

		entry->queue_id = call->whole ? KFD_PREEMPT_ALL_QUEUES :
						queue_id(self, call->step[i].queue);
		entry->op = call->step[i].op;
		entry->preempt_type = entry->op == STOP ? KFD_PREEMPT_TYPE_SAVE : 0;
		entry->target_pid = call->by_fd ? 0 : queue_pid(self, call->step[i].queue);
	}
	outcome->ret = kfd_ioctl(self->fd, AMDKFD_IOC_PREEMPT_SWITCH, &args);
}

static void issue(const FIXTURE_DATA(failnth) *self, const struct call *call,
		  struct outcome *outcome)
{
	memset(outcome, 0, sizeof(*outcome));
	if (call->v0)
		issue_v0(self, call, outcome);
	else
		issue_switch(self, call, outcome);
}

/* The queue says it, and its waves do it. */
static bool queue_is(const FIXTURE_DATA(failnth) *self, unsigned int i, uint32_t state)
{
	struct kfd_ioctl_preempt_status_args status;
	bool held = state == KFD_PREEMPT_STATE_HELD, right;
	int ret = preempt_status(self->fd, queue_pid(self, i), queue_id(self, i), &status);

	if (ret || status.state != state || held != !!status.holds) {
		printf("# queue %u: status %d, state %u, holds %#x instead of state %u\n", i, ret,
		       status.state, status.holds, state);
		return false;
	}
	if (i < OWN_QUEUES)
		right = held ? job_stands_still(&self->job[i], 10) :
			       job_wait_progress(&self->job[i], 1, LONG_MS);
	else
		right = held ? target_stands_still(&self->target[i - OWN_QUEUES], 10) :
			       target_moves(&self->target[i - OWN_QUEUES]);
	if (!right)
		printf("# queue %u: %s\n", i, held ? "held, but runs" : "stands still");
	return right;
}

static uint32_t state_after(uint16_t op)
{
	return op == STOP ? KFD_PREEMPT_STATE_HELD : KFD_PREEMPT_STATE_RUNNING;
}

static uint32_t state_before(uint16_t op)
{
	return op == STOP ? KFD_PREEMPT_STATE_RUNNING : KFD_PREEMPT_STATE_HELD;
}

/* All queues as before the call, by calls of which nothing fails. */
static bool prepare(const FIXTURE_DATA(failnth) *self, const struct call *call)
{
	struct call reverse = *call;
	struct outcome outcome;
	unsigned int i;

	reverse.flags &= ~(uint32_t)(KFD_PREEMPT_SWITCH_ALL_OR_NOTHING |
				     KFD_PREEMPT_SWITCH_CHECKPOINT);
	for (i = 0; i < call->num_steps; i++)
		reverse.step[i].op = call->step[i].op == STOP ? START : STOP;
	issue(self, &reverse, &outcome);
	for (i = 0; i < call->num_steps; i++)
		if ((!call->v0 && outcome.ret) ||
		    (outcome.entry[i].result && outcome.entry[i].result != -EALREADY)) {
			printf("# %s: cannot prepare: %d, entry %u: %d\n", call->name, outcome.ret,
			       i, outcome.entry[i].result);
			return false;
		}
	return true;
}

/* Whether a step of a call that failed somewhere is done, as the uapi has it; -1: it may not say so. */
static int step_is_done(const struct call *call, const struct outcome *outcome, unsigned int i)
{
	int result = outcome->entry[i].result;

	if (outcome->ret == -ENOMEM)
		return 0;
	if (call->v0)
		return outcome->ret == -EFAULT ? 0 : outcome->ret ? -1 : 1;
	if (outcome->ret || !result)
		return outcome->ret ? -1 : 1;
	if (result == -EBUSY && call->flags & KFD_PREEMPT_SWITCH_ALL_OR_NOTHING)
		return 0;
	return result == -ENOMEM ? 0 : -1;
}

/*
 * After -EFAULT the change stays, if there was one: before the call's first or after its last
 * step, because nothing else has failed.
 */
static int fault_was_late(const FIXTURE_DATA(failnth) *self, const struct call *call)
{
	struct kfd_ioctl_preempt_status_args status;
	unsigned int i = call->step[0].queue;

	if (preempt_status(self->fd, queue_pid(self, i), queue_id(self, i), &status))
		return -1;
	return status.state == state_after(call->step[0].op);
}

/* A process that a call did not hold has no hold of queues to come either. */
static bool process_is_free(const FIXTURE_DATA(failnth) *self, const struct call *call, unsigned int i)
{
	if (!call->whole || call->step[i].op != STOP)
		return true;
	return switch_resume(self->fd, queue_pid(self, call->step[i].queue),
			     call->flags & KFD_PREEMPT_SWITCH_STICKY, KFD_PREEMPT_ALL_QUEUES) ==
	       -EALREADY;
}

static bool check(const FIXTURE_DATA(failnth) *self, const struct call *call,
		  const struct outcome *outcome, unsigned int n)
{
	unsigned int i, refused = 0;
	int late = -1, done;

	if (!call->v0 && outcome->ret == -EFAULT)
		late = fault_was_late(self, call);
	for (i = 0; i < call->num_steps; i++) {
		uint16_t op = call->step[i].op;

		done = late >= 0 ? late : step_is_done(call, outcome, i);
		refused += !done;
		if (done < 0 || !queue_is(self, call->step[i].queue,
					  done ? state_after(op) : state_before(op)) ||
		    (!done && !process_is_free(self, call, i))) {
			printf("# %s, failure %u: the call said %d, entry %u %d\n", call->name, n,
			       outcome->ret, i, outcome->entry[i].result);
			return false;
		}
	}
	if (call->flags & KFD_PREEMPT_SWITCH_ALL_OR_NOTHING && refused && refused != i) {
		printf("# %s, failure %u: neither all nor nothing\n", call->name, n);
		return false;
	}
	return true;
}

/* The same call, and now nothing fails. */
static bool retry(const FIXTURE_DATA(failnth) *self, const struct call *call, unsigned int n)
{
	struct call plain = *call;
	struct outcome outcome;
	unsigned int i;

	/* After a failure that came late it is all done, which ALL_OR_NOTHING would refuse. */
	plain.flags &= ~KFD_PREEMPT_SWITCH_ALL_OR_NOTHING;
	issue(self, &plain, &outcome);
	for (i = 0; i < call->num_steps; i++) {
		int result = outcome.entry[i].result;

		if ((result && result != -EALREADY) || (!call->v0 && outcome.ret) ||
		    !queue_is(self, call->step[i].queue, state_after(call->step[i].op))) {
			printf("# %s after failure %u: %d, entry %u %d\n", call->name, n,
			       outcome.ret, i, result);
			return false;
		}
	}
	return true;
}

static void count(struct counts *counts, const struct call *call, const struct outcome *outcome)
{
	bool no_memory = outcome->ret == -ENOMEM;
	unsigned int i;

	for (i = 0; i < call->num_steps; i++)
		no_memory |= outcome->entry[i].result == -ENOMEM;
	counts->no_memory += no_memory;
	counts->bad_copy += outcome->ret == -EFAULT;
	counts->made_up_for += !no_memory && !outcome->ret;
}

/* Every queue runs again, whoever holds it. */
static bool release_all(const FIXTURE_DATA(failnth) *self)
{
	unsigned int i;

	for (i = 0; i < NUM_QUEUES; i++) {
		pid_t pid = queue_pid(self, i);
		int ret = switch_resume(self->fd, pid, pid ? KFD_PREEMPT_SWITCH_FORCE : 0,
					pid ? KFD_PREEMPT_ALL_QUEUES : queue_id(self, i));

		if ((ret && ret != -EALREADY) || !queue_is(self, i, KFD_PREEMPT_STATE_RUNNING))
			return false;
	}
	return true;
}

/* One failure after the other until none is left, which must come. */
static bool sweep_once(const FIXTURE_DATA(failnth) *self, const struct call *call,
		       struct counts *counts)
{
	struct outcome outcome;
	bool failed = true;
	unsigned int n;

	for (n = 1; n < MAX_N && failed; n++) {
		if (!prepare(self, call) || fail_nth_arm(self->fail_fd, n))
			return false;
		issue(self, call, &outcome);
		failed = fail_nth_disarm(self->fail_fd);
		if (!check(self, call, &outcome, n) || !retry(self, call, n))
			return false;
		if (failed)
			count(counts, call, &outcome);
	}
	/* The last one did all of it. */
	return !failed && !outcome.ret;
}

static bool sweep(const FIXTURE_DATA(failnth) *self, const struct call *call, struct counts *counts)
{
	unsigned int pass;

	memset(counts, 0, sizeof(*counts));
	for (pass = 0; pass < PASSES; pass++)
		if (!sweep_once(self, call, counts))
			return false;
	printf("# %s, %u times: ENOMEM %u, EFAULT %u, made up for %u\n", call->name, PASSES,
	       counts->no_memory, counts->bad_copy, counts->made_up_for);
	return release_all(self);
}

FIXTURE_SETUP(failnth)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, target_start(&self->target[i]));
	self->target_fd = target_file(&self->target[0]);
	ASSERT_LE(0, self->target_fd);
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	for (i = 0; i < OWN_QUEUES; i++)
		ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue[i], &self->job[i], 2,
					       LONG_MS));
	self->fail_fd = fail_nth_open();
	ASSERT_LE(0, self->fail_fd) {
		TH_LOG("this kernel cannot let allocations fail; selftests/kernels builds one");
	}
}

/* Nothing is held for good, and no wave has lost anything. */
FIXTURE_TEARDOWN(failnth)
{
	unsigned int i;

	EXPECT_TRUE(release_all(self));
	for (i = 0; i < OWN_QUEUES; i++) {
		EXPECT_TRUE(job_ends_right(&self->job[i], LONG_MS));
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
	}
	for (i = 0; i < 2; i++)
		EXPECT_TRUE(target_finish(&self->target[i]));
	close(self->fail_fd);
	close(self->target_fd);
	kfd_device_close(&self->dev);
}

/*
 * At least so often must have failed what fails always: each of the four arrays of SWITCH, and its
 * copies of arguments and entries, in and out.
 */
#define ARRAYS (4 * (PASSES - 1))
#define SWEEP(min_no_memory, min_bad_copy, ...) \
	do { \
		const struct call swept = __VA_ARGS__; \
		struct counts counts; \
		EXPECT_TRUE(sweep(self, &swept, &counts)); \
		EXPECT_LE(min_no_memory, counts.no_memory); \
		EXPECT_LE(min_bad_copy, counts.bad_copy); \
	} while (0)
#define SWEEP_V0(...) SWEEP(0, 1, __VA_ARGS__)
#define SWEEP_SWITCH(...) SWEEP(ARRAYS, 2 * PASSES, __VA_ARGS__)

TEST_F_TIMEOUT(failnth, preempt_and_resume, 600)
{
	SWEEP_V0({ .name = "PREEMPT", .v0 = true, .num_steps = 1, .step = { { 0, STOP } } });
	SWEEP_V0({ .name = "RESUME", .v0 = true, .num_steps = 1, .step = { { 0, START } } });
	SWEEP_V0({ .name = "PREEMPT, CHECKPOINT", .v0 = true, .num_steps = 1,
		   .flags = KFD_PREEMPT_SWITCH_CHECKPOINT, .step = { { 0, STOP } } });
}

TEST_F_TIMEOUT(failnth, switch_of_own_queues, 900)
{
	SWEEP_SWITCH({ .name = "SWITCH one for the other", .num_steps = 2,
		   .step = { { 0, STOP }, { 1, START } } });
	SWEEP_SWITCH({ .name = "SWITCH two", .num_steps = 2, .step = { { 0, STOP }, { 1, STOP } } });
	SWEEP_SWITCH({ .name = "SWITCH all or nothing", .num_steps = 2,
		   .flags = KFD_PREEMPT_SWITCH_ALL_OR_NOTHING,
		   .step = { { 0, STOP }, { 1, START } } });
	SWEEP_SWITCH({ .name = "SWITCH, CHECKPOINT", .num_steps = 2,
		   .flags = KFD_PREEMPT_SWITCH_CHECKPOINT, .step = { { 0, STOP }, { 1, STOP } } });
}

TEST_F_TIMEOUT(failnth, switch_of_several_processes, 900)
{
	SWEEP_SWITCH({ .name = "SWITCH three processes", .num_steps = 3,
		   .step = { { 0, STOP }, { 2, STOP }, { 3, STOP } } });
	SWEEP_SWITCH({ .name = "SWITCH three processes, start", .num_steps = 3,
		   .step = { { 0, START }, { 2, START }, { 3, START } } });
	SWEEP_SWITCH({ .name = "SWITCH three processes, all or nothing, CHECKPOINT", .num_steps = 3,
		   .flags = KFD_PREEMPT_SWITCH_ALL_OR_NOTHING | KFD_PREEMPT_SWITCH_CHECKPOINT,
		   .step = { { 0, STOP }, { 2, STOP }, { 3, STOP } } });
	SWEEP_SWITCH({ .name = "SWITCH sticky", .num_steps = 2, .flags = KFD_PREEMPT_SWITCH_STICKY,
		   .step = { { 2, STOP }, { 3, STOP } } });
}

TEST_F_TIMEOUT(failnth, switch_by_file, 900)
{
	SWEEP_SWITCH({ .name = "SWITCH by file", .by_fd = true, .num_steps = 1,
		   .step = { { 2, STOP } } });
	SWEEP_SWITCH({ .name = "SWITCH by file, start", .by_fd = true, .num_steps = 1,
		   .step = { { 2, START } } });
}

/* These have four more arrays. */
TEST_F_TIMEOUT(failnth, switch_of_whole_processes, 900)
{
	SWEEP(2 * ARRAYS, 2 * PASSES, { .name = "SWITCH whole processes", .whole = true,
	      .num_steps = 2, .step = { { 2, STOP }, { 3, STOP } } });
	SWEEP(2 * ARRAYS, 2 * PASSES, { .name = "SWITCH whole processes, start", .whole = true,
	      .num_steps = 2, .step = { { 2, START }, { 3, START } } });
	SWEEP(2 * ARRAYS, 2 * PASSES, { .name = "SWITCH whole processes, sticky, all or nothing",
	      .whole = true, .num_steps = 2,
	      .flags = KFD_PREEMPT_SWITCH_STICKY | KFD_PREEMPT_SWITCH_ALL_OR_NOTHING,
	      .step = { { 2, STOP }, { 3, STOP } } });
}

/* Calls that change nothing. */
TEST_F_TIMEOUT(failnth, query_and_status, 600)
{
	struct kfd_ioctl_preempt_status_args status;
	struct kfd_ioctl_preempt_query_args query;
	unsigned int n, which, failures;
	bool failed;
	int ret;

	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[1].id));
	for (which = 0; which < 3; which++) {
		failed = true, failures = 0;
		for (n = 1; failed && n < MAX_N; n++) {
			ASSERT_EQ(0, fail_nth_arm(self->fail_fd, n));
			if (which == 0)
				ret = preempt_query(self->fd, self->dev.gpu_id, &query);
			else
				ret = preempt_status(self->fd, which == 1 ? 0 : self->target[0].pid,
						     queue_id(self, which), &status);
			failed = fail_nth_disarm(self->fail_fd);
			failures += failed;
			EXPECT_EQ(failed ? -EFAULT : 0, ret);
		}
		/* In and out. */
		EXPECT_EQ(2, failures);
		EXPECT_FALSE(failed);
	}
	EXPECT_TRUE(queue_is(self, 0, KFD_PREEMPT_STATE_RUNNING));
	EXPECT_TRUE(queue_is(self, 1, KFD_PREEMPT_STATE_HELD));
	EXPECT_TRUE(queue_is(self, 2, KFD_PREEMPT_STATE_RUNNING));
}

static int lowest_free_fd(void)
{
	int fd = dup(STDIN_FILENO);

	close(fd);
	return fd;
}

/* One that fails leaves no file and no target; of targets a process can have 64. */
TEST_F_TIMEOUT(failnth, watch_and_its_targets, 900)
{
	const unsigned int times = 70;
	struct kfd_preempt_watch_arm_entry entry;
	struct kfd_preempt_watch_event event;
	int watch, id, ret, before = lowest_free_fd();
	unsigned int n, i, failures = 0;
	bool failed;

	for (i = 0; i < PASSES; i++)
		for (n = 1, failed = true; failed && n < MAX_N; n++) {
			ASSERT_EQ(0, fail_nth_arm(self->fail_fd, n));
			watch = watch_open(self->fd);
			failed = fail_nth_disarm(self->fail_fd);
			EXPECT_TRUE(watch >= 0 || watch == -ENOMEM || watch == -EFAULT);
			if (watch >= 0)
				close(watch);
			failures += watch < 0;
			EXPECT_EQ(before, lowest_free_fd());
		}
	/* The copies in and out; what fails beside them may be made up for. */
	EXPECT_LE(2 * PASSES, failures);
	watch = watch_open(self->fd);
	ASSERT_LE(0, watch);
	for (i = 0, failures = 0; i < times; i++)
		for (n = 1, failed = true; failed && n < MAX_N; n++) {
			ASSERT_EQ(0, fail_nth_arm(self->fail_fd, n));
			id = watch_add(watch, self->target[0].pid, 0);
			failed = fail_nth_disarm(self->fail_fd);
			EXPECT_TRUE(id > 0 || id == -ENOMEM || id == -EFAULT);
			if (id > 0)
				ASSERT_EQ(0, watch_remove(watch, (uint32_t)id));
			failures += id <= 0;
		}
	EXPECT_LE(3 * times, failures);
	id = watch_add(watch, self->target[0].pid, 0);
	ASSERT_LT(0, id);
	for (i = 0; i < PASSES; i++)
		for (n = 1, failed = true; failed && n < MAX_N; n++) {
			ASSERT_EQ(0, fail_nth_arm(self->fail_fd, n));
			ret = watch_arm(watch, (uint32_t)id, 0, &entry);
			failed = fail_nth_disarm(self->fail_fd);
			EXPECT_TRUE(!ret || ret == -ENOMEM || ret == -EFAULT);
			ASSERT_EQ(0, watch_arm(watch, (uint32_t)id, 0, &entry));
			EXPECT_EQ(1, entry.queues_busy);
		}
	EXPECT_FALSE(watch_next(watch, 0, &event));
	close(watch);
}

TEST_HARNESS_MAIN
