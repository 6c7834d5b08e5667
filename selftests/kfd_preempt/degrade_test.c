// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver gives up on a GPU what its hardware turns out not to do, says so, and
 * tries again when it is told to. Needs the vgpu, root, and preempt_verify=1.
 */
#include <sys/wait.h>

#include "gpu_fault.h"
#include "jobs.h"
#include "kernel_log.h"
#include "kselftest_harness.h"
#include "sched_mode.h"
#include "sdma_queue.h"
#include "text_file.h"
#include "verify.h"
#include "wait.h"

#define LONG_MS 60000u
#define REARM "/sys/module/amdgpu/parameters/preempt_degraded"

/* More than half of the 9 s after which KFD resets the GPU. */
#define LATE_FENCES "slow-fence:ms=5000,count=3"

FIXTURE(degrade)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(degrade)
{
	ASSERT_TRUE(verify_is_on());
	ASSERT_EQ(0, text_file_write(REARM, "0"));
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue, &self->job, 2, LONG_MS));
	self->id = self->queue.id;
	ASSERT_EQ(0, driver_facts(self->fd).degraded);
}

FIXTURE_TEARDOWN(degrade)
{
	gpu_fault_disarm_all();
	text_file_write(REARM, "0");
	EXPECT_TRUE(job_ends_right(&self->job, LONG_MS));
	EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_device_close(&self->dev);
}

static uint32_t status_bits(int fd, uint32_t id)
{
	struct kfd_ioctl_preempt_status_args status;

	return preempt_status(fd, 0, id, &status) ? ~0u : status.status;
}

/* The result of an operator's PREEMPT of a queue of its parent. */
static int by_child(uint32_t queue_id)
{
	pid_t parent = getpid(), child = fork();
	int status;

	if (!child) {
		int fd = kfd_open();

		_exit(fd < 0 ? 255 : -switch_preempt(fd, parent, 0, queue_id));
	}
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -ECHILD;
	return -WEXITSTATUS(status);
}

/* A process can make the save of its own queues last: by its trap handler. */
TEST_F_TIMEOUT(degrade, late_unmaps_of_own_calls_cost_no_other_process_the_preemption, 600)
{
	unsigned int i;

	ASSERT_EQ(KFD_PREEMPT_SCHED_HWS, driver_facts(self->fd).sched_mode);
	ASSERT_LE(0, gpu_fault_arm(LATE_FENCES));
	/* The resume of the only queue unmaps nothing. */
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, preempt_queue(self->fd, self->id));
		ASSERT_EQ(0, resume_queue(self->fd, self->id));
	}
	EXPECT_EQ(0, driver_facts(self->fd).degraded);
}

TEST_F_TIMEOUT(degrade, gpu_whose_unmaps_are_late_is_preempted_no_more, 600)
{
	int kmsg = kernel_log_open();
	char text[64];
	unsigned int i;

	ASSERT_LE(0, kmsg);
	ASSERT_LE(0, gpu_fault_arm(LATE_FENCES));
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(0, driver_facts(self->fd).degraded);
		ASSERT_EQ(0, by_child(self->id));
		/* The end of the child resumes the queue, also when no other may be preempted. */
		EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
	}
	EXPECT_EQ(KFD_PREEMPT_DEGRADED_FENCE, driver_facts(self->fd).degraded);
	EXPECT_EQ(0, driver_facts(self->fd).type_mask);
	EXPECT_EQ(0, driver_facts(self->fd).caps & KFD_PREEMPT_CAP_SAVE);
	EXPECT_TRUE(status_bits(self->fd, self->id) & KFD_PREEMPT_STATUS_DEGRADED);
	EXPECT_EQ(-EOPNOTSUPP, preempt_queue(self->fd, self->id));
	snprintf(text, sizeof(text), "for queue %u of process %d", self->id, getpid());
	EXPECT_TRUE(kernel_said(kmsg, text));
	close(kmsg);
}

TEST_F(degrade, root_rearms_it_by_0_and_nothing_else)
{
	ASSERT_LE(0, gpu_fault_arm("unmap-skipped:count=1"));
	ASSERT_EQ(-ETIME, preempt_queue(self->fd, self->id));
	EXPECT_EQ(-EINVAL, text_file_write(REARM, "1"));
	EXPECT_EQ(-EINVAL, text_file_write(REARM, "on"));
	EXPECT_NE(0, driver_facts(self->fd).degraded);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	ASSERT_EQ(0, text_file_write(REARM, "0"));
	EXPECT_EQ(0, driver_facts(self->fd).degraded);
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_TRUE(job_stands_still(&self->job, 100));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
}

TEST_F(degrade, queue_that_a_confirmed_unmap_has_left_running_is_found)
{
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_LE(0, gpu_fault_arm("unmap-skipped:count=1"));
	EXPECT_EQ(-ETIME, preempt_queue(self->fd, self->id));
	EXPECT_EQ(KFD_PREEMPT_DEGRADED_STILL_ACTIVE, driver_facts(self->fd).degraded);
	EXPECT_EQ(0, driver_facts(self->fd).type_mask);
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_EQ(1, status.failures);
	EXPECT_EQ(0, status.preempts);
	EXPECT_TRUE(status.status & KFD_PREEMPT_STATUS_DEGRADED);
	/* The next update of the runlist takes it down and maps it once. */
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
}

