// SPDX-License-Identifier: GPL-2.0-only
/* How many targets a process and a watch can have. Needs root, for targets that are other processes. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "kselftest_harness.h"
#include "users.h"
#include "watch_fixture.h"

#define MAX_WATCHES 64u	/* of one process */
#define MAX_OWN 48u	/* of these, by tenants and by itself */

/* A process isn't slowed down by any number of watches on it. */
TEST_F(watch, watches_of_one_process_are_bounded)
{
	int other[MAX_OWN + 1], fd;
	unsigned int i;

	for (i = 1; i < MAX_OWN; i++) {
		other[i] = watch_open(self->dev.kfd_fd);
		ASSERT_LT(0, watch_add(other[i], getpid(), i));
	}
	fd = watch_open(self->dev.kfd_fd);
	EXPECT_EQ(-ENOMEM, watch_add(fd, getpid(), 0));
	close(other[1]);
	EXPECT_LT(0, watch_add(fd, getpid(), 0));
	for (i = 2; i < MAX_OWN; i++)
		close(other[i]);
	close(fd);
}

/* As many as it can, without any permission, then reports how many. */
static void watch_itself(int report)
{
	int32_t added = 0;
	int fd;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = become_user() ? kfd_open() : -1;
	if (fd >= 0)
		fd = watch_open(fd);
	while (added <= (int32_t)MAX_WATCHES && watch_add(fd, getpid(), 0) > 0)
		added++;
	if (write(report, &added, sizeof(added)) != sizeof(added))
		_exit(1);
	for (;;)
		pause();
}

/* The host must be able to watch every process. */
TEST_F(watch, process_that_watches_itself_leaves_room_for_the_host)
{
	int32_t added = 0;
	int report[2];
	pid_t child;

	ASSERT_EQ(0, pipe(report));
	child = fork();
	ASSERT_LE(0, child);
	if (!child)
		watch_itself(report[1]);
	ASSERT_EQ(sizeof(added), read(report[0], &added, sizeof(added)));
	EXPECT_LT(0, added);
	EXPECT_LT(0, watch_add(self->fd, child, 0));
	kill(child, SIGKILL);
	EXPECT_EQ(child, waitpid(child, NULL, 0));
	close(report[0]);
	close(report[1]);
}

static void idle_with_kfd(int ready)
{
	char byte = 0;
	int fd = kfd_open();

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fd < 0 || write(ready, &byte, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/* A file cannot take all memory of the kernel. */
TEST_F_TIMEOUT(watch, targets_of_one_watch_are_bounded, 120)
{
	const unsigned int processes = KFD_PREEMPT_MAX_TARGETS / MAX_WATCHES;
	int fd = watch_open(self->dev.kfd_fd), ready[2], last = 0;
	pid_t pid[processes + 1];
	unsigned int i, j;
	char byte;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, pipe(ready));
	for (i = 0; i <= processes; i++) {
		pid[i] = fork();
		ASSERT_LE(0, pid[i]);
		if (!pid[i])
			idle_with_kfd(ready[1]);
		ASSERT_EQ(1, read(ready[0], &byte, 1));
	}
	for (i = 0; i < processes; i++)
		for (j = 0; j < MAX_WATCHES; j++) {
			last = watch_add(fd, pid[i], j);
			ASSERT_LT(0, last) {
				TH_LOG("target %u", i * MAX_WATCHES + j);
			}
		}
	EXPECT_EQ(-ENOMEM, watch_add(fd, pid[processes], 0));
	/* A removed target makes room for one. */
	EXPECT_EQ(0, watch_remove(fd, (uint32_t)last));
	EXPECT_LT(0, watch_add(fd, pid[processes], 0));
	EXPECT_EQ(-ENOMEM, watch_add(fd, pid[processes], 0));
	close(fd);
	close(ready[0]);
	close(ready[1]);
	for (i = 0; i <= processes; i++) {
		kill(pid[i], SIGKILL);
		EXPECT_EQ(pid[i], waitpid(pid[i], NULL, 0));
	}
}

TEST_HARNESS_MAIN
