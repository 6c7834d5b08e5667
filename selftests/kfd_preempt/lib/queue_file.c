// SPDX-License-Identifier: GPL-2.0-only
/* Reads the files of a queue in sysfs. */
#include "queue_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

const struct queue_file queue_files[NUM_QUEUE_FILES] = {
	{ "preempt_state", 0444 },
	{ "preempt_holds", 0444 },
	{ "preempt_count", 0444 },
	{ "preempt_failures", 0444 },
	{ "preempt_latency_ns", 0400 },
	{ "preempt_held_ns", 0400 },
};

int queue_file_open(pid_t pid, uint32_t queue_id, const char *name, int flags)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/kfd/kfd/proc/%d/queues/%u/%s", pid, queue_id,
		 name);
	fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int queue_file_read_fd(int fd, char text[QUEUE_FILE_BYTES])
{
	ssize_t bytes = pread(fd, text, QUEUE_FILE_BYTES - 1, 0);

	if (bytes < 0)
		return -errno;
	if (!bytes || text[bytes - 1] != '\n')
		return -EBADMSG;
	text[bytes - 1] = 0;
	return 0;
}

int queue_file_read(pid_t pid, uint32_t queue_id, const char *name, char text[QUEUE_FILE_BYTES])
{
	int fd = queue_file_open(pid, queue_id, name, O_RDONLY), ret;

	if (fd < 0)
		return fd;
	ret = queue_file_read_fd(fd, text);
	close(fd);
	return ret;
}
