// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls that meet the reset of a GPU in the moment before its queues are dead: it has the hardware,
 * so nothing is asked of it and nothing changes. Needs root, two CPUs, debugfs, and kfd_probes.ko.
 */
#include <errno.h>
#include <sys/wait.h>

#include "gpu_debugfs.h"
#include "gpu_fault.h"
#include "held_reset.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "preempt.h"
#include "probes.h"
#include "sched_mode.h"
#include "wait.h"

#define LONG_MS 30000u
FIXTURE(in_reset)
{
	struct kfd_device dev;
	struct aql_queue queue[2];	/* one that is held, another */
	struct job job[2];
	int fd;
};

FIXTURE_SETUP(in_reset)
{
	unsigned int i;

	ASSERT_EQ(0, probes_load());
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue[i], &self->job[i], 2,
					       LONG_MS));
}

FIXTURE_TEARDOWN(in_reset)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
	kfd_device_close(&self->dev);
	probes_unload();
}

static void expect_state(struct __test_metadata *_metadata, FIXTURE_DATA(in_reset) *self,
			 unsigned int queue, uint32_t state, uint32_t holds)
{
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_EQ(0, preempt_status(self->fd, 0, self->queue[queue].id, &status));
	EXPECT_EQ(state, status.state);
	EXPECT_EQ(holds, status.holds & ~KFD_PREEMPT_HOLD_DEAD);
	EXPECT_EQ(state == KFD_PREEMPT_STATE_DEAD, !!(status.holds & KFD_PREEMPT_HOLD_DEAD));
}

/* The first queue is held, and the GPU about to be reset. */
static void begin_reset(struct __test_metadata *_metadata, FIXTURE_DATA(in_reset) *self,
			struct held_reset *reset)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[0].id));
	ASSERT_EQ(0, held_reset_begin(reset, "hold_reset"));
}

/* An operator that is ready to hold both queues of its parent or none, and to say what came of it. */
struct operator {
	pid_t pid;
	int orders, answers;	/* pipes, of a byte each */
};

static void operator_run(const FIXTURE_DATA(in_reset) *self, pid_t parent, int orders, int answers)
{
	struct kfd_preempt_switch_entry entry[2] = {};
	unsigned int i;
	char refused;
	int fd;

	for (i = 0; i < 2; i++) {
		entry[i].queue_id = self->queue[i].id;
		entry[i].op = KFD_PREEMPT_OP_PREEMPT;
		entry[i].preempt_type = KFD_PREEMPT_TYPE_SAVE;
	}
	fd = kfd_open();
	if (fd < 0 || write(answers, "r", 1) != 1 || read(orders, &refused, 1) != 1)
		_exit(1);
	refused = !preempt_switch(fd, parent, KFD_PREEMPT_SWITCH_ALL_OR_NOTHING, entry, 2) &&
		  entry[0].result == -EBUSY && entry[1].result == -EBUSY;
	if (!refused)
		printf("# results %d and %d\n", entry[0].result, entry[1].result);
	fflush(stdout);
	/*
	 * The exit closes a copy of the parent's render node. amdgpu then waits for the memory of
	 * the parent, which KFD evicts for that, and in a reset every eviction fails.
	 */
	_exit(write(answers, &refused, 1) != 1 || read(orders, &refused, 1) != 0);
}

/* Opens /dev/kfd, which may wait for work of both CPUs, before the reset has taken one. */
static bool operator_start(const FIXTURE_DATA(in_reset) *self, struct operator *operator)
{
	int orders[2], answers[2];
	pid_t parent = getpid();
	char ready;

	if (pipe(orders) || pipe(answers))
		return false;
	operator->pid = fork();
	if (!operator->pid) {
		close(orders[1]);
		operator_run(self, parent, orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	operator->orders = orders[1];
	operator->answers = answers[0];
	return operator->pid > 0 && read(operator->answers, &ready, 1) == 1;
}

/* True when it is refused both queues. */
static bool operator_holds_none(const struct operator *operator)
{
	char refused;

	return write(operator->orders, "h", 1) == 1 &&
	       read(operator->answers, &refused, 1) == 1 && refused;
}

/* After the reset. */
static bool operator_end(const struct operator *operator)
{
	int status;

	close(operator->orders);
	return waitpid(operator->pid, &status, 0) == operator->pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

/* One queue is held already, so that only the other one needs the hardware. */
TEST_F_TIMEOUT(in_reset, all_or_nothing_holds_nothing, 120)
{
	struct kfd_ioctl_preempt_status_args status;
	struct operator operator;
	struct held_reset reset;
	unsigned int i;

	ASSERT_TRUE(operator_start(self, &operator));
	begin_reset(_metadata, self, &reset);
	EXPECT_TRUE(operator_holds_none(&operator));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, preempt_status(self->fd, 0, self->queue[i].id, &status));
		EXPECT_EQ(0, status.holds & KFD_PREEMPT_HOLD_OPERATOR);
	}
	EXPECT_TRUE(held_reset_waits(&reset));
	ASSERT_EQ(0, held_reset_end(&reset));
	EXPECT_TRUE(operator_end(&operator));
}

TEST_F_TIMEOUT(in_reset, fast_sends_no_packet, 120)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = self->queue[1].id,
		.op = KFD_PREEMPT_OP_PREEMPT,
		.preempt_type = KFD_PREEMPT_TYPE_SAVE,
	};
	bool has_fast = driver_facts(self->fd).caps & KFD_PREEMPT_CAP_FAST;
	struct held_reset reset;
	int64_t before;

	begin_reset(_metadata, self, &reset);
	before = gpu_counter("hiq_packets/WRITE_DATA");
	EXPECT_LE(0, before);
	EXPECT_EQ(has_fast ? 0 : -EINVAL,
		  preempt_switch(self->fd, 0, KFD_PREEMPT_SWITCH_FAST, &entry, 1));
	EXPECT_EQ(has_fast ? -EBUSY : 0, entry.result);
	EXPECT_EQ(before, gpu_counter("hiq_packets/WRITE_DATA"));
	ASSERT_EQ(0, held_reset_end(&reset));
}

