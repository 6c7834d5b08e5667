// SPDX-License-Identifier: GPL-2.0-only
/* operator_mode=3: a process of the same user may be stopped, as it may be killed. Needs root. */
#include "kselftest_harness.h"
#include "target.h"
#include "users.h"

/* Exits with 0, or with the number of the step that went wrong. */
static int run(void (*body)(void))
{
	pid_t child = fork();
	int status;

	if (!child) {
		body();
		_exit(0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define STEP(number, condition) \
	do { \
		if (!(condition)) \
			_exit(number); \
	} while (0)

static void stop_a_process_of_ones_own(void)
{
	int may = operator_mode() == 3 ? 0 : -EPERM, fd;
	struct target target = {};

	STEP(1, become_user());
	STEP(2, !target_start(&target));
	fd = kfd_open();
	STEP(3, fd >= 0);
	STEP(4, switch_preempt(fd, target.pid, 0, target.queue_id) == may);
	STEP(5, may || target_stands_still(&target, 50));
	STEP(6, switch_resume(fd, target.pid, 0, target.queue_id) == may);
	STEP(7, target_moves(&target));
	STEP(8, target_finish(&target));
}

TEST(process_of_the_same_user_may_be_stopped_in_mode_3_only)
{
	ASSERT_LE(0, operator_mode());
	EXPECT_EQ(0, run(stop_a_process_of_ones_own));
}

static struct target roots;

static void stop_a_process_of_root(void)
{
	int fd;

	STEP(1, become_user());
	fd = kfd_open();
	STEP(2, fd >= 0);
	STEP(3, switch_preempt(fd, roots.pid, 0, roots.queue_id) == -EPERM);
	STEP(4, switch_resume(fd, roots.pid, 0, roots.queue_id) == -EPERM);
}

TEST(process_of_another_user_may_not)
{
	ASSERT_EQ(0, target_start(&roots));
	EXPECT_EQ(0, run(stop_a_process_of_root));
	EXPECT_TRUE(target_moves(&roots));
	EXPECT_TRUE(target_finish(&roots));
}

TEST_HARNESS_MAIN
