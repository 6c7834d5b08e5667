// SPDX-License-Identifier: GPL-2.0-only
/* SWITCH beyond one process: batches that hang together, their flags and targets. */
#include <stdio.h>

#include "kselftest_harness.h"
#include "sched_mode.h"
#include "target.h"

#define LONG_MS 30000u
#define NO_QUEUE 0x7fffffffu
#define ALL_OR_NOTHING KFD_PREEMPT_SWITCH_ALL_OR_NOTHING
#define CHECKPOINT KFD_PREEMPT_SWITCH_CHECKPOINT
#define FAST KFD_PREEMPT_SWITCH_FAST

static struct kfd_preempt_switch_entry stop_entry(uint32_t id, pid_t pid)
{
	return (struct kfd_preempt_switch_entry){
		.queue_id = id,
		.op = KFD_PREEMPT_OP_PREEMPT,
		.preempt_type = KFD_PREEMPT_TYPE_SAVE,
		.target_pid = pid,
	};
}

static struct kfd_preempt_switch_entry start_entry(uint32_t id, pid_t pid)
{
	return (struct kfd_preempt_switch_entry){
		.queue_id = id,
		.op = KFD_PREEMPT_OP_RESUME,
		.target_pid = pid,
	};
}

FIXTURE(own)
{
	struct kfd_device dev;
	struct aql_queue queue[2];
	struct job job[2];
	uint32_t id[2];
	int fd;
};

FIXTURE_SETUP(own)
{
	unsigned int i;

	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, aql_queue_create(&self->dev, &self->queue[i]));
		self->id[i] = self->queue[i].id;
		ASSERT_EQ(0, checksum_job_start(&self->job[i], &self->queue[i], 2, 2));
		ASSERT_TRUE(job_wait_progress(&self->job[i], 2, LONG_MS));
	}
}

/* After each test both kernels must end with the right result. */
FIXTURE_TEARDOWN(own)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		job_stop(&self->job[i]);
		EXPECT_TRUE(job_wait(&self->job[i], LONG_MS));
		EXPECT_EQ(0, job_errors(&self->job[i]));
		EXPECT_EQ(0, aql_queue_destroy(&self->queue[i]));
	}
	kfd_device_close(&self->dev);
}

#define EXPECT_OWN_STATE(i, want_state, want_holds) \
	do { \
		struct kfd_ioctl_preempt_status_args now; \
		ASSERT_EQ(0, preempt_status(self->fd, 0, self->id[i], &now)); \
		EXPECT_EQ(want_state, now.state); \
		EXPECT_EQ(want_holds, now.holds); \
	} while (0)

TEST_F(own, all_or_nothing_stops_all)
{
	struct kfd_preempt_switch_entry entry[2] = { stop_entry(self->id[0], 0),
						     stop_entry(self->id[1], 0) };
	unsigned int i;

	ASSERT_EQ(0, preempt_switch(self->fd, 0, ALL_OR_NOTHING, entry, 2));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, entry[i].result);
		EXPECT_EQ(KFD_PREEMPT_STATE_HELD, entry[i].state);
		EXPECT_TRUE(job_stands_still(&self->job[i], 50));
		entry[i] = start_entry(self->id[i], 0);
	}
	ASSERT_EQ(0, preempt_switch(self->fd, 0, ALL_OR_NOTHING, entry, 2));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, entry[i].result);
}

TEST_F(own, all_or_nothing_with_an_unknown_queue_changes_nothing)
{
	struct kfd_preempt_switch_entry entry[3] = { stop_entry(self->id[0], 0),
						     stop_entry(NO_QUEUE, 0),
						     stop_entry(self->id[1], 0) };
	struct kfd_ioctl_preempt_status_args status;
	unsigned int i;

	ASSERT_EQ(0, preempt_switch(self->fd, 0, ALL_OR_NOTHING, entry, 3));
	EXPECT_EQ(-EBUSY, entry[0].result);
	EXPECT_EQ(-ENOENT, entry[1].result);
	EXPECT_EQ(-EBUSY, entry[2].result);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, preempt_status(self->fd, 0, self->id[i], &status));
		EXPECT_EQ(KFD_PREEMPT_STATE_RUNNING, status.state);
		EXPECT_EQ(0, status.preempts);
		EXPECT_EQ(0, status.failures);
		EXPECT_TRUE(job_wait_progress(&self->job[i], 2, LONG_MS));
	}
}

