// SPDX-License-Identifier: GPL-2.0-only
/*
 * The debugger's suspend and our holds: each has a bit of its own, and neither starts what the
 * other one stopped. Watchpoints of a queue that is stopped. The process debugs itself, which KFD
 * allows. HWS only.
 */
#include <fcntl.h>
#include <linux/kfd_ioctl.h>
#include <pthread.h>
#include <string.h>

#include "jobs.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "wait.h"

#define LONG_MS 30000u

FIXTURE(debugged)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	int fd;
	int events;
	uint32_t id;
};

static int debug_trap(int fd, struct kfd_ioctl_dbg_trap_args *args)
{
	args->pid = (uint32_t)getpid();
	return kfd_ioctl(fd, AMDKFD_IOC_DBG_TRAP, args);
}

static int debug_enable(int fd, int events)
{
	struct kfd_runtime_info info;
	struct kfd_ioctl_dbg_trap_args args = {
		.op = KFD_IOC_DBG_TRAP_ENABLE,
		.enable = {
			.rinfo_ptr = (uintptr_t)&info,
			.rinfo_size = sizeof(info),
			.dbg_fd = (uint32_t)events,
		},
	};

	return debug_trap(fd, &args);
}

static int debug_disable(int fd)
{
	struct kfd_ioctl_dbg_trap_args args = { .op = KFD_IOC_DBG_TRAP_DISABLE };

	return debug_trap(fd, &args);
}

/* A queue can be suspended once its creation was told to the debugger. */
static int debug_acknowledge(int fd)
{
	struct kfd_queue_snapshot_entry entry[4];
	struct kfd_ioctl_dbg_trap_args args = {
		.op = KFD_IOC_DBG_TRAP_GET_QUEUE_SNAPSHOT,
		.queue_snapshot = {
			.exception_mask = KFD_EC_MASK(EC_QUEUE_NEW),
			.snapshot_buf_ptr = (uintptr_t)entry,
			.num_queues = 4,
			.entry_size = sizeof(entry[0]),
		},
	};

	return debug_trap(fd, &args);
}

/* How many queues it suspended, here 1, or a negative errno. */
static int debug_suspend(int fd, uint32_t queue_id)
{
	struct kfd_ioctl_dbg_trap_args args = {
		.op = KFD_IOC_DBG_TRAP_SUSPEND_QUEUES,
		.suspend_queues = {
			.queue_array_ptr = (uintptr_t)&queue_id,
			.num_queues = 1,
		},
	};

	return debug_trap(fd, &args);
}

static int debug_resume(int fd, uint32_t queue_id)
{
	struct kfd_ioctl_dbg_trap_args args = {
		.op = KFD_IOC_DBG_TRAP_RESUME_QUEUES,
		.resume_queues = {
			.queue_array_ptr = (uintptr_t)&queue_id,
			.num_queues = 1,
		},
	};

	return debug_trap(fd, &args);
}

static int debug_watch(const struct kfd_device *dev, const void *address, uint32_t mode,
		       uint32_t *id)
{
	struct kfd_ioctl_dbg_trap_args args = {
		.op = KFD_IOC_DBG_TRAP_SET_NODE_ADDRESS_WATCH,
		.set_node_address_watch = {
			.address = (uintptr_t)address,
			.mode = mode,
			.mask = ~0u,	/* of the line of 128 bytes */
			.gpu_id = dev->gpu_id,
		},
	};
	int ret = debug_trap(dev->kfd_fd, &args);

	*id = args.set_node_address_watch.id;
	return ret;
}

static int debug_unwatch(const struct kfd_device *dev, uint32_t id)
{
	struct kfd_ioctl_dbg_trap_args args = {
		.op = KFD_IOC_DBG_TRAP_CLEAR_NODE_ADDRESS_WATCH,
		.clear_node_address_watch = { .gpu_id = dev->gpu_id, .id = id },
	};

	return debug_trap(dev->kfd_fd, &args);
}

/* New waves enter the trap handler when they hit a watchpoint. */
static int debug_trap_on_watch(int fd)
{
	struct kfd_ioctl_dbg_trap_args args = {
		.op = KFD_IOC_DBG_TRAP_SET_WAVE_LAUNCH_OVERRIDE,
		.launch_override = {
			.override_mode = KFD_DBG_TRAP_OVERRIDE_OR,
			.enable_mask = KFD_DBG_TRAP_MASK_DBG_ADDRESS_WATCH,
			.support_request_mask = KFD_DBG_TRAP_MASK_DBG_ADDRESS_WATCH,
		},
	};

	return debug_trap(fd, &args);
}

FIXTURE_SETUP(debugged)
{
	struct kfd_ioctl_runtime_enable_args runtime = {
		.mode_mask = KFD_RUNTIME_ENABLE_MODE_ENABLE_MASK,
	};

	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_FALSE(driver_has_no_hws(self->fd));
	ASSERT_EQ(0, kfd_ioctl(self->fd, AMDKFD_IOC_RUNTIME_ENABLE, &runtime));
	self->events = open("/dev/null", O_WRONLY | O_CLOEXEC);
	ASSERT_LE(0, self->events);
	ASSERT_EQ(0, debug_enable(self->fd, self->events));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue));
	self->id = self->queue.id;
	ASSERT_EQ(0, debug_acknowledge(self->fd));
	ASSERT_EQ(0, checksum_job_start(&self->job, &self->queue, 2, 2));
	ASSERT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
}

