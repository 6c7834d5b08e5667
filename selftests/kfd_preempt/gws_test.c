// SPDX-License-Identifier: GPL-2.0-only
/*
 * Global wave sync (GWS): queues whose waves wait at a barrier of all workgroups are preempted. HWS
 * only; NO_HWS refuses GWS, which other_calls_test knows.
 */
#include <linux/kfd_ioctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "aql_queue.h"
#include "gpu_fault.h"
#include "gpu_program.h"
#include "kselftest_harness.h"
#include "preempt.h"
#include "random.h"
#include "wait.h"

#define LONG_MS 30000u
#define PER_XCC 6u		/* workgroups, of one wave each */
#define XCCS_MAX 8u
#define NUM_GWS 64u		/* KFD gives a process all of them, whatever it asks for */

/* In system memory; the first 32 bytes are the arguments of gws_init.s and gws_meet.s. */
struct meeting {
	uint64_t slots_address;
	uint64_t gate_address;
	uint32_t rounds;
	uint32_t counter;	/* of waves on an XCC, less one */
	uint32_t workgroups;
	uint32_t xccs;
	uint32_t gate;		/* rounds that may begin */
	struct aql_signal initialised, done;
	struct {
		uint32_t round;
		uint32_t errors;
		uint32_t rounds;	/* once it has ended */
		uint32_t pad[13];
	} slot[PER_XCC * XCCS_MAX];
};

struct gws_queue {
	struct kfd_device dev;
	struct aql_queue queue;
	struct gpu_program init, meet;
	struct kfd_buffer memory;
	struct meeting *meeting;
};

static int alloc_gws(int fd, uint32_t queue_id, uint32_t num_gws)
{
	struct kfd_ioctl_alloc_queue_gws_args args = {
		.queue_id = queue_id,
		.num_gws = num_gws,
	};

	return kfd_ioctl(fd, AMDKFD_IOC_ALLOC_QUEUE_GWS, &args);
}

static int gws_queue_open(struct gws_queue *q)
{
	int ret = kfd_device_open(&q->dev);

	if (!ret)
		ret = aql_queue_create(&q->dev, &q->queue);
	if (!ret)
		ret = gpu_program_load(&q->dev, &gpu_image_gws_init, &q->init);
	if (!ret)
		ret = gpu_program_load(&q->dev, &gpu_image_gws_meet, &q->meet);
	if (!ret)
		ret = kfd_buffer_alloc(&q->dev, KFD_IN_SYSTEM, sizeof(struct meeting), &q->memory);
	q->meeting = q->memory.addr;
	return ret;
}

static int gws_queue_close(struct gws_queue *q)
{
	int ret = aql_queue_destroy(&q->queue);

	kfd_buffer_free(&q->dev, &q->memory);
	gpu_program_free(&q->dev, &q->meet);
	gpu_program_free(&q->dev, &q->init);
	kfd_device_close(&q->dev);
	return ret;
}

static void dispatch(struct gws_queue *q, const struct gpu_program *program, uint32_t workgroups,
		     struct aql_signal *signal)
{
	struct aql_dispatch packet = {
		.kernel_object = program->kernel_object,
		.kernarg = q->meeting,
		.workgroup_size = 64,
		.num_workgroups = workgroups,
		.signal = signal,
	};

	signal->kind = 1;
	signal->value = 1;
	aql_queue_dispatch(&q->queue, &packet);
}

/* Initialises the barrier. Returns false if that kernel doesn't end in time. */
static bool meeting_init(struct gws_queue *q, uint32_t rounds, unsigned int timeout_ms)
{
	struct meeting *m = q->meeting;

	memset(m, 0, sizeof(*m));
	m->slots_address = (uintptr_t)m->slot;
	m->gate_address = (uintptr_t)&m->gate;
	m->rounds = rounds;
	m->counter = PER_XCC - 1;
	m->xccs = q->dev.num_xcc;
	m->workgroups = PER_XCC * m->xccs;
	dispatch(q, &q->init, m->xccs, &m->initialised);
	return aql_signal_wait(&m->initialised, timeout_ms);
}

static bool meeting_start(struct gws_queue *q, uint32_t rounds)
{
	if (!meeting_init(q, rounds, LONG_MS))
		return false;
	dispatch(q, &q->meet, q->meeting->workgroups, &q->meeting->done);
	return true;
}

static void open_gate(struct meeting *m, uint32_t rounds)
{
	__atomic_store_n(&m->gate, rounds, __ATOMIC_RELEASE);
}

/* Waves that wait for GWS, of all processes, and those that a reset took away meanwhile. */
static int64_t waves_waiting(void)
{
	return gpu_counter("sq.gws_waits") - gpu_counter("sq.gws_releases") -
	       gpu_counter("sq.gws_waits_saved");
}

static bool counter_reaches(const char *name, int64_t value)
{
	uint64_t end = now_ns() + LONG_MS * 1000000ull;

	while (gpu_counter(name) < value && now_ns() < end)
		sleep_us(1000);
	return gpu_counter(name) == value;
}

