// SPDX-License-Identifier: GPL-2.0-only
/* The bound of operator records, and what records cost other files of /dev/kfd. Needs root. */
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "many_queues.h"
#include "sched_mode.h"
#include "text_file.h"
#include "verify.h"

/* Files that may hold a queue at one time. */
#define RECORDS_MAX 64u
#define LONG_MS 60000u

FIXTURE(records)
{
	struct many_queues many;
	struct target *target;
	uint32_t id;
	int fd[RECORDS_MAX + 1];
	bool verified;
};

/* Without firmware scheduling the GPU has fewer slots. */
FIXTURE_SETUP(records)
{
	unsigned int i;

	/* Thousands of holds would each look at the hardware. */
	self->verified = verify_turn(false);
	for (i = 0; i <= RECORDS_MAX; i++) {
		self->fd[i] = kfd_open();
		ASSERT_LE(0, self->fd[i]);
	}
	ASSERT_EQ(0, many_queues_start(&self->many,
				       driver_has_no_hws(self->fd[0]) ? 16 : MANY_QUEUES_MAX,
				       aql_queue_create_off));
	self->target = &self->many.target;
	self->id = self->target->queue_id;
}

FIXTURE_TEARDOWN(records)
{
	target_kill(&self->many.target);
	verify_turn(self->verified);
}

static int preempt(const FIXTURE_DATA(records) *self, unsigned int file)
{
	return switch_preempt(self->fd[file], self->target->pid, 0, self->id);
}

static int resume(const FIXTURE_DATA(records) *self, unsigned int file)
{
	return switch_resume(self->fd[file], self->target->pid, 0, self->id);
}

TEST_F_TIMEOUT(records, file_65_that_holds_a_queue_is_ENOMEM_and_changes_nothing, 180)
{
	struct kfd_ioctl_preempt_status_args before, after;
	unsigned int i;

	for (i = 0; i < RECORDS_MAX; i++)
		ASSERT_EQ(0, preempt(self, i));
	ASSERT_EQ(0, preempt_status(self->fd[0], self->target->pid, self->id, &before));
	EXPECT_EQ(-ENOMEM, preempt(self, RECORDS_MAX));
	ASSERT_EQ(0, preempt_status(self->fd[0], self->target->pid, self->id, &after));
	EXPECT_EQ(before.holds, after.holds);
	EXPECT_EQ(before.preempts, after.preempts);
	EXPECT_EQ(before.failures, after.failures);
	EXPECT_EQ(-EALREADY, resume(self, RECORDS_MAX));
	EXPECT_EQ(-EALREADY, preempt(self, 0));

	/* Another queue has records of its own, and one that is dropped makes room. */
	EXPECT_EQ(0, switch_preempt(self->fd[RECORDS_MAX], self->target->pid, 0,
				    self->many.shared->id[0]));
	ASSERT_EQ(0, resume(self, 0));
	EXPECT_EQ(0, preempt(self, RECORDS_MAX));

	for (i = 1; i <= RECORDS_MAX; i++)
		EXPECT_EQ(0, resume(self, i));
	EXPECT_TRUE(target_moves(self->target));
	EXPECT_TRUE(target_finish(self->target));
}

#define CLOSES 300u

/* The shortest of many: a busy machine lengthens all but a few. */
static uint64_t shortest_close(void)
{
	uint64_t shortest = UINT64_MAX, begin, took;
	unsigned int i;
	int fd;

	for (i = 0; i < CLOSES; i++) {
		fd = kfd_open();
		if (fd < 0)
			return 0;
		begin = now_ns();
		close(fd);
		took = now_ns() - begin;
		if (took < shortest)
			shortest = took;
	}
	return shortest;
}

TEST_F_TIMEOUT(records, close_of_a_file_takes_no_longer_with_records_of_others, 300)
{
	uint64_t without, with;
	unsigned int i;

	without = shortest_close();
	ASSERT_LT(0, without);
	for (i = 0; i < RECORDS_MAX; i++)
		ASSERT_EQ((int)self->many.num,
			  many_queues_order(&self->many, self->fd[i], KFD_PREEMPT_OP_PREEMPT));
	with = shortest_close();
	ASSERT_LT(0, with);
	printf("# close takes %llu ns, with %u records elsewhere %llu ns\n",
	       (unsigned long long)without, self->many.num * RECORDS_MAX,
	       (unsigned long long)with);
	EXPECT_GT(5 * without, with);
}