/* After each test the GPU kernel must still run, and end with the right result. */
FIXTURE_TEARDOWN(debugged)
{
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	close(self->events);
	kfd_device_close(&self->dev);
}

#define EXPECT_STOPPED(want_state, want_holds, want_suspended) \
	do { \
		struct kfd_ioctl_preempt_status_args now; \
		ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &now)); \
		EXPECT_EQ(want_state, now.state); \
		EXPECT_EQ(want_holds, now.holds); \
		EXPECT_EQ(want_suspended, !!(now.status & KFD_PREEMPT_STATUS_DBG_SUSPENDED)); \
		EXPECT_TRUE(job_stands_still(&self->job, 50)); \
	} while (0)

TEST_F(debugged, held_queue_stays_held_when_the_debugger_resumes_it)
{
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(1, debug_suspend(self->fd, self->id));
	EXPECT_STOPPED(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF, 1);
	ASSERT_EQ(1, debug_resume(self->fd, self->id));
	EXPECT_STOPPED(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF, 0);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	ASSERT_EQ(0, debug_disable(self->fd));
}

TEST_F(debugged, suspended_queue_stays_suspended_when_its_hold_is_dropped)
{
	ASSERT_EQ(1, debug_suspend(self->fd, self->id));
	EXPECT_STOPPED(KFD_PREEMPT_STATE_INACTIVE, 0, 1);
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_STOPPED(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF, 1);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_STOPPED(KFD_PREEMPT_STATE_INACTIVE, 0, 1);
	ASSERT_EQ(1, debug_resume(self->fd, self->id));
	ASSERT_EQ(0, debug_disable(self->fd));
}

/* The end of the debugger resumes all of its queues. */
TEST_F(debugged, held_queue_stays_held_when_the_debugger_goes)
{
	ASSERT_EQ(1, debug_suspend(self->fd, self->id));
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, debug_disable(self->fd));
	EXPECT_STOPPED(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF, 0);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
}

/* PREEMPT doesn't require that the debugger knows the queue. */
TEST_F(debugged, queue_the_debugger_does_not_know_can_be_stopped)
{
	struct aql_queue other;

	ASSERT_EQ(0, aql_queue_create(&self->dev, &other));
	EXPECT_EQ(0, preempt_queue(self->fd, other.id));
	EXPECT_EQ(0, resume_queue(self->fd, other.id));
	EXPECT_EQ(0, aql_queue_destroy(&other));
	ASSERT_EQ(0, debug_disable(self->fd));
}

static void *destroy(void *arg)
{
	return (void *)(intptr_t)aql_queue_destroy(arg);
}

/* KFD waits with the end of a suspended queue for the debugger, and unlocks the process. */
TEST_F(debugged, queue_whose_end_waits_can_be_started_and_not_stopped)
{
	struct aql_queue other;
	unsigned int ms;
	pthread_t thread;
	void *destroyed;
	int ret = 0;

	ASSERT_EQ(0, aql_queue_create(&self->dev, &other));
	ASSERT_EQ(0, debug_acknowledge(self->fd));
	ASSERT_EQ(0, preempt_queue(self->fd, other.id));
	ASSERT_EQ(1, debug_suspend(self->fd, other.id));
	ASSERT_EQ(0, pthread_create(&thread, NULL, destroy, &other));
	sleep_us(100000);
	EXPECT_EQ(0, resume_queue(self->fd, other.id));
	/* Until the thread is there it can be stopped again. */
	for (ms = 0; ms < LONG_MS && !ret; ms += 10) {
		ret = preempt_queue(self->fd, other.id);
		if (!ret)
			EXPECT_EQ(0, resume_queue(self->fd, other.id));
		sleep_us(10000);
	}
	EXPECT_EQ(-EBUSY, ret);
	ASSERT_EQ(1, debug_resume(self->fd, other.id));
	ASSERT_EQ(0, pthread_join(thread, &destroyed));
	EXPECT_EQ(NULL, destroyed);
	ASSERT_EQ(0, debug_disable(self->fd));
}

/* In VRAM, which scalar atomics reach: count_traps.s writes it. */
struct trap_log {
	uint32_t trapsts;
	uint32_t pad;
	uint64_t pc;
	uint32_t count;
};

/*
 * A queue with a job of four waves that store a count of their own in each iteration, the counts of
 * two of them in one line of 128 bytes, and a trap handler that counts. The queue is held.
 */
struct watched_job {
	struct gpu_program handler;
	struct kfd_buffer memory;
	struct aql_queue queue;
	struct job job;
	uint32_t first;		/* of the two */
};

