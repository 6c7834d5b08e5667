// SPDX-License-Identifier: GPL-2.0-only
/* Acting on another process's queue: who may, and how long a hold lasts. */
#include <grp.h>
#include <linux/capability.h>
#include <sys/syscall.h>

#include "kselftest_harness.h"
#include "target.h"

#define NOBODY 65534
#define STICKY KFD_PREEMPT_SWITCH_STICKY
#define FORCE KFD_PREEMPT_SWITCH_FORCE

FIXTURE(operator)
{
	struct target target;
	pid_t pid;
	uint32_t id;
	int fd;
};

FIXTURE_SETUP(operator)
{
	ASSERT_EQ(0, target_start(&self->target));
	self->pid = self->target.pid;
	self->id = self->target.queue_id;
	self->fd = kfd_open();
	ASSERT_LE(0, self->fd);
}

FIXTURE_TEARDOWN(operator)
{
	target_kill(&self->target);
	close(self->fd);
}

#define EXPECT_STATE(want_state, want_holds) \
	do { \
		struct kfd_ioctl_preempt_status_args now; \
		ASSERT_EQ(0, preempt_status(self->fd, self->pid, self->id, &now)); \
		EXPECT_EQ(want_state, now.state); \
		EXPECT_EQ(want_holds, now.holds); \
	} while (0)

TEST_F(operator, suspends_and_resumes_another_process)
{
	ASSERT_EQ(0, switch_preempt(self->fd, self->pid, 0, self->id));
	EXPECT_TRUE(target_stands_still(&self->target, 300));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_OPERATOR);
	ASSERT_EQ(0, switch_resume(self->fd, self->pid, 0, self->id));
	EXPECT_TRUE(target_moves(&self->target));
	EXPECT_STATE(KFD_PREEMPT_STATE_RUNNING, 0);
	EXPECT_TRUE(target_finish(&self->target));
}

TEST_F(operator, random_suspends_leave_the_result_right)
{
	unsigned int seed = (unsigned int)now_ns(), round;

	TH_LOG("seed %u", seed);
	for (round = 0; round < 50; round++) {
		ASSERT_EQ(0, switch_preempt(self->fd, self->pid, round % 2 ? STICKY : 0, self->id));
		sleep_us((unsigned int)rand_r(&seed) % 2000);
		ASSERT_EQ(0, switch_resume(self->fd, self->pid, round % 2 ? STICKY : 0, self->id));
		sleep_us((unsigned int)rand_r(&seed) % 5000);
	}
	EXPECT_TRUE(target_moves(&self->target));
	EXPECT_TRUE(target_finish(&self->target));
}

TEST_F(operator, queue_id_without_its_pid_is_ENOENT)
{
	EXPECT_EQ(-ENOENT, preempt_queue(self->fd, self->id));
	EXPECT_EQ(-ENOENT, switch_preempt(self->fd, 0, 0, self->id));
	EXPECT_TRUE(target_moves(&self->target));
}

TEST_F(operator, unknown_queue_of_the_target_is_ENOENT)
{
	struct kfd_ioctl_preempt_status_args status;

	EXPECT_EQ(-ENOENT, switch_preempt(self->fd, self->pid, 0, self->id + 1));
	EXPECT_EQ(-ENOENT, switch_resume(self->fd, self->pid, 0, self->id + 1));
	EXPECT_EQ(-ENOENT, preempt_status(self->fd, self->pid, self->id + 1, &status));
}

TEST_F(operator, same_file_twice_is_EALREADY_and_a_second_file_is_not)
{
	int second = kfd_open();

	ASSERT_LE(0, second);
	ASSERT_EQ(0, switch_preempt(self->fd, self->pid, 0, self->id));
	EXPECT_EQ(-EALREADY, switch_preempt(self->fd, self->pid, 0, self->id));
	EXPECT_EQ(-EALREADY, switch_resume(second, self->pid, 0, self->id));
	ASSERT_EQ(0, switch_preempt(second, self->pid, 0, self->id));

	/* The first one goes, the second still holds. */
	ASSERT_EQ(0, switch_resume(self->fd, self->pid, 0, self->id));
	EXPECT_EQ(-EALREADY, switch_resume(self->fd, self->pid, 0, self->id));
	EXPECT_TRUE(target_stands_still(&self->target, 100));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_OPERATOR);
	ASSERT_EQ(0, switch_resume(second, self->pid, 0, self->id));
	EXPECT_TRUE(target_moves(&self->target));
	EXPECT_TRUE(target_finish(&self->target));
	close(second);
}

