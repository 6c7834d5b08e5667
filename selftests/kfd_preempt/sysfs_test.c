// SPDX-License-Identifier: GPL-2.0-only
/* The files of a queue in sysfs: what they say, to whom, and for how long. Needs root. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kselftest_harness.h"
#include "queue_file.h"
#include "sched_mode.h"
#include "target.h"

#define LONG_MS 30000u
#define NOBODY 65534

/* Returns the text that was read, or the name of the error. */
static const char *text_or_error(const char *text, int ret)
{
	return ret ? strerrorname_np(-ret) : text;
}

static const char *read_fd(int fd)
{
	static char text[QUEUE_FILE_BYTES];

	return text_or_error(text, queue_file_read_fd(fd, text));
}

static const char *read_file(pid_t pid, uint32_t queue_id, const char *name)
{
	static char text[QUEUE_FILE_BYTES];

	return text_or_error(text, queue_file_read(pid, queue_id, name, text));
}

FIXTURE(sysfs)
{
	struct kfd_device dev;
	struct aql_queue queue;
	struct job job;
	int fd;
	uint32_t id;
};

FIXTURE_SETUP(sysfs)
{
	ASSERT_EQ(0, kfd_device_open(&self->dev));
	self->fd = self->dev.kfd_fd;
	ASSERT_EQ(0, busy_queue_create(&self->dev, &self->queue, &self->job, 2, LONG_MS));
	self->id = self->queue.id;
}

FIXTURE_TEARDOWN(sysfs)
{
	if (self->queue.ring.addr)
		EXPECT_EQ(0, aql_queue_destroy(&self->queue));
	kfd_device_close(&self->dev);
}

#define FILE_OF_QUEUE(name) read_file(getpid(), self->id, name)
#define NUMBER_OF_QUEUE(name) strtoull(FILE_OF_QUEUE(name), NULL, 10)

TEST_F(sysfs, files_are_read_only_and_times_are_for_root)
{
	struct stat stat_buf;
	unsigned int i;
	int fd;

	for (i = 0; i < NUM_QUEUE_FILES; i++) {
		fd = queue_file_open(getpid(), self->id, queue_files[i].name, O_RDONLY);
		ASSERT_LE(0, fd) {
			TH_LOG("%s: %s", queue_files[i].name, strerror(-fd));
		}
		ASSERT_EQ(0, fstat(fd, &stat_buf));
		close(fd);
		EXPECT_EQ(queue_files[i].mode, stat_buf.st_mode & 0777);
		EXPECT_EQ(0, stat_buf.st_uid);
		/* Not even root, who passes over the mode. */
		EXPECT_EQ(-EACCES, queue_file_open(getpid(), self->id, queue_files[i].name, O_WRONLY));
	}
}

static int count_readable(pid_t pid, uint32_t queue_id)
{
	unsigned int i;
	int fd, readable = 0;

	for (i = 0; i < NUM_QUEUE_FILES; i++) {
		fd = queue_file_open(pid, queue_id, queue_files[i].name, O_RDONLY);
		if (fd >= 0)
			readable++;
		else if (fd != -EACCES || queue_files[i].mode != 0400)
			return -1;
		close(fd);
	}
	return readable;
}

