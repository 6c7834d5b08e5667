// SPDX-License-Identifier: GPL-2.0-only
/* operator_mode=2: whoever was given a file of a process may stop its queues. */
#include <grp.h>

#include "kselftest_harness.h"
#include "target.h"

#define NOBODY 65534

/* Results of calls by pid and by file, for a user without rights. */
struct answers {
	int by_pid;
	int by_fd;
	int resume_by_fd;
	int status_by_fd;
};

static void try_as_nobody(const struct target *target, int target_fd, struct answers *answers)
{
	struct kfd_ioctl_preempt_status_args status = {
		.queue_id = target->queue_id,
		.target_fd = target_fd,
		.flags = KFD_PREEMPT_SWITCH_TARGET_FD,
	};
	int fd = kfd_open();

	if (fd < 0 || setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
	answers->by_pid = switch_preempt(fd, target->pid, 0, target->queue_id);
	answers->by_fd = switch_queue_by_fd(fd, target_fd, target->queue_id, KFD_PREEMPT_OP_PREEMPT);
	answers->status_by_fd = kfd_ioctl(fd, AMDKFD_IOC_PREEMPT_STATUS, &status);
	answers->resume_by_fd = switch_queue_by_fd(fd, target_fd, target->queue_id,
					   KFD_PREEMPT_OP_RESUME);
	_exit(0);
}

TEST(file_of_the_target_gives_the_right_and_its_pid_does_not)
{
	struct answers *answers = mmap(NULL, sizeof(*answers), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct target target = {};
	int target_fd, status;
	pid_t child;

	ASSERT_NE(MAP_FAILED, answers);
	ASSERT_EQ(0, target_start(&target));
	target_fd = target_file(&target);
	ASSERT_LE(0, target_fd);
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		try_as_nobody(&target, target_fd, answers);
	ASSERT_EQ(child, waitpid(child, &status, 0));
	ASSERT_EQ(0, status);
	EXPECT_EQ(-EPERM, answers->by_pid);
	EXPECT_EQ(0, answers->by_fd);
	EXPECT_EQ(0, answers->status_by_fd);
	EXPECT_EQ(0, answers->resume_by_fd);
	EXPECT_TRUE(target_moves(&target));
	EXPECT_TRUE(target_finish(&target));
}

TEST_HARNESS_MAIN