TEST_F(operator, hold_ends_with_the_last_reference_to_its_file)
{
	int copy = dup(self->fd), other = kfd_open();

	ASSERT_LE(0, copy);
	ASSERT_LE(0, other);
	ASSERT_EQ(0, switch_preempt(self->fd, self->pid, 0, self->id));
	close(self->fd);
	EXPECT_TRUE(target_stands_still(&self->target, 200));
	close(copy);
	EXPECT_TRUE(target_moves(&self->target));
	self->fd = other;
	EXPECT_STATE(KFD_PREEMPT_STATE_RUNNING, 0);
	EXPECT_TRUE(target_finish(&self->target));
}

TEST_F(operator, hold_ends_when_the_operator_is_killed)
{
	pid_t pid = operator_start(&self->target, 1, 0);

	ASSERT_LT(0, pid);
	EXPECT_TRUE(target_stands_still(&self->target, 200));
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_TRUE(target_moves(&self->target));
	EXPECT_TRUE(target_finish(&self->target));
}

TEST_F(operator, sticky_hold_outlives_the_operator)
{
	pid_t pid = operator_start(&self->target, 1, STICKY);

	ASSERT_LT(0, pid);
	ASSERT_EQ(0, kill(pid, SIGKILL));
	ASSERT_EQ(pid, waitpid(pid, NULL, 0));
	EXPECT_TRUE(target_stands_still(&self->target, 500));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_STICKY);

	EXPECT_EQ(-EALREADY, switch_preempt(self->fd, self->pid, STICKY, self->id));
	/* Without STICKY it would be this file's record, and there is none. */
	EXPECT_EQ(-EALREADY, switch_resume(self->fd, self->pid, 0, self->id));
	ASSERT_EQ(0, switch_resume(self->fd, self->pid, STICKY, self->id));
	EXPECT_EQ(-EALREADY, switch_resume(self->fd, self->pid, STICKY, self->id));
	EXPECT_TRUE(target_moves(&self->target));
	EXPECT_TRUE(target_finish(&self->target));
}

TEST_F(operator, force_drops_every_operator_and_sticky)
{
	int second = kfd_open();

	ASSERT_LE(0, second);
	ASSERT_EQ(0, switch_preempt(self->fd, self->pid, 0, self->id));
	ASSERT_EQ(0, switch_preempt(second, self->pid, 0, self->id));
	ASSERT_EQ(0, switch_preempt(second, self->pid, STICKY, self->id));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_OPERATOR | KFD_PREEMPT_HOLD_STICKY);
	ASSERT_EQ(0, switch_resume(self->fd, self->pid, FORCE, self->id));
	EXPECT_STATE(KFD_PREEMPT_STATE_RUNNING, 0);
	EXPECT_TRUE(target_moves(&self->target));
	EXPECT_EQ(-EALREADY, switch_resume(second, self->pid, 0, self->id));
	EXPECT_EQ(-EALREADY, switch_resume(self->fd, self->pid, FORCE, self->id));
	EXPECT_TRUE(target_finish(&self->target));
	close(second);
}

TEST_F(operator, force_leaves_the_own_hold_of_the_target)
{
	ASSERT_EQ(0, target_order(&self->target, TARGET_PREEMPT));
	ASSERT_EQ(0, switch_preempt(self->fd, self->pid, 0, self->id));
	ASSERT_EQ(0, switch_resume(self->fd, self->pid, FORCE, self->id));
	EXPECT_TRUE(target_stands_still(&self->target, 100));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF);
	ASSERT_EQ(0, target_order(&self->target, TARGET_RESUME));
	EXPECT_TRUE(target_moves(&self->target));
	EXPECT_TRUE(target_finish(&self->target));
}

