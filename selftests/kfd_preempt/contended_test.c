// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls on processes that keep their own mutex in KFD locked: a timeout or a signal ends the wait of the
 * call, and neither its other targets nor other calls wait with it. A process whose threads take turns at
 * the mutex cannot keep it from operators. Needs root.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>

#include "kselftest_harness.h"
#include "target.h"

/* Calls take milliseconds, or their timeout if they wait for the blocked process. */
#define SOON_MS 5000u
#define LONG_MS 30000u

#define ENTRIES 2u

/* Shared with the process that makes the call. */
struct call_shared {
	uint32_t calling;
	uint32_t returned;
	int32_t result;		/* of the call */
	uint32_t timeout_ms;
	struct kfd_preempt_switch_entry entry[ENTRIES];
};

struct call {
	pid_t pid;
	struct call_shared *shared;
};

enum { A, B, C, D, BLOCKED, TARGETS };

FIXTURE(contended)
{
	struct target target[TARGETS];
	struct call call[2];
};

FIXTURE_SETUP(contended)
{
	unsigned int i;

	for (i = 0; i < TARGETS; i++)
		ASSERT_EQ(0, target_start(&self->target[i]));
	ASSERT_EQ(0, target_order(&self->target[BLOCKED], TARGET_LOCK));
}

/* The end of the blocked target wakes every call that waits for it. */
FIXTURE_TEARDOWN(contended)
{
	unsigned int i;

	target_kill(&self->target[BLOCKED]);
	for (i = 0; i < 2; i++) {
		if (self->call[i].pid <= 0)
			continue;
		kill(self->call[i].pid, SIGKILL);
		waitpid(self->call[i].pid, NULL, 0);
	}
	for (i = 0; i < TARGETS; i++)
		target_kill(&self->target[i]);
}

static void ignore(int signal)
{
	(void)signal;
}

static int32_t switch_both(struct call_shared *shared, int fd)
{
	struct kfd_ioctl_preempt_switch_args args = {
		.timeout_ms = shared->timeout_ms,
		.entries_ptr = (uintptr_t)shared->entry,
		.num_entries = ENTRIES,
	};

	return ioctl(fd, AMDKFD_IOC_PREEMPT_SWITCH, &args) ? -errno : 0;
}

/* STATUS of the first entry. */
static int32_t read_first(struct call_shared *shared, int fd)
{
	struct kfd_ioctl_preempt_status_args args = {
		.flags = KFD_PREEMPT_SWITCH_TARGET_PID,
		.target_pid = shared->entry[0].target_pid,
		.queue_id = shared->entry[0].queue_id,
	};

	return ioctl(fd, AMDKFD_IOC_PREEMPT_STATUS, &args) ? -errno : 0;
}

static void make_call(struct call_shared *shared, int32_t (*func)(struct call_shared *, int))
{
	struct sigaction action = { .sa_handler = ignore };	/* no SA_RESTART */
	int fd = kfd_open();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0 || sigaction(SIGUSR1, &action, NULL))
		_exit(1);
	shared_set(&shared->calling, 1);
	shared->result = func(shared, fd);
	shared_set(&shared->returned, 1);
	for (;;)
		pause();
}

static bool is_calling(const void *shared)
{
	return shared_get(&((const struct call_shared *)shared)->calling);
}

static bool has_returned(const void *shared)
{
	return shared_get(&((const struct call_shared *)shared)->returned);
}