TEST_F_TIMEOUT(in_reset, calls_before_the_queues_are_dead_change_nothing, 120)
{
	const uint32_t held = self->queue[0].id, other = self->queue[1].id;
	struct held_reset reset;

	begin_reset(_metadata, self, &reset);

	EXPECT_EQ(-EBUSY, preempt_queue(self->fd, other));
	EXPECT_EQ(-EBUSY, resume_queue(self->fd, held));
	/* A call that needs no hardware returns its usual result. */
	EXPECT_EQ(-EALREADY, preempt_queue(self->fd, held));
	expect_state(_metadata, self, 0, KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF);
	expect_state(_metadata, self, 1, KFD_PREEMPT_STATE_RUNNING, 0);
	EXPECT_TRUE(held_reset_waits(&reset)) {
		TH_LOG("the reset did not wait for the calls: does the guest have two CPUs?");
	}

	ASSERT_EQ(0, held_reset_end(&reset));
	expect_state(_metadata, self, 0, KFD_PREEMPT_STATE_DEAD, KFD_PREEMPT_HOLD_SELF);
	expect_state(_metadata, self, 1, KFD_PREEMPT_STATE_DEAD, 0);
	EXPECT_EQ(-EIO, preempt_queue(self->fd, other));
	EXPECT_EQ(-EIO, resume_queue(self->fd, held));
}

/* A stop that waits, and the thread that waits for it. */
struct drain {
	int fd;
	uint32_t id;
	pid_t tid;
	int ret;
};

static void *drain_queue(void *arg)
{
	struct drain *drain = arg;

	__atomic_store_n(&drain->tid, gettid(), __ATOMIC_RELEASE);
	drain->ret = preempt_queue_type(drain->fd, drain->id, KFD_PREEMPT_TYPE_DRAIN,
					KFD_PREEMPT_MAX_TIMEOUT_MS);
	return NULL;
}

static bool waits_for_the_kernel(const void *drain)
{
	pid_t tid = __atomic_load_n(&((const struct drain *)drain)->tid, __ATOMIC_ACQUIRE);

	return tid && process_state(tid) == 'D';
}

/* The kernel never ends, so without the reset the call would wait until its timeout. */
TEST_F_TIMEOUT(in_reset, reset_does_not_wait_for_a_drain, 120)
{
	struct drain drain = { .fd = self->fd, .id = self->queue[1].id };
	pthread_t thread;

	if (!driver_can(self->fd, KFD_PREEMPT_TYPE_DRAIN)) {
		EXPECT_EQ(-EOPNOTSUPP, preempt_queue_type(self->fd, self->queue[1].id,
							  KFD_PREEMPT_TYPE_DRAIN, 0));
		return;
	}
	ASSERT_EQ(0, pthread_create(&thread, NULL, drain_queue, &drain));
	EXPECT_TRUE(wait_until(waits_for_the_kernel, &drain, LONG_MS));
	EXPECT_EQ(0, gpu_debugfs_read("amdgpu_gpu_recover"));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-EIO, drain.ret);
	expect_state(_metadata, self, 1, KFD_PREEMPT_STATE_DEAD, KFD_PREEMPT_HOLD_SELF);
}

TEST_F_TIMEOUT(in_reset, fresh_queue_after_the_reset_stops_and_resumes, 120)
{
	unsigned int i;

	ASSERT_EQ(0, preempt_queue(self->fd, self->queue[0].id));
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	ASSERT_EQ(0, resume_queue(self->fd, self->queue[0].id));
	for (i = 0; i < 2; i++)
		EXPECT_TRUE(job_ends_right(&self->job[i], LONG_MS));
}

TEST_HARNESS_MAIN
