// SPDX-License-Identifier: GPL-2.0-only
/* Documentation/fault-injection/fault-injection.rst has what is written here. */
#include "fail_nth.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "text_file.h"

struct setting {
	const char *path;
	const char *value;
};

/* By default neither allocations that may sleep fail, nor big ones only; each failure is a splat. */
static const struct setting settings[] = {
	{ "/sys/kernel/debug/failslab/ignore-gfp-wait", "N" },
	{ "/sys/kernel/debug/failslab/cache-filter", "Y" },
	{ "/sys/kernel/debug/failslab/verbose", "0" },
	{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-wait", "N" },
	{ "/sys/kernel/debug/fail_page_alloc/ignore-gfp-highmem", "N" },
	{ "/sys/kernel/debug/fail_page_alloc/min-order", "0" },
	{ "/sys/kernel/debug/fail_page_alloc/verbose", "0" },
	{ "/sys/kernel/debug/fail_usercopy/verbose", "0" },
};

/*
 * Only what kmalloc() gives: the kernel's own tools allocate for each allocation, now and then, and
 * would be counted.
 */
static int filter_caches(void)
{
	glob_t found;
	size_t i;
	int ret = 0;

	if (glob("/sys/kernel/slab/kmalloc-*/failslab", 0, NULL, &found))
		return -ENOENT;
	for (i = 0; i < found.gl_pathc && !ret; i++)
		ret = text_file_write(found.gl_pathv[i], "1");
	globfree(&found);
	return ret;
}

int fail_nth_open(void)
{
	unsigned int i;
	int ret;

	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		ret = text_file_write(settings[i].path, settings[i].value);
		if (ret) {
			printf("# %s: %s\n", settings[i].path, strerror(-ret));
			return ret;
		}
	}
	ret = filter_caches();
	if (ret) {
		printf("# /sys/kernel/slab/kmalloc-*/failslab: %s\n", strerror(-ret));
		return ret;
	}
	ret = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	return ret < 0 ? -errno : ret;
}

int fail_nth_arm(int fd, unsigned int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%u", n);

	return pwrite(fd, text, (size_t)len, 0) == len ? 0 : -errno;
}

bool fail_nth_disarm(int fd)
{
	char text[16] = "";
	/* The kernel reads the counter before it copies it to us: this copy may be what fails. */
	ssize_t len = pread(fd, text, sizeof(text) - 1, 0);

	if (len < 0)
		return false;
	while (fail_nth_arm(fd, 0))
		;
	return atoi(text) == 0;
}
