// SPDX-License-Identifier: GPL-2.0-only
/*
 * Effect of a bad access or a hung queue of one process on the others: none, a reset of the
 * queue, or a reset of the GPU. Needs the software GPU, whose faults it arms, and root.
 */
#include <stdio.h>
#include <string.h>

#include "aql_queue.h"
#include "gpu_fault.h"
#include "jobs.h"
#include "kfd_event.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "sdma_queue.h"
#include "target.h"
#include "wait.h"

#define LONG_MS 30000u

/* Nothing is mapped there: far from what the C library and the kernel hand out. */
#define NOWHERE 0x2000004000ul

FIXTURE(hang)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	struct kfd_event exception;
	int fd;
	uint32_t id;
};

/* The neighbour: this process, with a job of its own. */
FIXTURE_SETUP(hang)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(KFD_PREEMPT_SCHED_HWS, driver_facts(self->fd).sched_mode);
	ASSERT_EQ(0, gpu_fault_disarm_all());
	ASSERT_EQ(0, kfd_exception_event_create(&self->dev, KFD_IOC_EVENT_HW_EXCEPTION,
						&self->exception));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue));
	self->id = self->queue.id;
	ASSERT_EQ(0, checksum_job_start(&self->job, &self->queue, 2, 2));
	ASSERT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
}

FIXTURE_TEARDOWN(hang)
{
	EXPECT_EQ(0, gpu_fault_disarm_all());
	if (self->queue.ring.addr)
		aql_queue_destroy(&self->queue);
	kfd_device_close(&self->dev);
}

/* A kernel that reads from an address, on a device and queue of its own. */
static int start_bad_kernel(struct kfd_device *dev, struct aql_queue *queue, uint64_t address)
{
	struct {
		uint64_t counters, results, stop;
		uint32_t iterations;
	} *args;
	static struct gpu_program program;
	static struct kfd_buffer shared;
	int ret = gpu_program_load(dev, &gpu_image_count, &program);

	if (!ret)
		ret = kfd_buffer_alloc(dev, KFD_IN_SYSTEM, 4096, &shared);
	if (ret)
		return ret;
	args = shared.addr;
	args->counters = address;
	args->results = address;
	args->stop = address;
	args->iterations = 1;
	aql_queue_dispatch(queue, &(struct aql_dispatch){
		.kernel_object = program.kernel_object,
		.kernarg = args,
		.workgroup_size = 64,
		.num_workgroups = 64,
	});
	return 0;
}

static bool state_is(int fd, uint32_t id, uint32_t state, uint32_t holds)
{
	struct kfd_ioctl_preempt_status_args now;

	return !preempt_status(fd, 0, id, &now) && now.state == state && now.holds == holds &&
	       now.status & KFD_PREEMPT_STATUS_EVICTED;
}

/* After a bad access KFD never restores the process: holds come and go, nothing starts. */
static bool stays_evicted(int fd, uint32_t id)
{
	return state_is(fd, id, KFD_PREEMPT_STATE_INACTIVE, 0) && !preempt_queue(fd, id) &&
	       state_is(fd, id, KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF) &&
	       !resume_queue(fd, id) && state_is(fd, id, KFD_PREEMPT_STATE_INACTIVE, 0);
}

/* Exits with 0 when the driver told it of the right address, and its queue could be destroyed. */
static void run_bad_process(void)
{
	struct kfd_event_data data = {};
	struct kfd_event memory;
	struct kfd_device dev;
	struct aql_queue queue;

	if (kfd_device_open(&dev) || aql_queue_create(&dev, &queue) ||
	    kfd_exception_event_create(&dev, KFD_IOC_EVENT_MEMORY, &memory) ||
	    start_bad_kernel(&dev, &queue, NOWHERE + 0x10))
		_exit(1);
	if (kfd_event_wait(&dev, &memory, LONG_MS, &data))
		_exit(2);
	if (data.memory_exception_data.va != (NOWHERE & ~0xffful) ||
	    data.memory_exception_data.gpu_id != dev.gpu_id ||
	    !data.memory_exception_data.failure.NotPresent)
		_exit(3);
	if (!stays_evicted(dev.kfd_fd, queue.id))
		_exit(5);
	_exit(aql_queue_destroy(&queue) ? 4 : 0);
}

