// SPDX-License-Identifier: GPL-2.0-only
/*
 * Queues and processes that end while KFD is stopped for the reset of a GPU. Needs root, two CPUs,
 * debugfs, and kfd_probes.ko.
 */
#include <dirent.h>
#include <sys/wait.h>

#include "held_reset.h"
#include "jobs.h"
#include "kselftest_harness.h"
#include "probes.h"
#include "wait.h"

#define LONG_MS 30000u

/* A process with two busy queues. */
struct owner {
	pid_t pid;
	int orders, answers;	/* pipes, of a byte each */
};

static void owner_run(int orders, int answers)
{
	struct aql_queue queue[2];
	struct job job[2];
	struct kfd_device dev;
	unsigned int i;
	char order;

	if (kfd_device_open(&dev))
		_exit(1);
	for (i = 0; i < 2; i++)
		if (busy_queue_create(&dev, &queue[i], &job[i], 2, LONG_MS))
			_exit(2);
	if (write(answers, "r", 1) != 1)
		_exit(3);
	/* Memory stays mapped: unmapping it waits for the end of a reset. */
	while (read(orders, &order, 1) == 1)
		if (aql_queue_destroy_idle(&queue[1]) || write(answers, "d", 1) != 1)
			_exit(4);
	_exit(0);
}

static bool owner_start(struct owner *owner)
{
	int orders[2], answers[2];
	char ready;

	if (pipe(orders) || pipe(answers))
		return false;
	owner->pid = fork();
	if (!owner->pid) {
		close(orders[1]);
		owner_run(orders[0], answers[1]);
	}
	close(orders[0]);
	close(answers[1]);
	owner->orders = orders[1];
	owner->answers = answers[0];
	return owner->pid > 0 && read(owner->answers, &ready, 1) == 1;
}

static bool owner_destroys(const struct owner *owner)
{
	char done;

	return write(owner->orders, "d", 1) == 1 && read(owner->answers, &done, 1) == 1;
}

/* Returns false if the directory of a process in sysfs is empty or removed. */
static bool has_entries(pid_t pid, const char *directory)
{
	char path[64];
	DIR *entries;
	unsigned int num = 0;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/%s", pid, directory);
	entries = opendir(path);
	if (!entries)
		return false;
	while (readdir(entries))
		num++;
	closedir(entries);
	return num > 2;
}

static bool has_no_queues(const void *owner)
{
	return !has_entries(((const struct owner *)owner)->pid, "queues");
}

static bool left_kfd(const void *owner)
{
	return !has_entries(((const struct owner *)owner)->pid, "");
}

/* True when it exits without an error. */
static bool owner_exits(const struct owner *owner)
{
	int status;

	close(owner->orders);
	close(owner->answers);
	return waitpid(owner->pid, &status, 0) == owner->pid && WIFEXITED(status) &&
	       !WEXITSTATUS(status);
}

FIXTURE(stopped)
{
	struct owner owner;
	struct held_reset reset;
};

FIXTURE_SETUP(stopped)
{
	ASSERT_EQ(0, probes_load());
	ASSERT_TRUE(owner_start(&self->owner));
	ASSERT_EQ(0, held_reset_begin(&self->reset, "hold_stopped"));
}

/* The reset must still wait: all earlier steps of the test came before its end. */
static void end_reset(struct __test_metadata *_metadata, FIXTURE_DATA(stopped) *self)
{
	EXPECT_TRUE(held_reset_waits(&self->reset));
	ASSERT_EQ(0, held_reset_end(&self->reset));
}

FIXTURE_TEARDOWN(stopped)
{
	struct owner next;

	/* The next process finds a GPU that works. */
	EXPECT_TRUE(owner_start(&next));
	EXPECT_TRUE(owner_destroys(&next));
	EXPECT_TRUE(owner_exits(&next));
	probes_unload();
}

TEST_F_TIMEOUT(stopped, a_queue_is_destroyed_and_its_process_ends_after_the_reset, 120)
{
	EXPECT_TRUE(owner_destroys(&self->owner));
	end_reset(_metadata, self);
	EXPECT_TRUE(owner_exits(&self->owner));
	EXPECT_TRUE(wait_until(left_kfd, &self->owner, LONG_MS));
}

TEST_F_TIMEOUT(stopped, a_process_ends, 120)
{
	EXPECT_TRUE(owner_exits(&self->owner));
	EXPECT_TRUE(wait_until(has_no_queues, &self->owner, LONG_MS));
	end_reset(_metadata, self);
	EXPECT_TRUE(wait_until(left_kfd, &self->owner, LONG_MS));
}

TEST_HARNESS_MAIN