/* A process makes a call on two targets. 0 or a negative errno. */
static int call_start_as(struct call *call, const struct target *first, const struct target *second,
			 uint32_t timeout_ms, int32_t (*func)(struct call_shared *, int))
{
	const struct target *targets[ENTRIES] = { first, second };
	unsigned int i;

	call->shared = mmap(NULL, sizeof(*call->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (call->shared == MAP_FAILED)
		return -errno;
	call->shared->timeout_ms = timeout_ms;
	for (i = 0; i < ENTRIES; i++)
		call->shared->entry[i] = (struct kfd_preempt_switch_entry){
			.queue_id = targets[i]->queue_id,
			.target_pid = targets[i]->pid,
			.op = KFD_PREEMPT_OP_PREEMPT,
			.preempt_type = KFD_PREEMPT_TYPE_SAVE,
		};
	call->pid = fork();
	if (call->pid < 0)
		return -errno;
	if (!call->pid)
		make_call(call->shared, func);
	return wait_until(is_calling, call->shared, LONG_MS) ? 0 : -ETIME;
}

/* It stops their queues in one SWITCH, which waits longer than the test. */
static int call_start(struct call *call, const struct target *first, const struct target *second)
{
	return call_start_as(call, first, second, KFD_PREEMPT_MAX_TIMEOUT_MS, switch_both);
}

static bool is_asleep(const void *pid)
{
	char state = process_state(*(const pid_t *)pid);

	return state == 'D' || state == 'S';
}

/* True once the call is blocked in the kernel. */
static bool call_waits(const struct call *call)
{
	return wait_until(is_asleep, &call->pid, LONG_MS) && !has_returned(call->shared);
}

static bool is_dead(const void *arg)
{
	const struct call *call = arg;
	siginfo_t info = {};

	return !waitid(P_PID, (id_t)call->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid;
}

static bool unblock(FIXTURE_DATA(contended) *self)
{
	return !target_order(&self->target[BLOCKED], TARGET_UNLOCK);
}

#define EXPECT_BOTH_STOPPED(call) \
	do { \
		EXPECT_EQ(0, (call)->shared->result); \
		for (unsigned int n = 0; n < ENTRIES; n++) { \
			EXPECT_EQ(0, (call)->shared->entry[n].result); \
			EXPECT_EQ(KFD_PREEMPT_STATE_HELD, (call)->shared->entry[n].state); \
		} \
	} while (0)

TEST_F_TIMEOUT(contended, signal_ends_a_call_that_waits_for_a_blocked_process, 180)
{
	struct call *call = &self->call[0];
	unsigned int ms;

	ASSERT_EQ(0, call_start(call, &self->target[A], &self->target[BLOCKED]));
	ASSERT_TRUE(call_waits(call));
	for (ms = 0; ms < SOON_MS && !has_returned(call->shared); ms += 20) {
		kill(call->pid, SIGUSR1);
		sleep_us(20000);
	}
	ASSERT_TRUE(has_returned(call->shared));
	EXPECT_EQ(-EINTR, call->shared->result);
	EXPECT_TRUE(target_moves(&self->target[A]));
	EXPECT_TRUE(target_moves(&self->target[BLOCKED]));
}

TEST_F_TIMEOUT(contended, caller_that_waits_for_a_blocked_process_can_be_killed, 180)
{
	struct call *call = &self->call[0];

	ASSERT_EQ(0, call_start(call, &self->target[A], &self->target[BLOCKED]));
	ASSERT_TRUE(call_waits(call));
	ASSERT_EQ(0, kill(call->pid, SIGKILL));
	EXPECT_TRUE(wait_until(is_dead, call, SOON_MS));
	EXPECT_TRUE(target_moves(&self->target[A]));
}

TEST_F_TIMEOUT(contended, other_targets_of_a_call_that_waits_use_their_queues, 180)
{
	struct target *other = &self->target[A];
	struct call *call = &self->call[0];

	ASSERT_EQ(0, call_start(call, other, &self->target[BLOCKED]));
	ASSERT_TRUE(call_waits(call));
	ASSERT_EQ(0, target_order_within(other, TARGET_PREEMPT, SOON_MS));
	EXPECT_EQ(0, target_order_within(other, TARGET_RESUME, SOON_MS));
	EXPECT_TRUE(target_moves(other));
}

/* A is blocked as well at first, and slowed down while the call waits for A. */
TEST_F_TIMEOUT(contended, targets_that_are_no_longer_blocked_use_their_queues, 180)
{
	struct target *other = &self->target[A];
	struct call *call = &self->call[0];
	unsigned int i;
	uint64_t start;

	ASSERT_EQ(0, target_order(other, TARGET_LOCK));
	ASSERT_EQ(0, call_start(call, other, &self->target[BLOCKED]));
	ASSERT_TRUE(call_waits(call));
	sleep_us(200000);
	start = now_ns();
	ASSERT_EQ(0, target_order(other, TARGET_UNLOCK));
	for (i = 0; i < 5; i++) {
		ASSERT_EQ(0, target_order(other, TARGET_PREEMPT));
		EXPECT_EQ(0, target_order(other, TARGET_RESUME));
	}
	EXPECT_GT(SOON_MS * 1000000ull, now_ns() - start);
}

TEST_F_TIMEOUT(contended, calls_on_other_processes_do_not_wait, 180)
{
	struct call *call = &self->call[1];

	ASSERT_EQ(0, call_start(&self->call[0], &self->target[A], &self->target[BLOCKED]));
	ASSERT_TRUE(call_waits(&self->call[0]));
	ASSERT_EQ(0, call_start(call, &self->target[C], &self->target[D]));
	ASSERT_TRUE(wait_until(has_returned, call->shared, SOON_MS));
	EXPECT_BOTH_STOPPED(call);
}

/* A is a target of both calls. */
TEST_F_TIMEOUT(contended, calls_that_share_a_target_with_one_that_waits_do_not_wait, 180)
{
	struct call *call = &self->call[1];

	ASSERT_EQ(0, call_start(&self->call[0], &self->target[A], &self->target[BLOCKED]));
	ASSERT_TRUE(call_waits(&self->call[0]));
	ASSERT_EQ(0, call_start(call, &self->target[A], &self->target[B]));
	ASSERT_TRUE(wait_until(has_returned, call->shared, SOON_MS));
	EXPECT_BOTH_STOPPED(call);
}

TEST_F_TIMEOUT(contended, call_that_waits_stops_both_once_the_process_is_unblocked, 180)
{
	struct call *call = &self->call[0];

	ASSERT_EQ(0, call_start(call, &self->target[BLOCKED], &self->target[A]));
	ASSERT_TRUE(call_waits(call));
	ASSERT_TRUE(unblock(self));
	ASSERT_TRUE(wait_until(has_returned, call->shared, LONG_MS));
	EXPECT_BOTH_STOPPED(call);
	EXPECT_TRUE(target_stands_still(&self->target[A], 50));
	EXPECT_TRUE(target_stands_still(&self->target[BLOCKED], 50));
}

static void only_the_first_is_stopped(struct __test_metadata *_metadata,
				      FIXTURE_DATA(contended) *self, uint32_t timeout_ms)
{
	const struct kfd_preempt_switch_entry *entry;
	struct call *call = &self->call[0];

	ASSERT_EQ(0, call_start_as(call, &self->target[A], &self->target[BLOCKED], timeout_ms,
				   switch_both));
	ASSERT_TRUE(wait_until(has_returned, call->shared, SOON_MS));
	entry = call->shared->entry;
	EXPECT_EQ(0, call->shared->result);
	EXPECT_EQ(0, entry[0].result);
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, entry[0].state);
	EXPECT_EQ(-EBUSY, entry[1].result);
	EXPECT_TRUE(target_stands_still(&self->target[A], 50));
	EXPECT_TRUE(target_moves(&self->target[BLOCKED]));
}

TEST_F_TIMEOUT(contended, process_that_is_blocked_beyond_the_timeout_is_EBUSY_alone, 180)
{
	only_the_first_is_stopped(_metadata, self, 100);
}

TEST_F_TIMEOUT(contended, call_without_a_timeout_waits_for_a_short_time, 180)
{
	only_the_first_is_stopped(_metadata, self, 0);
}

TEST_F_TIMEOUT(contended, status_of_a_blocked_process_is_EBUSY, 180)
{
	struct call *call = &self->call[0];

	ASSERT_EQ(0, call_start_as(call, &self->target[BLOCKED], &self->target[A], 0, read_first));
	ASSERT_TRUE(wait_until(has_returned, call->shared, SOON_MS));
	EXPECT_EQ(-EBUSY, call->shared->result);
}

/* A and B lock their mutexes so that at no time both are free. */
TEST_F_TIMEOUT(contended, call_on_two_processes_that_lock_in_turns_ends, 180)
{
	struct call *call = &self->call[0];
	unsigned int locked = A, turns = 0;
	uint64_t end;

	ASSERT_EQ(0, target_order(&self->target[A], TARGET_LOCK));
	ASSERT_EQ(0, call_start_as(call, &self->target[A], &self->target[B], 1000, switch_both));
	end = now_ns() + LONG_MS * 1000000ull;
	for (; !has_returned(call->shared) && now_ns() < end; turns++) {
		unsigned int next = locked == A ? B : A;

		ASSERT_EQ(0, target_order(&self->target[next], TARGET_LOCK));
		ASSERT_EQ(0, target_order(&self->target[locked], TARGET_UNLOCK));
		locked = next;
	}
	TH_LOG("%u turns", turns);
	ASSERT_TRUE(has_returned(call->shared));
	EXPECT_EQ(0, call->shared->result);
	EXPECT_EQ(0, target_order(&self->target[locked], TARGET_UNLOCK));
}

/*
 * Each thread of a busy process locks its mutex for a time. A call of an operator has longer than all of
 * them together.
 */
#define BUSY_THREADS 3u
#define BUSY_MS 100u
#define OPERATOR_MS 1000u
#define SWITCHES 10u

/* Times that the threads of the busy process got the mutex. */
static uint32_t *turns;

static void *lock_in_turns(void *dev)
{
	struct kfd_lock lock;
	int ret = kfd_lock_take(dev, &lock);

	for (; !ret; ret = kfd_lock_retake(&lock)) {
		__atomic_add_fetch(turns, 1, __ATOMIC_RELAXED);
		sleep_us(BUSY_MS * 1000);
	}
	fprintf(stderr, "a thread cannot lock its process: %d\n", ret);
	_exit(1);
}

static void start_threads(struct aql_queue *queue)
{
	pthread_t thread;
	unsigned int i;

	for (i = 0; i < BUSY_THREADS; i++)
		if (pthread_create(&thread, NULL, lock_in_turns, queue->dev))
			_exit(1);
}

static void run_busy(struct target_shared *shared)
{
	target_run_with(shared, start_threads);
}

FIXTURE(busy)
{
	struct target target;
	int fd;
};

static bool all_have_begun(const void *arg)
{
	(void)arg;
	return shared_get(turns) > BUSY_THREADS;
}

FIXTURE_SETUP(busy)
{
	turns = mmap(NULL, sizeof(*turns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, turns);
	self->fd = kfd_open();
	ASSERT_LE(0, self->fd);
	ASSERT_EQ(0, target_start_as(&self->target, run_busy));
	ASSERT_TRUE(wait_until(all_have_begun, NULL, LONG_MS));
}

FIXTURE_TEARDOWN(busy)
{
	target_kill(&self->target);
	close(self->fd);
}

static int switch_busy(const FIXTURE_DATA(busy) *self, uint16_t op)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = self->target.queue_id,
		.target_pid = self->target.pid,
		.op = op,
		.preempt_type = op == KFD_PREEMPT_OP_PREEMPT ? KFD_PREEMPT_TYPE_SAVE : 0,
	};
	struct kfd_ioctl_preempt_switch_args args = {
		.timeout_ms = OPERATOR_MS,
		.entries_ptr = (uintptr_t)&entry,
		.num_entries = 1,
	};

	return ioctl(self->fd, AMDKFD_IOC_PREEMPT_SWITCH, &args) ? -errno : entry.result;
}

TEST_F_TIMEOUT(busy, process_that_is_never_idle_is_stopped_and_started_each_time, 180)
{
	unsigned int i, stops = 0, starts = 0;
	uint32_t before = shared_get(turns);

	for (i = 0; i < SWITCHES; i++) {
		stops += !switch_busy(self, KFD_PREEMPT_OP_PREEMPT);
		starts += !switch_busy(self, KFD_PREEMPT_OP_RESUME);
	}
	TH_LOG("%u stops and %u starts in %u turns", stops, starts, shared_get(turns) - before);
	EXPECT_EQ(SWITCHES, stops);
	EXPECT_EQ(SWITCHES, starts);
	EXPECT_TRUE(target_moves(&self->target));
}

TEST_HARNESS_MAIN