static int run_process(void (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (pid < 0)
		return -errno;
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		body();
	}
	if (waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

/* A fresh process, after whatever happened: runs, stops, resumes, ends with the right result. */
static bool fresh_process_works(void)
{
	struct target target = {};
	bool works = !target_start(&target) && !target_order(&target, TARGET_PREEMPT) &&
		     !target_order(&target, TARGET_RESUME) && target_moves(&target) &&
		     target_finish(&target);

	target_kill(&target);
	return works;
}

static void run_probe(void)
{
	struct kfd_buffer memory;
	struct kfd_device dev;
	struct aql_queue queue;
	struct aql_signal *signal;

	if (kfd_device_open(&dev) || aql_queue_create(&dev, &queue) ||
	    kfd_buffer_alloc(&dev, KFD_IN_SYSTEM, 4096, &memory))
		_exit(1);
	signal = memory.addr;
	signal->value = 1;
	aql_queue_mark(&queue, 0, signal);
	_exit(aql_signal_wait(signal, 5000) ? 0 : 2);
}

/* The event of a reset comes when it begins: no queue can be made before its end. */
static bool gpu_is_back(void)
{
	unsigned int tries;

	for (tries = 0; tries < 60; tries++) {
		if (!run_process(run_probe))
			return true;
		sleep_us(500000);
	}
	return false;
}

TEST_F_TIMEOUT(hang, bad_access_is_told_to_its_process_and_no_other, 120)
{
	EXPECT_EQ(0, run_process(run_bad_process));
	EXPECT_EQ(0, run_process(run_bad_process));
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	EXPECT_EQ(-ETIME, kfd_event_wait(&self->dev, &self->exception, 50, NULL));
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
}

static void run_bad_copy(void)
{
	struct kfd_event_data data = {};
	struct kfd_event memory;
	struct kfd_device dev;
	struct sdma_queue queue;

	if (kfd_device_open(&dev) || sdma_queue_create(&dev, &queue) ||
	    kfd_exception_event_create(&dev, KFD_IOC_EVENT_MEMORY, &memory))
		_exit(1);
	sdma_copy(&queue, queue.pointers.addr, (void *)NOWHERE, 64);
	sdma_submit(&queue);
	if (kfd_event_wait(&dev, &memory, LONG_MS, &data))
		_exit(2);
	if (data.memory_exception_data.va != NOWHERE)
		_exit(3);
	_exit(sdma_queue_destroy(&queue) ? 4 : 0);
}

TEST_F_TIMEOUT(hang, bad_copy_is_told_to_its_process_and_no_other, 120)
{
	EXPECT_EQ(0, run_process(run_bad_copy));
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
}

/* Arms a fault for the queues of one process. */
static int arm_for(pid_t pid, const char *fault)
{
	unsigned int pasid = gpu_pasid(pid);
	char spec[128];

	if (!pasid)
		return -1;
	snprintf(spec, sizeof(spec), "%s%spasid=%u", fault, strchr(fault, ':') ? "," : ":", pasid);
	return gpu_fault_arm(spec);
}

/*
 * The firmware gives the hung queue up and names it; the driver resets only that queue. Queues
 * that had to wait meanwhile run again.
 */
TEST_F_TIMEOUT(hang, hung_wave_costs_its_queue_and_no_other, 120)
{
	struct target target = {};
	int fault;

	ASSERT_EQ(0, target_start(&target));
	fault = arm_for(target.pid, "hung-wave");
	ASSERT_LE(0, fault);
	EXPECT_NE(0, target_order(&target, TARGET_PREEMPT));
	EXPECT_EQ(1, gpu_fault_hits(fault));
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	EXPECT_EQ(-ETIME, kfd_event_wait(&self->dev, &self->exception, 50, NULL));
	target_kill(&target);
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
	EXPECT_TRUE(fresh_process_works());
}

/* Two resets, of the queue and of its pipe, don't help: the whole GPU is reset. */
TEST_F_TIMEOUT(hang, queue_that_no_reset_helps_costs_the_GPU, 180)
{
	struct target target = {};

	ASSERT_EQ(0, target_start(&target));
	ASSERT_LE(0, gpu_fault_arm("queue-reset-never:count=2"));
	ASSERT_LE(0, arm_for(target.pid, "unmap-never"));
	EXPECT_NE(0, target_order(&target, TARGET_PREEMPT));
	EXPECT_EQ(0, kfd_event_wait(&self->dev, &self->exception, LONG_MS, NULL));
	target_kill(&target);
	ASSERT_TRUE(gpu_is_back());
	EXPECT_TRUE(fresh_process_works());
}

/* The unmap of its ring never ends, and no report names it. */
TEST_F_TIMEOUT(hang, stuck_SDMA_ring_costs_the_GPU, 180)
{
	struct sdma_queue queue;
	int fault = arm_for(getpid(), "sdma-stuck");

	ASSERT_LE(0, fault);
	ASSERT_EQ(0, sdma_queue_create(&self->dev, &queue));
	sdma_fence(&queue, queue.pointers.addr, 0);
	sdma_submit(&queue);
	EXPECT_NE(0, preempt_queue(self->fd, self->id));
	EXPECT_EQ(1, gpu_fault_hits(fault));
	EXPECT_EQ(0, kfd_event_wait(&self->dev, &self->exception, LONG_MS, NULL));
	ASSERT_TRUE(gpu_is_back());
	EXPECT_TRUE(fresh_process_works());
}

TEST_F_TIMEOUT(hang, device_that_hangs_is_reset, 180)
{
	int fault = gpu_fault_arm("device-hang");

	ASSERT_LE(0, fault);
	EXPECT_NE(0, preempt_queue(self->fd, self->id));
	EXPECT_EQ(0, kfd_event_wait(&self->dev, &self->exception, LONG_MS, NULL));
	ASSERT_TRUE(gpu_is_back());
	/* It counts when the device is reset. */
	EXPECT_EQ(1, gpu_fault_hits(fault));
	EXPECT_TRUE(fresh_process_works());
}

/* A stop that takes long but not too long, and a fence that comes late: only time is lost. */
TEST_F_TIMEOUT(hang, late_unmap_and_slow_fence_cost_nothing, 120)
{
	ASSERT_LE(0, arm_for(getpid(), "unmap-late:ms=300"));
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_TRUE(job_stands_still(&self->job, 200));
	ASSERT_LE(0, gpu_fault_arm("slow-fence:ms=300"));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
}

/* KFD looks at what an interrupt says; the next one brings what the lost one would have. */
TEST_F_TIMEOUT(hang, lost_interrupt_is_made_up_for_by_the_next, 120)
{
	struct kfd_event_page page;
	struct kfd_event event;
	struct sdma_queue queue;

	ASSERT_EQ(0, kfd_event_page_create(&self->dev, &page));
	ASSERT_EQ(0, kfd_event_create(&self->dev, &page, &event));
	ASSERT_EQ(0, sdma_queue_create(&self->dev, &queue));
	ASSERT_LE(0, gpu_fault_arm("lost-interrupt:source=224"));
	sdma_fence(&queue, (volatile uint32_t *)event.mailbox, event.id);
	sdma_trap(&queue, event.id);
	sdma_submit(&queue);
	EXPECT_EQ(-ETIME, kfd_event_wait(&self->dev, &event, 500, NULL));
	sdma_trap(&queue, event.id);
	sdma_submit(&queue);
	EXPECT_EQ(0, kfd_event_wait(&self->dev, &event, LONG_MS, NULL));
	EXPECT_EQ(0, sdma_queue_destroy(&queue));
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
}

TEST_HARNESS_MAIN