TEST_F(operator, own_resume_does_not_lift_an_operator_hold)
{
	ASSERT_EQ(0, switch_preempt(self->fd, self->pid, 0, self->id));
	EXPECT_EQ(-EALREADY, target_order(&self->target, TARGET_RESUME));
	ASSERT_EQ(0, target_order(&self->target, TARGET_PREEMPT));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_SELF | KFD_PREEMPT_HOLD_OPERATOR);
	ASSERT_EQ(0, target_order(&self->target, TARGET_RESUME));
	EXPECT_TRUE(target_stands_still(&self->target, 100));
	EXPECT_STATE(KFD_PREEMPT_STATE_HELD, KFD_PREEMPT_HOLD_OPERATOR);
	ASSERT_EQ(0, switch_resume(self->fd, self->pid, 0, self->id));
	EXPECT_TRUE(target_moves(&self->target));
	EXPECT_TRUE(target_finish(&self->target));
}

TEST_F(operator, target_may_destroy_its_queue_while_held)
{
	struct kfd_ioctl_preempt_status_args status;

	ASSERT_EQ(0, switch_preempt(self->fd, self->pid, 0, self->id));
	ASSERT_EQ(0, switch_preempt(self->fd, self->pid, STICKY, self->id));
	ASSERT_EQ(0, target_order(&self->target, TARGET_DESTROY));
	EXPECT_EQ(-ENOENT, preempt_status(self->fd, self->pid, self->id, &status));
	EXPECT_EQ(-ENOENT, switch_resume(self->fd, self->pid, 0, self->id));
}

TEST_F(operator, target_killed_while_held_leaves_nothing)
{
	struct kfd_ioctl_preempt_status_args status;
	struct target next = {};
	unsigned int ms;
	int ret = 0;

	ASSERT_EQ(0, switch_preempt(self->fd, self->pid, 0, self->id));
	target_kill(&self->target);
	for (ms = 0; ms < TARGET_TIMEOUT_MS && ret != -ESRCH; ms += 10) {
		sleep_us(10000);
		ret = preempt_status(self->fd, self->pid, self->id, &status);
	}
	EXPECT_EQ(-ESRCH, ret);
	EXPECT_EQ(-ESRCH, switch_resume(self->fd, self->pid, 0, self->id));

	/* The file that held it is still good for the next process. */
	ASSERT_EQ(0, target_start(&next));
	EXPECT_EQ(0, switch_preempt(self->fd, next.pid, 0, next.queue_id));
	EXPECT_TRUE(target_stands_still(&next, 100));
	EXPECT_EQ(0, switch_resume(self->fd, next.pid, 0, next.queue_id));
	EXPECT_TRUE(target_finish(&next));
}

TEST_F(operator, pid_of_oneself_is_oneself)
{
	struct kfd_ioctl_preempt_status_args status;
	struct kfd_device dev;
	struct aql_queue queue;
	pid_t pid = getpid();

	ASSERT_EQ(0, kfd_device_open(&dev));
	ASSERT_EQ(0, aql_queue_create(&dev, &queue));
	ASSERT_EQ(0, switch_preempt(dev.kfd_fd, pid, 0, queue.id));
	ASSERT_EQ(0, preempt_status(dev.kfd_fd, 0, queue.id, &status));
	EXPECT_EQ(KFD_PREEMPT_HOLD_SELF, status.holds);
	EXPECT_EQ(-EINVAL, switch_preempt(dev.kfd_fd, pid, STICKY, queue.id));
	EXPECT_EQ(0, resume_queue(dev.kfd_fd, queue.id));
	EXPECT_EQ(0, aql_queue_destroy(&queue));
	kfd_device_close(&dev);
}