static bool waiting_reaches(int64_t value)
{
	uint64_t end = now_ns() + LONG_MS * 1000000ull;

	while (waves_waiting() < value && now_ns() < end)
		sleep_us(1000);
	return waves_waiting() == value;
}

/* All but the first workgroup of each XCC have come to the round after those of the gate. */
static bool others_wait(const void *meeting)
{
	const struct meeting *m = meeting;
	uint32_t i;

	for (i = 0; i < m->workgroups; i++)
		if (__atomic_load_n(&m->slot[i].round, __ATOMIC_ACQUIRE) !=
		    m->gate + (i >= m->xccs))
			return false;
	return true;
}

/* Returns true if the kernel ends after all rounds, and no wave left a barrier too early. */
static bool ends_right(const struct meeting *m)
{
	uint32_t i, wrong = 0;

	if (!aql_signal_wait(&m->done, LONG_MS)) {
		printf("# the waves do not meet\n");
		return false;
	}
	for (i = 0; i < m->workgroups; i++) {
		if (m->slot[i].errors || m->slot[i].rounds != m->rounds) {
			printf("# workgroup %u: errors 0x%x, %u rounds of %u\n", i,
			       m->slot[i].errors, m->slot[i].rounds, m->rounds);
			wrong++;
		}
	}
	return !wrong;
}

FIXTURE(gws)
{
	struct gws_queue q;
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(gws)
{
	ASSERT_EQ(0, gws_queue_open(&self->q));
	self->fd = self->q.dev.kfd_fd;
	self->id = self->q.queue.id;
}

FIXTURE_TEARDOWN(gws)
{
	EXPECT_EQ(0, gws_queue_close(&self->q));
}

/* KFD's answers. */
TEST_F(gws, one_queue_of_a_process_has_gws)
{
	struct aql_queue other;

	ASSERT_EQ(0, aql_queue_create(&self->q.dev, &other));
	EXPECT_EQ(-EINVAL, alloc_gws(self->fd, 12345, NUM_GWS));
	EXPECT_EQ(-EINVAL, alloc_gws(self->fd, self->id, 0));
	EXPECT_EQ(0, alloc_gws(self->fd, self->id, NUM_GWS));
	EXPECT_EQ(-EBUSY, alloc_gws(self->fd, self->id, NUM_GWS));
	EXPECT_EQ(-EBUSY, alloc_gws(self->fd, other.id, NUM_GWS));
	EXPECT_EQ(0, alloc_gws(self->fd, self->id, 0));
	EXPECT_EQ(0, alloc_gws(self->fd, other.id, NUM_GWS));
	EXPECT_EQ(0, aql_queue_destroy(&other));
	EXPECT_EQ(0, alloc_gws(self->fd, self->id, NUM_GWS));
}

/* A held queue can be given GWS, and have it taken. */
TEST_F(gws, held_queue_gets_gws)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, alloc_gws(self->fd, self->id, NUM_GWS));
	ASSERT_EQ(0, alloc_gws(self->fd, self->id, 0));
	ASSERT_EQ(0, alloc_gws(self->fd, self->id, NUM_GWS));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	ASSERT_TRUE(meeting_start(&self->q, 3));
	open_gate(self->q.meeting, 3);
	EXPECT_TRUE(ends_right(self->q.meeting));
}

TEST_F_TIMEOUT(gws, waves_that_wait_at_a_barrier_are_stopped_and_resumed, 300)
{
	const uint32_t rounds = 10;
	struct meeting *m = self->q.meeting;
	int64_t saved, waiting = waves_waiting();
	uint32_t r;

	ASSERT_EQ(0, alloc_gws(self->fd, self->id, NUM_GWS));
	ASSERT_TRUE(meeting_start(&self->q, rounds));
	for (r = 0; r < rounds; r++) {
		open_gate(m, r);
		ASSERT_TRUE(wait_until(others_wait, m, LONG_MS));
		ASSERT_TRUE(waiting_reaches(waiting + (PER_XCC - 1) * m->xccs));
		saved = gpu_counter("sq.gws_waits_saved");
		ASSERT_EQ(0, preempt_queue(self->fd, self->id));
		EXPECT_EQ((PER_XCC - 1) * m->xccs, gpu_counter("sq.gws_waits_saved") - saved);
		open_gate(m, r + 1);
		sleep_us(5000);
		EXPECT_EQ(r, m->slot[0].round);
		ASSERT_EQ(0, resume_queue(self->fd, self->id));
	}
	EXPECT_TRUE(ends_right(m));
}

