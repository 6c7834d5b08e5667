// SPDX-License-Identifier: GPL-2.0-only
/* Files of amdgpu in debugfs. */
#include "gpu_debugfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int read_all(int fd, char *text, size_t bytes)
{
	size_t have = 0;
	ssize_t got;

	do {
		got = read(fd, text + have, bytes - 1 - have);
		if (got < 0)
			return -errno;
		have += (size_t)got;
	} while (got && have < bytes - 1);
	text[have] = '\0';
	return 0;
}

int gpu_debugfs_text(const char *name, char *text, size_t bytes)
{
	int minor, fd, ret = -ENOENT;
	char path[128];

	for (minor = 0; minor < 4 && ret == -ENOENT; minor++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/%s", minor, name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			ret = -errno;
			continue;
		}
		ret = read_all(fd, text, bytes);
		close(fd);
	}
	return ret;
}

int gpu_debugfs_read(const char *name)
{
	char text[32];

	return gpu_debugfs_text(name, text, sizeof(text));
}