TEST_F(operator, wrong_uid_is_ESTALE_and_stops_nothing)
{
	struct kfd_ioctl_preempt_status_args status;
	struct kfd_preempt_switch_entry entry = {
		.queue_id = self->id,
		.op = KFD_PREEMPT_OP_PREEMPT,
		.preempt_type = KFD_PREEMPT_TYPE_SAVE,
	};

	ASSERT_EQ(0, preempt_status(self->fd, self->pid, self->id, &status));
	entry.queue_uid = status.queue_uid + 1;
	ASSERT_EQ(0, preempt_switch(self->fd, self->pid, KFD_PREEMPT_SWITCH_MATCH_UID, &entry, 1));
	EXPECT_EQ(-ESTALE, entry.result);
	EXPECT_TRUE(target_moves(&self->target));
	entry.queue_uid = status.queue_uid;
	ASSERT_EQ(0, preempt_switch(self->fd, self->pid, KFD_PREEMPT_SWITCH_MATCH_UID, &entry, 1));
	EXPECT_EQ(0, entry.result);
	EXPECT_EQ(0, switch_resume(self->fd, self->pid, 0, self->id));
}

TEST_F(operator, may_not_reset_another_process)
{
	struct kfd_preempt_switch_entry entry = {
		.queue_id = self->id,
		.op = KFD_PREEMPT_OP_PREEMPT,
		.preempt_type = KFD_PREEMPT_TYPE_RESET,
	};

	ASSERT_EQ(0, preempt_switch(self->fd, self->pid, 0, &entry, 1));
	EXPECT_EQ(-EPERM, entry.result);
	EXPECT_TRUE(target_moves(&self->target));
	EXPECT_TRUE(target_finish(&self->target));
}

static int drop_ptrace_capability(void)
{
	struct __user_cap_header_struct header = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2];

	if (syscall(SYS_capget, &header, data))
		return -1;
	data[0].effective &= ~(1u << CAP_SYS_PTRACE);
	data[0].permitted &= ~(1u << CAP_SYS_PTRACE);
	return (int)syscall(SYS_capset, &header, data);
}

static int become_nobody(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY))
		return -1;
	return setresuid(NOBODY, NOBODY, NOBODY);
}

/*
 * Opens its own file with all rights, gives them up, and tries every way to
 * touch the target: the number of the first that isn't refused, or 0.
 */
static int try_without_right(const struct target *target, int (*give_up)(void))
{
	struct kfd_ioctl_preempt_status_args status;
	int wstatus, fd;
	pid_t pid = fork();

	if (!pid) {
		fd = kfd_open();
		if (fd < 0 || give_up())
			_exit(100);
		if (switch_preempt(fd, target->pid, 0, target->queue_id) != -EPERM)
			_exit(1);
		if (switch_preempt(fd, target->pid, STICKY, target->queue_id) != -EPERM)
			_exit(2);
		if (switch_resume(fd, target->pid, 0, target->queue_id) != -EPERM)
			_exit(3);
		if (switch_resume(fd, target->pid, STICKY, target->queue_id) != -EPERM)
			_exit(4);
		if (switch_resume(fd, target->pid, FORCE, target->queue_id) != -EPERM)
			_exit(5);
		if (preempt_status(fd, target->pid, target->queue_id, &status) != -EPERM)
			_exit(6);
		/* An unknown queue must not be told from a known one. */
		if (switch_preempt(fd, target->pid, 0, target->queue_id + 1) != -EPERM)
			_exit(7);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, &wstatus, 0) != pid || !WIFEXITED(wstatus))
		return 101;
	return WEXITSTATUS(wstatus);
}

TEST_F(operator, another_user_is_EPERM)
{
	EXPECT_EQ(0, try_without_right(&self->target, become_nobody));
	EXPECT_TRUE(target_moves(&self->target));
	/* nor may it end a hold of an operator who had the right */
	ASSERT_EQ(0, switch_preempt(self->fd, self->pid, STICKY, self->id));
	EXPECT_EQ(0, try_without_right(&self->target, become_nobody));
	EXPECT_TRUE(target_stands_still(&self->target, 100));
	ASSERT_EQ(0, switch_resume(self->fd, self->pid, STICKY, self->id));
	EXPECT_TRUE(target_finish(&self->target));
}

TEST_F(operator, root_without_CAP_SYS_PTRACE_is_EPERM)
{
	EXPECT_EQ(0, try_without_right(&self->target, drop_ptrace_capability));
	EXPECT_TRUE(target_moves(&self->target));
	EXPECT_TRUE(target_finish(&self->target));
}

TEST_HARNESS_MAIN