/* Holds all queues through as many files as can, says so, and waits to be killed. */
static void hold_until_killed(FIXTURE_DATA(records) *self, int report)
{
	unsigned int i;
	int held = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 0; i < RECORDS_MAX; i++)
		held += many_queues_order(&self->many, kfd_open(), KFD_PREEMPT_OP_PREEMPT);
	if (write(report, &held, sizeof(held)) != sizeof(held))
		_exit(1);
	for (;;)
		pause();
}

static bool nothing_is_held(const void *arg)
{
	const FIXTURE_DATA(records) *self = arg;
	struct kfd_ioctl_preempt_status_args status;
	uint32_t i;

	for (i = 0; i < self->many.num; i++)
		if (preempt_status(self->fd[0], self->target->pid, self->many.shared->id[i],
				   &status) || status.holds)
			return false;
	return true;
}

TEST_F_TIMEOUT(records, end_of_an_operator_with_many_records_releases_all_queues, 300)
{
	int report[2], held = 0;
	uint64_t begin;
	pid_t operator;

	ASSERT_EQ(0, pipe(report));
	operator = fork();
	ASSERT_LE(0, operator);
	if (!operator)
		hold_until_killed(self, report[1]);
	ASSERT_EQ((ssize_t)sizeof(held), read(report[0], &held, sizeof(held)));
	EXPECT_EQ((int)(self->many.num * RECORDS_MAX), held);
	begin = now_ns();
	child_kill(&operator);
	EXPECT_TRUE(wait_until(nothing_is_held, self, LONG_MS));
	printf("# %d records: all queues are released after %llu ms\n", held,
	       (unsigned long long)(now_ns() - begin) / 1000000);
	EXPECT_TRUE(target_finish(self->target));
	close(report[0]);
	close(report[1]);
}

#define CGROUPS "/tmp/records_test"
#define CGROUP CGROUPS "/operator"

static bool enter_cgroup(void)
{
	mkdir(CGROUPS, 0700);
	return !mount("none", CGROUPS, "cgroup2", 0, NULL) &&
	       !text_file_write(CGROUPS "/cgroup.subtree_control", "+memory") &&
	       !mkdir(CGROUP, 0700) && !text_file_write(CGROUP "/cgroup.procs", "0");
}

/* Bytes of kernel objects that the cgroup is charged for, or -1. */
static long long charged_bytes(void)
{
	FILE *file = fopen(CGROUP "/memory.stat", "re");
	long long bytes = -1;
	char line[128];

	if (!file)
		return -1;
	while (bytes < 0 && fgets(line, sizeof(line), file))
		if (sscanf(line, "slab_unreclaimable %lld", &bytes) != 1)
			bytes = -1;
	fclose(file);
	return bytes;
}

struct charge {
	long long want, before, after;
};

static void hold_in_cgroup(FIXTURE_DATA(records) *self, struct charge *charge)
{
	int fd[RECORDS_MAX];
	unsigned int i;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!enter_cgroup())
		_exit(1);
	for (i = 0; i < RECORDS_MAX; i++)
		fd[i] = kfd_open();
	charge->before = charged_bytes();
	for (i = 0; i < RECORDS_MAX; i++)
		if (many_queues_order(&self->many, fd[i], KFD_PREEMPT_OP_PREEMPT) !=
		    (int)self->many.num)
			_exit(2);
	/* The kernel brings the file up to date every two seconds. */
	for (i = 0; i < 100 && charge->after - charge->before < charge->want; i++) {
		sleep_us(100000);
		charge->after = charged_bytes();
	}
	_exit(0);
}

static bool leave_cgroup(void)
{
	return !rmdir(CGROUP) && !umount(CGROUPS) && !rmdir(CGROUPS);
}

TEST_F_TIMEOUT(records, memory_of_records_is_charged_to_the_operator, 300)
{
	struct charge *charge = mmap(NULL, sizeof(*charge), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t operator;
	int status;

	ASSERT_NE(MAP_FAILED, charge);
	/* Less than the size of a record, to allow for another layout. */
	charge->want = self->many.num * RECORDS_MAX * 32;
	operator = fork();
	ASSERT_LE(0, operator);
	if (!operator)
		hold_in_cgroup(self, charge);
	ASSERT_EQ(operator, waitpid(operator, &status, 0));
	ASSERT_EQ(0, status);
	ASSERT_LE(0, charge->before);
	EXPECT_LE(charge->want, charge->after - charge->before);
	EXPECT_TRUE(leave_cgroup());
}

TEST_HARNESS_MAIN
