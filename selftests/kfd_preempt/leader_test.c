// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process whose main thread has ended while another thread uses the queue: an operator can stop
 * and resume it as any other, the hold ends with the operator's file, and KFD restores the process
 * after an eviction. Needs root and debugfs.
 */
#include <pthread.h>

#include "evict.h"
#include "kselftest_harness.h"
#include "target.h"

#define LONG_MS 30000u

/* Shared with the target: its main thread may end. */
static uint32_t *leader_may_end;

static bool may_end(const void *word)
{
	return shared_get(word);
}

static void *run_thread(void *shared)
{
	target_run(shared);
	return NULL;
}

static void run_without_leader(struct target_shared *shared)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_thread, shared))
		_exit(1);
	while (!may_end(leader_may_end))
		sleep_us(1000);
	pthread_exit(NULL);
}

FIXTURE(leader)
{
	struct target target;
	int target_fd;
	int fd;
};

FIXTURE_SETUP(leader)
{
	leader_may_end = mmap(NULL, sizeof(*leader_may_end), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, leader_may_end);
	ASSERT_EQ(0, target_start_as(&self->target, run_without_leader));
	self->target_fd = target_file(&self->target);
	ASSERT_LE(0, self->target_fd);
	self->fd = kfd_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(leader)
{
	target_kill(&self->target);
	close(self->target_fd);
	close(self->fd);
}

static bool leader_has_ended(const void *pid)
{
	return process_state(*(const pid_t *)pid) == 'Z';
}

static bool end_leader(const struct target *target)
{
	shared_set(leader_may_end, 1);
	return wait_until(leader_has_ended, &target->pid, LONG_MS);
}

TEST_F(leader, process_without_its_main_thread_is_stopped_by_pid)
{
	struct target *target = &self->target;
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_TRUE(end_leader(target));
	ASSERT_EQ(0, switch_preempt(self->fd, target->pid, 0, target->queue_id));
	EXPECT_TRUE(target_stands_still(target, 100));
	ASSERT_EQ(0, preempt_status(self->fd, target->pid, target->queue_id, &status));
	EXPECT_EQ(KFD_PREEMPT_STATE_HELD, status.state);
	ASSERT_EQ(0, switch_resume(self->fd, target->pid, 0, target->queue_id));
	EXPECT_TRUE(target_moves(target));
	EXPECT_TRUE(target_finish(target));
}

TEST_F(leader, process_without_its_main_thread_is_stopped_by_its_file)
{
	struct target *target = &self->target;

	ASSERT_TRUE(end_leader(target));
	ASSERT_EQ(0, switch_queue_by_fd(self->fd, self->target_fd, target->queue_id,
				 KFD_PREEMPT_OP_PREEMPT));
	EXPECT_TRUE(target_stands_still(target, 100));
	ASSERT_EQ(0, switch_queue_by_fd(self->fd, self->target_fd, target->queue_id,
				 KFD_PREEMPT_OP_RESUME));
	EXPECT_TRUE(target_moves(target));
	EXPECT_TRUE(target_finish(target));
}

TEST_F(leader, hold_from_before_the_main_thread_ended_is_dropped)
{
	struct target *target = &self->target;

	ASSERT_EQ(0, switch_preempt(self->fd, target->pid, 0, target->queue_id));
	ASSERT_TRUE(end_leader(target));
	EXPECT_EQ(0, switch_queue_by_fd(self->fd, self->target_fd, target->queue_id,
				 KFD_PREEMPT_OP_RESUME));
	EXPECT_TRUE(target_moves_within(target, 5000));
}

TEST_F(leader, hold_ends_with_the_operator_after_the_main_thread_ended)
{
	struct target *target = &self->target;

	ASSERT_EQ(0, switch_preempt(self->fd, target->pid, 0, target->queue_id));
	EXPECT_TRUE(target_stands_still(target, 20));
	ASSERT_TRUE(end_leader(target));
	EXPECT_TRUE(target_stands_still(target, 20));
	close(self->fd);
	self->fd = -1;
	EXPECT_TRUE(target_moves_within(target, 5000));
}

/* The stock driver restores no queue without the HWS: load_mqd() takes the address space of the main thread. */
TEST_F(leader, process_without_its_main_thread_is_restored_after_an_eviction)
{
	struct target *target = &self->target;

	ASSERT_TRUE(end_leader(target));
	ASSERT_EQ(0, evict_all("vram"));
	EXPECT_TRUE(target_moves_within(target, LONG_MS));
	EXPECT_TRUE(target_finish(target));
}

TEST_F(leader, held_process_without_its_main_thread_is_restored_after_an_eviction)
{
	struct target *target = &self->target;

	ASSERT_TRUE(end_leader(target));
	ASSERT_EQ(0, switch_preempt(self->fd, target->pid, 0, target->queue_id));
	ASSERT_EQ(0, evict_all("vram"));
	EXPECT_TRUE(target_stands_still(target, 100));
	ASSERT_EQ(0, switch_resume(self->fd, target->pid, 0, target->queue_id));
	EXPECT_TRUE(target_moves_within(target, LONG_MS));
	EXPECT_TRUE(target_finish(target));
}

TEST_HARNESS_MAIN