static int watched_job_create(struct kfd_device *dev, struct watched_job *w)
{
	struct kfd_ioctl_set_trap_handler_args handler = { .gpu_id = dev->gpu_id };
	int ret = gpu_program_load(dev, &gpu_image_count_traps, &w->handler);

	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_VRAM, sizeof(struct trap_log), &w->memory);
	handler.tba_addr = (uintptr_t)w->handler.code.addr;
	handler.tma_addr = (uintptr_t)w->memory.addr;
	if (!ret)
		ret = kfd_ioctl(dev->kfd_fd, AMDKFD_IOC_SET_TRAP_HANDLER, &handler);
	if (!ret)
		ret = debug_trap_on_watch(dev->kfd_fd);
	if (!ret)
		ret = aql_queue_create(dev, &w->queue);
	if (!ret)
		ret = preempt_queue(dev->kfd_fd, w->queue.id);
	if (!ret)
		ret = count_job_start(&w->job, &w->queue, 4);
	if (!ret)
		w->first = (uintptr_t)job_progress_address(&w->job, 0) % 128 ? 1 : 0;
	return ret;
}

static void watched_job_free(struct kfd_device *dev, struct watched_job *w)
{
	aql_queue_destroy(&w->queue);
	job_free(&w->job);
	kfd_buffer_free(dev, &w->memory);
	gpu_program_free(dev, &w->handler);
}

static uint32_t watched_stores(const struct watched_job *w)
{
	return job_progress(&w->job, w->first) + job_progress(&w->job, w->first + 1);
}

static uint32_t traps(const struct watched_job *w)
{
	const struct trap_log *log = w->memory.addr;

	return __atomic_load_n(&log->count, __ATOMIC_ACQUIRE);
}

/* Each store traps once, however often the queue was stopped between the store and the trap. */
TEST_F_TIMEOUT(debugged, watchpoint_hits_each_store_of_a_queue_that_is_stopped, 300)
{
	struct watched_job w = {};
	const struct trap_log *log;
	uint32_t id, i, stores, hits;

	ASSERT_EQ(0, watched_job_create(&self->dev, &w));
	ASSERT_EQ(0, debug_watch(&self->dev, job_progress_address(&w.job, w.first),
				 KFD_DBG_TRAP_ADDRESS_WATCH_MODE_NONREAD, &id));
	ASSERT_EQ(0, resume_queue(self->fd, w.queue.id));
	for (i = 0; i < 50; i++) {
		ASSERT_TRUE(job_wait_progress(&w.job, 1 + i % 3, LONG_MS));
		ASSERT_EQ(0, preempt_queue(self->fd, w.queue.id));
		stores = watched_stores(&w);
		hits = traps(&w);
		/* Each of both waves has one to tell, at most. */
		ASSERT_LE(hits, stores);
		ASSERT_LE(stores, hits + 2);
		ASSERT_LT(0, hits);
		ASSERT_EQ(0, resume_queue(self->fd, w.queue.id));
	}
	job_stop(&w.job);
	ASSERT_TRUE(job_wait(&w.job, LONG_MS));
	EXPECT_EQ(0, job_errors(&w.job));
	EXPECT_EQ(watched_stores(&w), traps(&w));
	log = w.memory.addr;
	EXPECT_EQ(id ? 0x1000u << (id - 1) : 0x80u, log->trapsts & 0x7080);
	watched_job_free(&self->dev, &w);
	ASSERT_EQ(0, debug_disable(self->fd));
}

TEST_F(debugged, watchpoint_ends_when_it_is_cleared)
{
	struct watched_job w = {};
	uint32_t ids[4], id, before, i;

	ASSERT_EQ(0, watched_job_create(&self->dev, &w));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, debug_watch(&self->dev, job_progress_address(&w.job, w.first),
					 KFD_DBG_TRAP_ADDRESS_WATCH_MODE_READ, &ids[i]));
	EXPECT_EQ(-ENOMEM, debug_watch(&self->dev, &w, 0, &id));
	ASSERT_EQ(0, resume_queue(self->fd, w.queue.id));
	ASSERT_TRUE(job_wait_progress(&w.job, 3, LONG_MS));
	EXPECT_LT(0, traps(&w));
	for (i = 0; i < 4; i++)
		ASSERT_EQ(0, debug_unwatch(&self->dev, ids[i]));
	EXPECT_EQ(-EINVAL, debug_unwatch(&self->dev, ids[0]));
	/* Waves that were saved with a hit tell it when they are back. */
	ASSERT_TRUE(job_wait_progress(&w.job, 2, LONG_MS));
	before = traps(&w);
	ASSERT_TRUE(job_wait_progress(&w.job, 5, LONG_MS));
	EXPECT_EQ(before, traps(&w));
	job_stop(&w.job);
	ASSERT_TRUE(job_wait(&w.job, LONG_MS));
	EXPECT_EQ(0, job_errors(&w.job));
	watched_job_free(&self->dev, &w);
	ASSERT_EQ(0, debug_disable(self->fd));
}

TEST_HARNESS_MAIN