TEST_F(sysfs, another_user_reads_the_state_and_no_times)
{
	pid_t child = fork(), parent;
	int status;

	ASSERT_LE(0, child);
	if (!child) {
		parent = getppid();
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(1);
		_exit(count_readable(parent, self->id) == 4 ? 0 : 2);
	}
	ASSERT_EQ(child, waitpid(child, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(sysfs, they_follow_a_stop_and_a_start)
{
	struct kfd_ioctl_preempt_status_args status;
	uint64_t held, later;

	EXPECT_STREQ("running", FILE_OF_QUEUE("preempt_state"));
	EXPECT_STREQ("0x0", FILE_OF_QUEUE("preempt_holds"));
	EXPECT_STREQ("0", FILE_OF_QUEUE("preempt_count"));
	EXPECT_STREQ("0", FILE_OF_QUEUE("preempt_latency_ns"));
	EXPECT_STREQ("0", FILE_OF_QUEUE("preempt_held_ns"));

	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_STREQ("held", FILE_OF_QUEUE("preempt_state"));
	EXPECT_STREQ("0x1", FILE_OF_QUEUE("preempt_holds"));
	EXPECT_STREQ("1", FILE_OF_QUEUE("preempt_count"));
	EXPECT_STREQ("0", FILE_OF_QUEUE("preempt_failures"));
	EXPECT_EQ(status.last_preempt_ns, NUMBER_OF_QUEUE("preempt_latency_ns"));
	held = NUMBER_OF_QUEUE("preempt_held_ns");
	EXPECT_LE(status.held_ns, held);
	sleep_us(20000);
	later = NUMBER_OF_QUEUE("preempt_held_ns");
	EXPECT_LE(held + 20000000, later);

	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	ASSERT_EQ(0, preempt_status(self->fd, 0, self->id, &status));
	EXPECT_STREQ("running", FILE_OF_QUEUE("preempt_state"));
	EXPECT_STREQ("0x0", FILE_OF_QUEUE("preempt_holds"));
	EXPECT_STREQ("1", FILE_OF_QUEUE("preempt_count"));
	EXPECT_EQ(status.held_ns, NUMBER_OF_QUEUE("preempt_held_ns"));
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

TEST_F(sysfs, state_of_a_queue_of_0_percent_is_inactive)
{
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue, 0));
	EXPECT_STREQ("inactive", FILE_OF_QUEUE("preempt_state"));
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	EXPECT_STREQ("held", FILE_OF_QUEUE("preempt_state"));
	ASSERT_EQ(0, resume_queue(self->fd, self->id));
	ASSERT_EQ(0, aql_queue_set_percentage(&self->queue, 100));
	EXPECT_STREQ("running", FILE_OF_QUEUE("preempt_state"));
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

TEST_F(sysfs, holds_of_an_operator_are_told)
{
	struct target target = {};

	ASSERT_EQ(0, target_start(&target));
	ASSERT_EQ(0, switch_preempt(self->fd, target.pid, 0, target.queue_id));
	EXPECT_STREQ("0x2", read_file(target.pid, target.queue_id, "preempt_holds"));
	ASSERT_EQ(0, switch_preempt(self->fd, target.pid, KFD_PREEMPT_SWITCH_STICKY,
				    target.queue_id));
	EXPECT_STREQ("0x6", read_file(target.pid, target.queue_id, "preempt_holds"));
	/* One stop, whoever else wants the queue stopped afterwards. */
	EXPECT_STREQ("1", read_file(target.pid, target.queue_id, "preempt_count"));
	ASSERT_EQ(0, switch_resume(self->fd, target.pid, KFD_PREEMPT_SWITCH_FORCE,
				   target.queue_id));
	EXPECT_STREQ("0x0", read_file(target.pid, target.queue_id, "preempt_holds"));
	EXPECT_TRUE(target_finish(&target));
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

/* The files go with the queue, also from under those who have them open. */
TEST_F(sysfs, open_files_outlive_a_destroyed_queue_and_a_killed_process)
{
	struct target target = {};
	int own, others;

	ASSERT_EQ(0, target_start(&target));
	ASSERT_EQ(0, preempt_queue(self->fd, self->id));
	ASSERT_EQ(0, switch_preempt(self->fd, target.pid, 0, target.queue_id));
	own = queue_file_open(getpid(), self->id, "preempt_state", O_RDONLY);
	others = queue_file_open(target.pid, target.queue_id, "preempt_held_ns", O_RDONLY);
	ASSERT_LE(0, own);
	ASSERT_LE(0, others);
	EXPECT_STREQ("held", read_fd(own));

	ASSERT_EQ(0, aql_queue_destroy(&self->queue));
	EXPECT_STREQ("ENODEV", read_fd(own));
	EXPECT_STREQ("ENOENT", FILE_OF_QUEUE("preempt_state"));
	target_kill(&target);
	/* KFD takes a process down after its exit. */
	for (unsigned int ms = 0; ms < LONG_MS && strcmp("ENODEV", read_fd(others)); ms++)
		sleep_us(1000);
	EXPECT_STREQ("ENODEV", read_fd(others));
	close(own);
	close(others);
}

/*
 * Reads the files of the queue in turn until it is killed. Values are whole and, of one queue, never
 * go back, though nobody locks; a KCSAN kernel sees how. A child that ends has seen something else.
 */
static pid_t reader_start(uint32_t queue_id, bool one_queue)
{
	unsigned long long count, last = 0;
	pid_t child = fork(), parent;
	char text[QUEUE_FILE_BYTES];
	unsigned int file;
	int ret;

	if (child)
		return child;
	parent = getppid();
	for (file = 0;; file = (file + 1) % NUM_QUEUE_FILES) {
		ret = queue_file_read(parent, queue_id, queue_files[file].name, text);
		if (ret == -EBADMSG)
			_exit(1);
		if (ret || !one_queue || strcmp("preempt_count", queue_files[file].name))
			continue;
		count = strtoull(text, NULL, 10);
		if (count < last)
			_exit(2);
		last = count;
	}
}

/* Whether it had nothing to complain about. */
static bool reader_finish(pid_t reader)
{
	int status;

	return !kill(reader, SIGKILL) && waitpid(reader, &status, 0) == reader &&
	       WIFSIGNALED(status);
}

/* A reader in the middle of each destruction: KFD waits for it, or it finds nothing. */
TEST_F_TIMEOUT(sysfs, readers_race_with_the_end_of_queues, 120)
{
	struct aql_queue queue;
	unsigned int i;
	pid_t reader;

	ASSERT_EQ(0, aql_queue_create(&self->dev, &queue));
	reader = reader_start(queue.id, false);
	ASSERT_LE(0, reader);
	for (i = 0; i < 30; i++) {
		ASSERT_EQ(0, preempt_queue(self->fd, queue.id));
		ASSERT_EQ(0, aql_queue_destroy(&queue));
		ASSERT_EQ(0, aql_queue_create(&self->dev, &queue));
	}
	EXPECT_TRUE(reader_finish(reader));
	EXPECT_EQ(0, aql_queue_destroy(&queue));
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

TEST_F_TIMEOUT(sysfs, readers_race_with_stops_and_starts, 120)
{
	pid_t reader = reader_start(self->id, true);
	unsigned int i;

	ASSERT_LE(0, reader);
	for (i = 0; i < 500; i++) {
		ASSERT_EQ(0, preempt_queue(self->fd, self->id));
		ASSERT_EQ(0, resume_queue(self->fd, self->id));
	}
	EXPECT_TRUE(reader_finish(reader));
	ASSERT_TRUE(job_ends_right(&self->job, LONG_MS));
}

TEST(version_parameter_is_read_only_and_that_of_QUERY)
{
	struct kfd_ioctl_preempt_query_args query;
	char want[32], text[32] = "";
	struct stat stat_buf;
	int fd = kfd_open();
	FILE *file;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, preempt_query(fd, 0, &query));
	snprintf(want, sizeof(want), "%u.%u\n", query.abi_major, query.abi_minor);
	file = fopen("/sys/module/amdgpu/parameters/kfd_preempt_abi", "re");
	ASSERT_NE(NULL, file);
	ASSERT_NE(NULL, fgets(text, sizeof(text), file));
	EXPECT_STREQ(want, text);
	ASSERT_EQ(0, fstat(fileno(file), &stat_buf));
	EXPECT_EQ(0444, stat_buf.st_mode & 0777);
	EXPECT_EQ(-1, open("/sys/module/amdgpu/parameters/kfd_preempt_abi", O_WRONLY));
	EXPECT_EQ(-1, open("/sys/module/amdgpu/parameters/kfd_preempt", O_WRONLY));
	fclose(file);
	close(fd);
}

TEST_HARNESS_MAIN