/* The one that fails is found by the backend, when the others are edited. */
TEST_F(own, all_or_nothing_with_an_impossible_type_changes_nothing)
{
	struct kfd_preempt_switch_entry entry[2] = { start_entry(self->id[0], 0),
						     stop_entry(self->id[1], 0) };

	ASSERT_EQ(0, preempt_queue(self->fd, self->id[0]));
	entry[1].preempt_type = KFD_PREEMPT_TYPE_RESET;
	ASSERT_EQ(0, preempt_switch(self->fd, 0, ALL_OR_NOTHING, entry, 2));
	EXPECT_EQ(-EBUSY, entry[0].result);
	EXPECT_EQ(driver_has_no_hws(self->fd) ? -EPERM : -EOPNOTSUPP, entry[1].result);
	EXPECT_OWN_STATE(0, KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF);
	EXPECT_OWN_STATE(1, KFD_PREEMPT_STATE_RUNNING, 0);
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	EXPECT_TRUE(job_wait_progress(&self->job[1], 2, LONG_MS));

	/* Without the flag the other one is done. */
	ASSERT_EQ(0, preempt_switch(self->fd, 0, 0, entry, 2));
	EXPECT_EQ(0, entry[0].result);
	EXPECT_OWN_STATE(0, KFD_PREEMPT_STATE_RUNNING, 0);
}

TEST_F(own, all_or_nothing_with_a_held_queue_changes_nothing)
{
	struct kfd_preempt_switch_entry entry[2] = { stop_entry(self->id[0], 0),
						     stop_entry(self->id[1], 0) };

	ASSERT_EQ(0, preempt_queue(self->fd, self->id[1]));
	ASSERT_EQ(0, preempt_switch(self->fd, 0, ALL_OR_NOTHING, entry, 2));
	EXPECT_EQ(-EBUSY, entry[0].result);
	EXPECT_EQ(-EALREADY, entry[1].result);
	EXPECT_OWN_STATE(0, KFD_PREEMPT_STATE_RUNNING, 0);
	EXPECT_OWN_STATE(1, KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF);
	ASSERT_EQ(0, resume_queue(self->fd, self->id[1]));
}

TEST_F(own, one_uid_that_differs_stops_all_or_nothing)
{
	struct kfd_preempt_switch_entry entry[2] = { stop_entry(self->id[0], 0),
						     stop_entry(self->id[1], 0) };
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id[0], &status));
	entry[0].queue_uid = status.queue_uid;
	entry[1].queue_uid = ~0ull;
	ASSERT_EQ(0, preempt_switch(self->fd, 0, ALL_OR_NOTHING | KFD_PREEMPT_SWITCH_MATCH_UID,
				    entry, 2));
	EXPECT_EQ(-EBUSY, entry[0].result);
	EXPECT_EQ(-ESTALE, entry[1].result);
	EXPECT_OWN_STATE(0, KFD_PREEMPT_STATE_RUNNING, 0);
	EXPECT_OWN_STATE(1, KFD_PREEMPT_STATE_RUNNING, 0);
}

TEST_F(own, fast_stops_save_and_restore_as_others)
{
	unsigned int i;

	if (!(driver_facts(self->fd).caps & KFD_PREEMPT_CAP_FAST)) {
		/* There is no grace period without firmware scheduling. */
		EXPECT_TRUE(driver_has_no_hws(self->fd));
		EXPECT_EQ(-EINVAL, switch_preempt(self->fd, 0, FAST, self->id[0]));
		return;
	}
	EXPECT_FALSE(driver_has_no_hws(self->fd));
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, switch_preempt(self->fd, 0, FAST, self->id[0]));
		EXPECT_TRUE(job_stands_still(&self->job[0], 3));
		ASSERT_EQ(0, switch_resume(self->fd, 0, 0, self->id[0]));
		EXPECT_TRUE(job_wait_progress(&self->job[0], 1, LONG_MS));
	}
}

static uint32_t status_of(int fd, uint32_t id)
{
	struct kfd_ioctl_preempt_status_args status;

	return preempt_status(fd, 0, id, &status) ? ~0u : status.status;
}

#define EXPECT_COPY(want, i) \
	EXPECT_EQ(want, !!(status_of(self->fd, self->id[i]) & KFD_PREEMPT_STATUS_CHECKPOINTED))

TEST_F(own, checkpoint_lasts_from_the_stop_to_the_start)
{
	unsigned int i;

	EXPECT_TRUE(driver_facts(self->fd).caps & KFD_PREEMPT_CAP_CHECKPOINT);
	ASSERT_EQ(0, preempt_queue(self->fd, self->id[0]));
	EXPECT_COPY(false, 0);
	ASSERT_EQ(0, resume_queue(self->fd, self->id[0]));
	for (i = 0; i < 20; i++) {
		EXPECT_COPY(false, 0);
		ASSERT_EQ(0, switch_preempt(self->fd, 0, CHECKPOINT, self->id[0]));
		EXPECT_COPY(true, 0);
		EXPECT_TRUE(job_stands_still(&self->job[0], 3));
		ASSERT_EQ(0, resume_queue(self->fd, self->id[0]));
		EXPECT_COPY(false, 0);
		EXPECT_TRUE(job_wait_progress(&self->job[0], 1, LONG_MS));
	}
}

