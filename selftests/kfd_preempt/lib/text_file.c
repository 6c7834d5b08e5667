// SPDX-License-Identifier: GPL-2.0-only
/* Files of sysfs and tracefs. */
#include "text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int text_file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, strlen(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

int text_file_number(const char *path)
{
	FILE *file = fopen(path, "re");
	int value;

	if (!file)
		return -errno;
	if (fscanf(file, "%d", &value) != 1)
		value = -EIO;
	fclose(file);
	return value;
}
