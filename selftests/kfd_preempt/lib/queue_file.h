/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads the files of a queue in sysfs. */
#ifndef SELFTESTS_QUEUE_FILE_H
#define SELFTESTS_QUEUE_FILE_H

#include <stdint.h>
#include <sys/types.h>

#define QUEUE_FILE_BYTES 64
#define NUM_QUEUE_FILES 6

/* Those of kfd-preempt; KFD has others beside them. */
extern const struct queue_file {
	const char *name;
	mode_t mode;
} queue_files[NUM_QUEUE_FILES];

/* A descriptor or a negative errno. */
int queue_file_open(pid_t pid, uint32_t queue_id, const char *name, int flags);

/*
 * From its begin, without the newline. 0 or a negative errno: -EBADMSG where the newline is missing,
 * -ENODEV where the queue went while its file was open, -ENOENT where it was gone before.
 */
int queue_file_read_fd(int fd, char text[QUEUE_FILE_BYTES]);
int queue_file_read(pid_t pid, uint32_t queue_id, const char *name, char text[QUEUE_FILE_BYTES]);

#endif
