// SPDX-License-Identifier: GPL-2.0-only
/* Files of amdgpu in debugfs that do something when they are read. */
#include "gpu_debugfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int gpu_debugfs_read(const char *name)
{
	char path[128], text[32];
	int minor, fd, ret = -ENOENT;

	for (minor = 0; minor < 4 && ret == -ENOENT; minor++) {
		snprintf(path, sizeof(path), "/sys/kernel/debug/dri/%d/%s", minor, name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			ret = -errno;
			continue;
		}
		ret = read(fd, text, sizeof(text)) < 0 ? -errno : 0;
		close(fd);
	}
	return ret;
}