TEST_F(own, update_of_a_held_queue_drops_its_checkpoint)
{
	ASSERT_EQ(0, switch_preempt(self->fd, 0, CHECKPOINT, self->id[0]));
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue[0], 0));
	EXPECT_COPY(false, 0);
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue[0], 100));
	EXPECT_COPY(false, 0);
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	ASSERT_EQ(0, resume_queue(self->fd, self->id[0]));
}

TEST_F(own, checkpoint_of_a_queue_of_0_percent_is_started_by_update)
{
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue[0], 0));
	ASSERT_EQ(0, switch_preempt(self->fd, 0, CHECKPOINT, self->id[0]));
	EXPECT_COPY(true, 0);
	ASSERT_EQ(0, resume_queue(self->fd, self->id[0]));
	EXPECT_COPY(false, 0);
	EXPECT_TRUE(job_stands_still(&self->job[0], 50));
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue[0], 100));
	EXPECT_TRUE(job_wait_progress(&self->job[0], 2, LONG_MS));
}

TEST_F(own, v0_takes_fast_and_checkpoint)
{
	struct kfd_ioctl_preempt_queue_args args = {
		.queue_id = self->id[0],
		.preempt_type = KFD_PREEMPT_TYPE_SAVE,
		.flags = KFD_PREEMPT_FLAG_CHECKPOINT,
	};

	if (driver_facts(self->fd).caps & KFD_PREEMPT_CAP_FAST)
		args.flags |= KFD_PREEMPT_FLAG_FAST;
	ASSERT_EQ(0, kfd_ioctl(self->fd, AMDKFD_IOC_PREEMPT_QUEUE, &args));
	EXPECT_COPY(true, 0);
	ASSERT_EQ(0, resume_queue(self->fd, self->id[0]));
}

FIXTURE(others)
{
	struct target target[2];
	pid_t pid[2];
	uint32_t id[2];
	int fd;
};

FIXTURE_SETUP(others)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, target_start(&self->target[i]));
		self->pid[i] = self->target[i].pid;
		self->id[i] = self->target[i].queue_id;
	}
	self->fd = kfd_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(others)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		target_kill(&self->target[i]);
	close(self->fd);
}

#define EXPECT_STATE(i, want_state, want_holds) \
	do { \
		struct kfd_ioctl_preempt_status_args now; \
		ASSERT_EQ(0, preempt_status(self->fd, self->pid[i], self->id[i], &now)); \
		EXPECT_EQ(want_state, now.state); \
		EXPECT_EQ(want_holds, now.holds); \
	} while (0)

TEST_F(others, one_call_stops_two_processes)
{
	struct kfd_preempt_switch_entry entry[2] = { stop_entry(self->id[0], self->pid[0]),
						     stop_entry(self->id[1], self->pid[1]) };
	unsigned int i;

	ASSERT_EQ(0, preempt_switch(self->fd, 0, 0, entry, 2));
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(0, entry[i].result);
		EXPECT_EQ(KFD_PREEMPT_STATE_HELD, entry[i].state);
		EXPECT_EQ(KFD_PREEMPT_HOLD_OPERATOR, entry[i].holds);
		EXPECT_TRUE(target_stands_still(&self->target[i], 50));
	}
	/* Both holds belong to one file. */
	close(self->fd);
	self->fd = kfd_open();
	for (i = 0; i < 2; i++) {
		EXPECT_TRUE(target_moves(&self->target[i]));
		EXPECT_TRUE(target_finish(&self->target[i]));
	}
}

TEST_F(others, one_call_swaps_two_processes)
{
	struct kfd_preempt_switch_entry entry[2];
	unsigned int round, i;

	ASSERT_EQ(0, switch_preempt(self->fd, self->pid[1], 0, self->id[1]));
	for (round = 0; round < 10; round++) {
		unsigned int stop = round % 2;

		entry[0] = start_entry(self->id[1 - stop], 0);
		entry[1] = stop_entry(self->id[stop], self->pid[stop]);
		ASSERT_EQ(0, preempt_switch(self->fd, self->pid[1 - stop], ALL_OR_NOTHING, entry,
					    2));
		EXPECT_EQ(0, entry[0].result);
		EXPECT_EQ(0, entry[1].result);
		EXPECT_TRUE(target_stands_still(&self->target[stop], 10));
		EXPECT_TRUE(target_moves(&self->target[1 - stop]));
	}
	ASSERT_EQ(0, switch_resume(self->fd, self->pid[1], 0, self->id[1]));
	for (i = 0; i < 2; i++)
		EXPECT_TRUE(target_finish(&self->target[i]));
}

