// SPDX-License-Identifier: GPL-2.0-only
/*
 * A process that KFD is still creating, in an open() of /dev/kfd that may fail: no call finds it
 * before that. Needs root and kfd_probes.ko.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kfd_device.h"
#include "kselftest_harness.h"
#include "preempt.h"
#include "probes.h"
#include "wait.h"
#include "watch.h"

#define PROBE "hold_open"
#define LONG_MS 30000u

/* As the probe says it. */
enum { FOR_THE_NEXT = 1, WAITS = 2, SIGNALLED = 3 };

/* Shared with the process that opens /dev/kfd, twice. */
struct opener_shared {
	int32_t first;		/* result of open(): 0 or a negative errno */
	int32_t second;
	uint32_t done;		/* calls that have returned */
};

FIXTURE(process)
{
	struct opener_shared *shared;
	pid_t opener;
	int fd;
	int watch;
};

static void ignore(int signal)
{
	(void)signal;
}

static int32_t open_kfd(void)
{
	return open("/dev/kfd", O_RDWR | O_CLOEXEC) < 0 ? -errno : 0;
}

static void open_twice(struct opener_shared *shared)
{
	struct sigaction action = { .sa_handler = ignore };	/* no SA_RESTART */

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sigaction(SIGUSR1, &action, NULL);
	shared->first = open_kfd();
	__atomic_store_n(&shared->done, 1, __ATOMIC_RELEASE);
	shared->second = open_kfd();
	__atomic_store_n(&shared->done, 2, __ATOMIC_RELEASE);
	for (;;)
		pause();
}

FIXTURE_SETUP(process)
{
	ASSERT_EQ(0, probes_load());
	self->fd = kfd_open();
	ASSERT_LE(0, self->fd);
	self->watch = watch_open(self->fd);
	ASSERT_LE(0, self->watch);
	self->shared = mmap(NULL, sizeof(*self->shared), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->shared);
	ASSERT_EQ(0, probes_set(PROBE, FOR_THE_NEXT));
	self->opener = fork();
	ASSERT_LE(0, self->opener);
	if (!self->opener)
		open_twice(self->shared);
}

FIXTURE_TEARDOWN(process)
{
	kill(self->opener, SIGKILL);
	waitpid(self->opener, NULL, 0);
	close(self->watch);
	close(self->fd);
	probes_unload();
}

static bool opener_waits(const void *arg)
{
	(void)arg;
	return probes_get(PROBE) == WAITS;
}

static bool first_is_done(const void *arg)
{
	const FIXTURE_DATA(process) *self = arg;

	return __atomic_load_n(&self->shared->done, __ATOMIC_ACQUIRE) >= 1;
}

static bool second_is_done(const void *arg)
{
	const FIXTURE_DATA(process) *self = arg;

	return __atomic_load_n(&self->shared->done, __ATOMIC_ACQUIRE) >= 2;
}

static int status_of(const FIXTURE_DATA(process) *self)
{
	struct kfd_ioctl_preempt_status_args args = {
		.flags = KFD_PREEMPT_SWITCH_TARGET_PID,
		.target_pid = self->opener,
	};

	return kfd_ioctl(self->fd, AMDKFD_IOC_PREEMPT_STATUS, &args);
}

/* Ends with the first call that finds the process: whatever uses it later would hang in freed memory. */
TEST_F_TIMEOUT(process, process_whose_creation_may_fail_is_not_found, 120)
{
	ASSERT_TRUE(wait_until(opener_waits, NULL, LONG_MS));
	ASSERT_EQ(-ESRCH, switch_preempt(self->fd, self->opener, 0, 0));
	ASSERT_EQ(-ESRCH, status_of(self));
	ASSERT_EQ(-ESRCH, watch_add(self->watch, self->opener, 1));
	ASSERT_EQ(0, kill(self->opener, SIGUSR1));
	ASSERT_TRUE(wait_until(first_is_done, self, LONG_MS));
	EXPECT_EQ(-EINTR, self->shared->first);
	EXPECT_EQ(SIGNALLED, probes_get(PROBE));
	ASSERT_TRUE(wait_until(second_is_done, self, LONG_MS));
	ASSERT_EQ(0, self->shared->second);
	EXPECT_LT(0, watch_add(self->watch, self->opener, 2));
	EXPECT_EQ(-ENOENT, status_of(self));
}

TEST_HARNESS_MAIN
