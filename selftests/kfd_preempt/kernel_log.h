/* SPDX-License-Identifier: GPL-2.0-only */
/* Messages that the kernel prints while a test runs. Needs root. */
#ifndef KFD_PREEMPT_KERNEL_LOG_H
#define KFD_PREEMPT_KERNEL_LOG_H

#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

/* A file for kernel_said(), or -1. */
static inline int kernel_log_open(void)
{
	int kmsg = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (kmsg >= 0 && lseek(kmsg, 0, SEEK_END) < 0) {
		close(kmsg);
		return -1;
	}
	return kmsg;
}

/* Whether the kernel has said so since the last call. */
static inline bool kernel_said(int kmsg, const char *text)
{
	char record[1024];
	bool said = false;
	ssize_t got;

	while ((got = read(kmsg, record, sizeof(record) - 1)) > 0) {
		record[got] = '\0';
		said |= strstr(record, text) != NULL;
	}
	return said;
}

#endif