TEST_F(others, dead_process_fails_its_entry_alone)
{
	struct kfd_preempt_switch_entry entry[2] = { stop_entry(self->id[0], self->pid[0]),
						     stop_entry(self->id[1], self->pid[1]) };
	unsigned int ms;

	target_kill(&self->target[0]);
	for (ms = 0; ms < TARGET_TIMEOUT_MS && entry[0].result != -ESRCH; ms += 10) {
		entry[1] = stop_entry(self->id[1], self->pid[1]);
		ASSERT_EQ(0, preempt_switch(self->fd, 0, 0, entry, 2));
		ASSERT_EQ(0, entry[1].result);
		ASSERT_EQ(0, switch_resume(self->fd, self->pid[1], 0, self->id[1]));
		sleep_us(10000);
	}
	EXPECT_EQ(-ESRCH, entry[0].result);

	entry[0] = stop_entry(self->id[0], self->pid[0]);
	entry[1] = stop_entry(self->id[1], self->pid[1]);
	ASSERT_EQ(0, preempt_switch(self->fd, 0, ALL_OR_NOTHING, entry, 2));
	EXPECT_EQ(-ESRCH, entry[0].result);
	EXPECT_EQ(-EBUSY, entry[1].result);
	EXPECT_STATE(1, KFD_PREEMPT_STATE_RUNNING, 0);
	EXPECT_TRUE(target_finish(&self->target[1]));
}

TEST_F(others, one_queue_under_two_names_is_EINVAL)
{
	struct kfd_preempt_switch_entry entry[2] = { stop_entry(self->id[0], 0),
						     stop_entry(self->id[0], self->pid[0]) };

	EXPECT_EQ(-EINVAL, preempt_switch(self->fd, self->pid[0], 0, entry, 2));
	EXPECT_STATE(0, KFD_PREEMPT_STATE_RUNNING, 0);
	/* The same id in two processes is two queues. */
	entry[1] = stop_entry(self->id[1], self->pid[1]);
	ASSERT_EQ(self->id[0], self->id[1]);
	ASSERT_EQ(0, preempt_switch(self->fd, self->pid[0], 0, entry, 2));
	EXPECT_EQ(0, entry[0].result);
	EXPECT_EQ(0, entry[1].result);
}

TEST_F(others, sticky_is_refused_when_oneself_is_among_the_targets)
{
	struct kfd_preempt_switch_entry entry[2] = { stop_entry(self->id[0], self->pid[0]),
						     stop_entry(NO_QUEUE, getpid()) };

	EXPECT_EQ(-EINVAL, preempt_switch(self->fd, 0, KFD_PREEMPT_SWITCH_STICKY, entry, 2));
	EXPECT_STATE(0, KFD_PREEMPT_STATE_RUNNING, 0);
}

TEST_F(others, file_of_the_target_names_it)
{
	struct kfd_preempt_switch_entry entry = stop_entry(self->id[0], 0);
	struct kfd_ioctl_preempt_switch_args args = {
		.flags = KFD_PREEMPT_SWITCH_TARGET_FD,
		.entries_ptr = (uintptr_t)&entry,
		.num_entries = 1,
	};
	struct kfd_ioctl_preempt_status_args status = {
		.queue_id = self->id[0],
		.flags = KFD_PREEMPT_SWITCH_TARGET_FD,
	};

	args.target_fd = status.target_fd = target_file(&self->target[0]);
	ASSERT_LE(0, args.target_fd);
	ASSERT_EQ(0, kfd_ioctl(self->fd, AMDKFD_IOC_PREEMPT_SWITCH, &args));
	EXPECT_EQ(0, entry.result);
	ASSERT_EQ(0, kfd_ioctl(self->fd, AMDKFD_IOC_PREEMPT_STATUS, &status));
	EXPECT_EQ(KFD_PREEMPT_HOLD_OPERATOR, status.holds);
	EXPECT_TRUE(target_stands_still(&self->target[0], 50));
	/* The record is this file's, however the target was named. */
	ASSERT_EQ(0, switch_resume(self->fd, self->pid[0], 0, self->id[0]));
	EXPECT_TRUE(target_finish(&self->target[0]));
	close(args.target_fd);
}

TEST_HARNESS_MAIN