/* The queue leaves after two reads of CP_HQD_ACTIVE, which are those of two scans. */
TEST_F(degrade, fence_before_the_end_of_a_save_is_found)
{
	struct aql_queue other;
	char fault[64];
	int number;

	snprintf(fault, sizeof(fault), "early-fence:polls=2,pasid=%u", gpu_pasid(getpid()));
	number = gpu_fault_arm(fault);
	ASSERT_LE(0, number);
	EXPECT_EQ(-ETIME, preempt_queue(self->fd, self->id));
	EXPECT_EQ(1, gpu_fault_hits(number));
	EXPECT_EQ(KFD_PREEMPT_DEGRADED_STILL_ACTIVE, driver_facts(self->fd).degraded);
	EXPECT_TRUE(status_bits(self->fd, self->id) & KFD_PREEMPT_STATUS_DEGRADED);
	/* The second scan is for this one. */
	ASSERT_EQ(0, text_file_write(REARM, "0"));
	ASSERT_EQ(0, aql_queue_create(&self->dev, &other));
	ASSERT_EQ(0, preempt_queue(self->fd, other.id));
	ASSERT_EQ(0, aql_queue_destroy(&other));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	EXPECT_TRUE(job_wait_progress(&self->job, 2, LONG_MS));
}

TEST_F(degrade, fast_is_dropped_when_an_XCC_misses_the_grace_period)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = self->id,
		.op = KFD_PREEMPT_OP_PREEMPT,
		.preempt_type = KFD_PREEMPT_TYPE_SAVE,
	};

	if (driver_facts(self->fd).num_xcc == 1 || self->dev.num_xcc == 1)
		SKIP(return, "needs a GPU with several XCCs");
	ASSERT_TRUE(driver_facts(self->fd).caps & KFD_PREEMPT_CAP_FAST);
	ASSERT_LE(0, gpu_fault_arm("grace-lost:xcc=1"));
	ASSERT_EQ(0, preempt_switch(self->fd, 0, KFD_PREEMPT_SWITCH_FAST, &entry, 1));
	EXPECT_EQ(0, entry.result);
	EXPECT_EQ(KFD_PREEMPT_DEGRADED_GRACE, driver_facts(self->fd).degraded);
	EXPECT_EQ(0, driver_facts(self->fd).caps & KFD_PREEMPT_CAP_FAST);
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	/* All else works. */
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_TRUE(job_stands_still(&self->job, 100));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
}

/*
 * The software GPU forgets the doorbell; the packet runs all the same, without another one. Once
 * that was found, also without preempt_verify.
 */
TEST_F_TIMEOUT(degrade, packet_that_came_while_held_runs_though_the_mapping_missed_it, 300)
{
	struct aql_signal *signal;
	struct aql_queue other;
	struct kfd_buffer memory;
	unsigned int i;
	char fault[64];
	int number;

	ASSERT_EQ(0, kfd_buffer_alloc(&self->dev, KFD_IN_SYSTEM, 4096, &memory));
	signal = memory.addr;
	ASSERT_EQ(0, aql_queue_create(&self->dev, &other));
	snprintf(fault, sizeof(fault), "doorbell-lost:pasid=%u", gpu_pasid(getpid()));
	for (i = 0; i < 2; i++) {
		signal->value = 1;
		ASSERT_EQ(0, preempt_queue(self->fd, other.id));
		aql_queue_mark(&other, 1, signal);
		number = gpu_fault_arm(fault);
		ASSERT_LE(0, number);
		ASSERT_EQ(0, resume_queue(self->fd, other.id));
		EXPECT_TRUE(aql_signal_wait(signal, LONG_MS));
		EXPECT_EQ(1, gpu_fault_hits(number));
		verify_turn(false);
	}
	verify_turn(true);
	EXPECT_EQ(0, driver_facts(self->fd).degraded);
	EXPECT_EQ(0, aql_queue_destroy(&other));
	kfd_buffer_free(&self->dev, &memory);
}

/* A process may write what it likes there: that gives up no GPU. */
TEST_F(degrade, held_process_that_moves_its_read_index_is_told_and_nothing_more)
{
	int kmsg = kernel_log_open();
	struct aql_queue other;
	unsigned int polls;
	bool said = false;

	ASSERT_LE(0, kmsg);
	ASSERT_EQ(0, aql_queue_create(&self->dev, &other));
	ASSERT_EQ(0, preempt_queue(self->fd, other.id));
	/* Between the two looks, however far apart they are. */
	for (polls = 0; polls < LONG_MS && !said; polls++) {
		*other.read_index += 1;
		sleep_us(1000);
		said = kernel_said(kmsg, "the read index of queue");
	}
	EXPECT_TRUE(said);
	EXPECT_EQ(0, driver_facts(self->fd).degraded);
	*other.read_index = 0;
	ASSERT_EQ(0, resume_queue(self->fd, other.id));
	EXPECT_EQ(0, aql_queue_destroy(&other));
	close(kmsg);
}

TEST_F(degrade, operator_preempts_no_SDMA_queue_unless_preempt_sdma_is_set)
{
	struct sdma_queue sdma;

	ASSERT_EQ(0, sdma_queue_create(&self->dev, &sdma));
	EXPECT_EQ(-EOPNOTSUPP, by_child(sdma.id));
	/* Its owner may. */
	EXPECT_EQ(0, preempt_queue(self->fd, sdma.id));
	EXPECT_EQ(0, resume_queue(self->fd, sdma.id));
	EXPECT_EQ(0, sdma_queue_destroy(&sdma));
}

TEST_HARNESS_MAIN