TEST_F_TIMEOUT(gws, random_preempts_leave_every_barrier_right, 600)
{
	const uint32_t stops = (uint32_t)number_from_environment("KFD_PREEMPT_ROUNDS", 100);
	const uint64_t seed = number_from_environment("KFD_PREEMPT_SEED", now_ns() & 0xffffffff);
	struct meeting *m = self->q.meeting;
	struct random random;
	uint32_t i;

	printf("# KFD_PREEMPT_SEED=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	random_init(&random, seed, 0);
	ASSERT_EQ(0, alloc_gws(self->fd, self->id, NUM_GWS));
	ASSERT_TRUE(meeting_start(&self->q, stops * 20));
	for (i = 1; i <= stops; i++) {
		open_gate(m, i * 20);
		sleep_us(random_below(&random, 3000));
		ASSERT_EQ(0, preempt_queue(self->fd, self->id));
		ASSERT_EQ(0, resume_queue(self->fd, self->id));
	}
	EXPECT_TRUE(ends_right(m));
}

/* The counter that gws_init.s has set belongs to the queue, also while nothing of it runs. */
TEST_F(gws, idle_queue_keeps_its_barrier)
{
	struct meeting *m = self->q.meeting;

	ASSERT_EQ(0, alloc_gws(self->fd, self->id, NUM_GWS));
	ASSERT_TRUE(meeting_init(&self->q, 5, LONG_MS));
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	dispatch(&self->q, &self->q.meet, m->workgroups, &m->done);
	open_gate(m, 5);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(ends_right(m));
}

/* A second process with GWS, whose waves wait until it is told. Returns 0 if they met right. */
static int other_process(int ready, int go)
{
	struct gws_queue q = {};
	bool right;
	char byte;

	if (gws_queue_open(&q) || alloc_gws(q.dev.kfd_fd, q.queue.id, NUM_GWS))
		return 1;
	if (!meeting_start(&q, 100) || !wait_until(others_wait, q.meeting, LONG_MS))
		return 2;
	if (write(ready, "", 1) != 1 || read(go, &byte, 1) != 1)
		return 3;
	open_gate(q.meeting, 100);
	right = ends_right(q.meeting);
	return gws_queue_close(&q) || !right ? 4 : 0;
}

FIXTURE(pair)
{
	struct gws_queue q;
	pid_t other;
	int ready[2], go[2];
};

/* The fork comes first: a child that inherits a render node disturbs its parent's queues. */
FIXTURE_SETUP(pair)
{
	ASSERT_EQ(0, pipe(self->ready));
	ASSERT_EQ(0, pipe(self->go));
	fflush(stdout);
	self->other = fork();
	ASSERT_LE(0, self->other);
	if (!self->other) {
		close(self->go[1]);
		_exit(other_process(self->ready[1], self->go[0]));
	}
	ASSERT_EQ(0, gws_queue_open(&self->q));
}

FIXTURE_TEARDOWN(pair)
{
	int status;

	close(self->go[1]);
	ASSERT_EQ(self->other, waitpid(self->other, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(0, gws_queue_close(&self->q));
}

/*
 * Both want all resources, so the firmware takes turns: each finds its barrier as it was. A held
 * queue needs none of them.
 */
TEST_F_TIMEOUT(pair, processes_with_gws_take_turns, 300)
{
	struct meeting *m = self->q.meeting;
	int fd = self->q.dev.kfd_fd;
	uint32_t id = self->q.queue.id;
	int64_t slices = gpu_counter("time_slices");
	char byte;
	int i;

	ASSERT_EQ(1, read(self->ready[0], &byte, 1));
	ASSERT_EQ(0, alloc_gws(fd, id, NUM_GWS));
	ASSERT_TRUE(meeting_start(&self->q, 2000));
	for (i = 1; i <= 20; i++) {
		open_gate(m, (uint32_t)i * 100);
		sleep_us(10000);
		ASSERT_EQ(0, preempt_queue(fd, id));
		sleep_us(5000);
		ASSERT_EQ(0, resume_queue(fd, id));
	}
	EXPECT_TRUE(ends_right(m));
	ASSERT_EQ(1, write(self->go[1], "", 1));
	EXPECT_LT(slices, gpu_counter("time_slices"));
}

/* A memory violation. */
TEST_F_TIMEOUT(gws, queue_of_a_process_without_gws_faults, 120)
{
	int64_t failed = gpu_counter("failed_waves");
	int64_t violations = gpu_counter("sq.gws_violations");

	EXPECT_FALSE(meeting_init(&self->q, 1, 10));
	EXPECT_TRUE(counter_reaches("failed_waves", failed + self->q.meeting->xccs));
	EXPECT_EQ(self->q.meeting->xccs, gpu_counter("sq.gws_violations") - violations);
	EXPECT_EQ(1, self->q.meeting->initialised.value);
}

TEST_F(gws, queue_is_destroyed_while_its_waves_wait)
{
	struct aql_queue other;

	ASSERT_EQ(0, alloc_gws(self->fd, self->id, NUM_GWS));
	ASSERT_TRUE(meeting_start(&self->q, 2));
	ASSERT_TRUE(wait_until(others_wait, self->q.meeting, LONG_MS));
	ASSERT_EQ(0, aql_queue_create(&self->q.dev, &other));
	ASSERT_EQ(0, aql_queue_destroy(&self->q.queue));
	self->q.queue = other;
	ASSERT_EQ(0, alloc_gws(self->fd, other.id, NUM_GWS));
	ASSERT_TRUE(meeting_start(&self->q, 2));
	open_gate(self->q.meeting, 2);
	EXPECT_TRUE(ends_right(self->q.meeting));
}

TEST_HARNESS_MAIN
